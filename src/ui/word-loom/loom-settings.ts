import { LitElement } from "lit";
import { property } from "lit/decorators.js";
import type { GenerateOptions } from "../generator";
import type { AllEvents, ElementListener } from "./events";
import { numberConverter, stopStringsConverter, type ModelSource } from "./options";

/** What a page sets on `<word-loom>`: its attributes and properties, and listeners that know its events' types. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- only the types of inherited methods
export class LoomSettings extends LitElement {
  /** URL, path or hub name of a model; as a property also its files. Default: the bundled one. */
  @property() model: ModelSource | undefined;
  @property() prompt = "";
  @property({ attribute: "max-new-tokens", converter: numberConverter }) maxNewTokens: number | undefined;
  @property({ converter: numberConverter }) temperature: number | undefined;
  @property({ attribute: "top-k", converter: numberConverter }) topK: number | undefined;
  @property({ attribute: "top-p", converter: numberConverter }) topP: number | undefined;
  @property({ attribute: "min-p", converter: numberConverter }) minP: number | undefined;
  @property({ attribute: "repetition-penalty", converter: numberConverter }) repetitionPenalty: number | undefined;
  @property({ converter: numberConverter }) seed: number | undefined;
  @property({ attribute: "stop-strings", converter: stopStringsConverter }) stopStrings: readonly string[] | undefined;
  /** Options of `generate` that have no attribute. */
  @property({ attribute: false }) moreOptions: GenerateOptions | undefined;
  @property() dtype: string | undefined;
  @property({ attribute: "context-length", converter: numberConverter }) contextLength: number | undefined;
  @property() backend: string | undefined;
  @property({ attribute: "allow-reference", type: Boolean }) allowReference = false;
  @property({ type: Boolean }) autoload = false;
  /** As `autoload`, but not before the element is seen, or something in it has the focus. */
  @property({ type: Boolean }) lazy = false;
  /** What each token could have been is asked for with it: alternatives, rank and entropy stand in `tokens`. */
  @property({ type: Boolean }) inspect = false;
  /** Address of a server that writes in place of this device; `model` is then its name for one. The element says so. */
  @property() endpoint: string | undefined;
  /** A server that writes where this device cannot run the model, after the reader has been told. */
  @property({ attribute: "fallback-endpoint" }) fallbackEndpoint: string | undefined;
  @property({ attribute: "fallback-model" }) fallbackModel: string | undefined;
  /** For the server. No attribute: it would stand in the page. */
  @property({ attribute: false }) apiKey: string | undefined;
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- `addEventListener` knows the events' types
export interface LoomSettings {
  addEventListener<Name extends keyof AllEvents>(
    type: Name,
    listener: ElementListener<this, Name>,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<Name extends keyof AllEvents>(
    type: Name,
    listener: ElementListener<this, Name>,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | EventListenerOptions,
  ): void;
}
