/** The events of `<word-loom>`, by name. */
import type { PlainWordloomError } from "../../errors";
import type { AnyInfo, GenerationEnd, LoadProgress, TextChunk } from "../generator";

/** What each event of `<word-loom>` carries as its `detail`. */
export interface WordLoomEventDetails {
  /** Files were dropped on the element; they are its `model` now. */
  "model-dropped": File[];
  /** While loading. */
  "model-progress": LoadProgress;
  /** The model can write: its facts, as `TextGenerator.info`. */
  "model-ready": AnyInfo;
  /** New text has arrived. */
  "generated-token": Pick<TextChunk, "text" | "tokens">;
  /** Token `index` of the text is another one now, by its id or as a text; what followed is gone, and a run goes on. */
  branched: { index: number; by: number | string };
  /** A run has ended, or was stopped: as `run.end`. */
  "generation-end": GenerationEnd;
  /** Loading or writing failed. */
  "generation-error": PlainWordloomError;
}

/** The events of `<word-loom>`; they bubble, and cross shadow roots. */
export type WordLoomEventMap = { [Name in keyof WordLoomEventDetails]: CustomEvent<WordLoomEventDetails[Name]> };

/** A listener of an element's own event, or of one that all elements have. */
export type ElementListener<Element, Name extends keyof AllEvents> = (this: Element, event: AllEvents[Name]) => unknown;
export type AllEvents = HTMLElementEventMap & WordLoomEventMap;
