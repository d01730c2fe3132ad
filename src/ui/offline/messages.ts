/** What the page and its service worker agree on. */
import { BUNDLED_MODEL } from "../word-loom/options";

/** Of the model that comes with the page, below it. */
export const BUNDLED_FOLDER = `${BUNDLED_MODEL}/`;

/** keep-model: also without a network; the answer comes through the message's port. use-now: in place of the older one. */
export type FromPage = "keep-model" | "use-now";

/** "kept", or why not. */
export type ToPage = string;

/** Where the model is kept; pages of several folders on one server do not meet there. */
export const modelCacheName = (scope: string): string => `wordloom-model ${scope}`;
