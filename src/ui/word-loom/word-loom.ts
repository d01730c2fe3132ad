import { customElement } from "lit/decorators.js";
import type { ConnectOptions } from "../../api/connect-options";
import { TextGenerator } from "../../api/text-generator";
import { WordloomError } from "../../errors";
import type { AnyInfo, GenerationEnd, Generator } from "../generator";
import type { Lease } from "../shared-generators";
import * as words from "../words/element";
import { followLanguage } from "../words/localization";
import { FileDrop } from "./dropped-files";
import type { WordLoomEventDetails } from "./events";
import { losesModel } from "./failure";
import { FirstSight } from "./first-sight";
import { promptTextOf } from "./flow";
import { LoomText } from "./loom-text";
import { loomTemplate, type LoomActions } from "./loom-view";
import { ModelOpening, openingWay, type LoadWithFallback, type OpeningWays } from "./model-opening";
import { BUNDLED_MODEL, LOAD_SETTINGS, loadKey, type ModelSource } from "./options";
import { styles } from "./styles";
import type { Beginning } from "./writing";
import type { SavedToken } from "./written-token";

/** Everything the element can be doing. A lease is held in exactly the phases that can write. */
type Phase =
  | { kind: "idle" }
  | { kind: "loading"; opening: ModelOpening; opened: Promise<Lease | undefined> }
  | { kind: "ready"; lease: Lease }
  | { kind: "generating"; lease: Lease; abort: AbortController }
  | { kind: "failed"; error: WordloomError; lease: Lease | undefined };

export type WordLoomState = Phase["kind"];

const STATUS_INTERVAL_MS = 500;

/**
 * Writes text for a prompt, in the page.
 *
 * The prompt is typed where the text will stand; what the model writes flows on from it. Elements with the same model
 * and load options share one loaded model. Removing the element stops what it is doing and gives its model up.
 * Failures never reject a method's promise: they are the state `failed`, a sentence with a next step in the element,
 * and the event `generation-error`.
 *
 * A model's folder, or a .gguf file, dropped on the element becomes its `model` and is loaded.
 *
 * @fires model-dropped - Files were dropped; `detail`: those files, which are `model` now.
 * @fires model-progress - While loading; `detail: { phase, file, loadedBytes, totalBytes }`.
 * @fires model-ready - The model can write; `detail`: as `TextGenerator.info`.
 * @fires generated-token - New text has arrived; `detail: { text, tokens }`.
 * @fires branched - Another token stands in the text, and a run goes on from it; `detail: { index, by }`.
 * @fires generation-end - A run has ended, or was stopped; `detail`: as `run.end`.
 * @fires generation-error - Loading or writing failed; `detail: { code, message, remedy }`.
 * @slot - Shown while nothing has been written.
 * @slot controls - After the buttons.
 * @csspart prompt - The editable beginning of the text.
 * @csspart output - The text the model has written.
 * @csspart failure - What failed, and the next step.
 * @csspart progress - How far loading has come.
 * @csspart notice - That a server writes in place of this device.
 * @csspart controls - The buttons.
 * @csspart button - Each of them, and that of a failure.
 * @csspart primary-button - The next step among them.
 * @csspart intro - Around the slot.
 * @csspart status - One line of numbers: model, speed, context, memory; or that it waits for others.
 * @csspart fact - Each of the numbers.
 * @csspart explanation - What a number means, on hover and focus.
 * @cssproperty --word-loom-accent - Colour of the reader's own words, of progress and focus.
 * @cssproperty --word-loom-ink - Colour of the text.
 * @cssproperty --word-loom-muted - Colour of numbers and hints.
 * @cssproperty --word-loom-paper - Colour behind the text.
 * @cssproperty --word-loom-text-font - Typeface of the text.
 */
@customElement("word-loom")
export class WordLoom extends LoomText {
  static override styles = styles;

  #phase: Phase = { kind: "idle" };
  /** Whether a run waits for the model that is being loaded. */
  #writesNext: AbortController | undefined;
  /** Others on this page whose texts are written before this run's. */
  #ahead = 0;
  #statusTimer: ReturnType<typeof setTimeout> | undefined;
  /** The server that took over, once the reader has had the chance to see it. */
  #toldOf: string | undefined;

  readonly #sight = new FirstSight(this, () => {
    if (this.lazy && this.#phase.kind === "idle") void this.load();
  });

  constructor() {
    super();
    this.addController(this.#sight);
    followLanguage(this);
    this.addController(new FileDrop(this, (files) => void this.#takeFiles(files)));
  }

  get state(): WordLoomState {
    return this.#phase.kind;
  }

  /** The loaded model's facts, as `TextGenerator.info`; undefined while none is loaded. */
  get info(): AnyInfo | undefined {
    return this.#lease?.generator.info;
  }

  /** Loads the model if it is not loaded. Resolves when it is, or when that failed or was stopped. */
  async load(): Promise<void> {
    await this.#hold();
  }

  /**
   * Writes from `prompt` (default: the one in the page), in place of what was written before. A run that is going on is
   * stopped first. Loads the model if needed. Does nothing while the element is in no document.
   *
   * @returns how the run ended; undefined if it never began or failed
   */
  generate(prompt?: string): Promise<GenerationEnd | undefined> {
    if (prompt !== undefined) this.prompt = prompt;
    return this.#write({ kind: "anew", otherSeed: false });
  }

  /** Writes on from where the text ends now; as `generate` if there is none. */
  continue(): Promise<GenerationEnd | undefined> {
    return this.#write(this.text === "" ? { kind: "anew", otherSeed: false } : { kind: "on" });
  }

  /** Writes anew from the prompt that the text was written from, with another seed where `seed` is set. */
  regenerate(): Promise<GenerationEnd | undefined> {
    this.prompt = this.writing.written?.prompt ?? this.prompt;
    return this.#write({ kind: "anew", otherSeed: true });
  }

  /**
   * Keeps the prompt and the tokens before `index`, puts another token in that one's place, and writes on. What is kept is
   * not computed again. A run that is going on is stopped first.
   *
   * @param by the other token's id; or a text, which then is in no token
   */
  branch(index: number, by: number | string): Promise<GenerationEnd | undefined> {
    this.prompt = this.writing.written?.prompt ?? this.prompt;
    return this.#write({ kind: "branch", index, by });
  }

  /**
   * Puts a text in place of what was written, as if it had been written from the present prompt: a draft, or a branch that
   * was kept. Stops a run. "" is as `reset`.
   *
   * @param tokens of the text, in their order; they need not cover it
   * @throws WordloomError option-invalid for a token that stands outside the text or before the one before it
   */
  replaceText(text: string, tokens: readonly SavedToken[] = []): void {
    this.reset();
    this.writing.replace(this.prompt, text, tokens);
    this.requestUpdate();
  }

  /** Stops writing, or loading. What has been written stays. */
  stop(): void {
    this.#writesNext?.abort();
    this.#writesNext = undefined;
    const phase = this.#phase;
    if (phase.kind === "loading") {
      this.#enter({ kind: "idle" });
      phase.opening.stop();
    } else if (phase.kind === "generating") {
      this.#enter({ kind: "ready", lease: phase.lease });
      phase.abort.abort();
      this.writing.finish(words.textStopped());
    }
  }

  /** Stops, and clears the text and any failure. The prompt and a loaded model stay. */
  reset(): void {
    this.stop();
    this.writing.clear();
    if (this.#phase.kind === "failed") {
      const { lease } = this.#phase;
      this.#enter(lease ? { kind: "ready", lease } : { kind: "idle" });
    }
    this.requestUpdate();
  }

  /** How a generator is made; tests give their own. */
  protected createGenerator(source: ModelSource, { fallback, ...options }: LoadWithFallback): Promise<Generator> {
    return fallback ? TextGenerator.load(source, { ...options, fallback }) : TextGenerator.load(source, options);
  }

  /** As `createGenerator`, of a model on a server. */
  protected connectGenerator(endpoint: string, options: ConnectOptions): Promise<Generator> {
    return TextGenerator.connect(endpoint, options);
  }

  readonly #ways: OpeningWays = {
    load: (source, options) => this.createGenerator(source, options),
    connect: (endpoint, options) => this.connectGenerator(endpoint, options),
  };

  override connectedCallback(): void {
    super.connectedCallback();
    this.setAttribute("state", this.state);
    window.addEventListener("pagehide", this.#giveUp);
    window.addEventListener("pageshow", this.#onPageShow);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("pagehide", this.#giveUp);
    window.removeEventListener("pageshow", this.#onPageShow);
    // Moved within the page, the element is back before this runs, and keeps its model.
    queueMicrotask(() => {
      if (!this.isConnected) this.#giveUp();
    });
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (LOAD_SETTINGS.some((name) => changed.has(name)) || changed.has("autoload") || changed.has("lazy"))
      this.#onLoadSettings();
  }

  protected override updated(changed: Map<PropertyKey, unknown>): void {
    super.updated(changed);
    if (changed.has("prompt") && promptTextOf(this.inner("prompt")) !== this.prompt)
      this.inner("prompt").textContent = this.prompt;
  }

  /** What came of other settings than the present ones is given up; with `autoload` the right model is loaded. */
  #onLoadSettings(): void {
    const phase = this.#phase;
    const key = phase.kind === "loading" ? phase.opening.key : this.#lease?.key;
    const stale = key === undefined ? phase.kind === "failed" : key !== loadKey(this);
    if (stale && phase.kind !== "generating") this.#letGo(); // a run that is going on may end first
    if (this.#loadsItself && this.#phase.kind === "idle") void this.load();
  }

  get #loadsItself(): boolean {
    return this.lazy ? this.#sight.isOver : this.autoload;
  }

  protected get isWriting(): boolean {
    return this.#phase.kind === "generating" || this.#writesNext !== undefined;
  }

  get #lease(): Lease | undefined {
    return "lease" in this.#phase ? this.#phase.lease : undefined;
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.tellForm();
    if (this.isConnected) this.setAttribute("state", phase.kind);
    this.requestUpdate();
  }

  #fail(error: WordloomError, lease?: Lease): void {
    if (lease && losesModel(error.code)) {
      lease.discard();
      lease = undefined;
    }
    this.#enter({ kind: "failed", error, lease });
    this.#emit("generation-error", error.toPlain());
  }

  #emit<Name extends keyof WordLoomEventDetails>(type: Name, detail: WordLoomEventDetails[Name]): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  /** The model for the present settings: the one that is held, the one that is being loaded, or a newly loaded one. */
  async #hold(): Promise<Lease | undefined> {
    if (!this.isConnected) return undefined;
    const key = loadKey(this);
    const phase = this.#phase;
    if (phase.kind === "loading" && phase.opening.key === key) return phase.opened;
    if (this.#lease?.key === key) return this.#lease;
    this.#letGo();
    const opening = new ModelOpening(key, openingWay(this, this.#ways), (progress) => {
      if (progress.loadedBytes === 0)
        this.requestUpdate(); // a new phase is shown at once, however short it is
      else this.#updateSoon();
      this.#emit("model-progress", progress);
    });
    const opened = this.#opened(opening);
    this.#enter({ kind: "loading", opening, opened });
    return opened;
  }

  async #opened(opening: ModelOpening): Promise<Lease | undefined> {
    const outcome = await opening.outcome;
    const isCurrent = this.#phase.kind === "loading" && this.#phase.opening === opening;
    if (!isCurrent && outcome.kind === "opened") outcome.lease.release();
    if (!isCurrent || outcome.kind === "stopped") return undefined; // whoever stopped it set the phase
    if (outcome.kind === "failed") {
      this.#fail(outcome.error);
      return undefined;
    }
    const { lease } = outcome;
    this.#enter({ kind: "ready", lease });
    this.#emit("model-ready", lease.generator.info);
    return lease;
  }

  async #write(beginning: Beginning): Promise<GenerationEnd | undefined> {
    if (!this.isConnected) return undefined;
    this.#writesNext?.abort();
    if (this.#phase.kind === "generating") this.stop();
    const abort = new AbortController();
    this.#writesNext = abort;
    this.requestUpdate();
    let lease = await this.#hold();
    // Settings that changed meanwhile have loading begin again, and this run waits for that.
    while (!lease && this.isConnected && !abort.signal.aborted && this.state !== "failed") lease = await this.#hold();
    await this.updateComplete; // the output is there, and shows the prompt this run is for
    if (this.#writesNext === abort) this.#writesNext = undefined;
    this.requestUpdate();
    if (lease && !abort.signal.aborted && this.#tellsFirst(lease)) return undefined;
    return lease && !abort.signal.aborted ? this.#run(lease, abort, beginning) : undefined;
  }

  /** A server has taken over: nothing is sent to it before the reader sees that, and asks once more. */
  #tellsFirst({ generator: { info } }: Lease): boolean {
    if (info.backend !== "remote" || this.endpoint || this.#toldOf === info.endpoint) return false;
    this.#toldOf = info.endpoint;
    return true;
  }

  async #run(lease: Lease, abort: AbortController, beginning: Beginning): Promise<GenerationEnd | undefined> {
    const { generator } = lease;
    const { signal } = abort;
    this.#ahead = 0;
    this.#enter({ kind: "generating", lease, abort });
    let endTurn: (() => void) | undefined;
    try {
      // A server decides about turns itself.
      if (generator.info.backend !== "remote") endTurn = await lease.turns.take(signal, this.#onAhead);
      const request = await this.writing.begin(beginning, generator, this, signal);
      if (beginning.kind === "branch") this.#emit("branched", { index: beginning.index, by: beginning.by });
      const end = await this.writing.write(generator, request, signal, (chunk) => {
        this.#updateSoon();
        this.#emit("generated-token", chunk);
      });
      if (!signal.aborted) {
        this.writing.finish(end.finishReason === "stop" ? words.textEnded() : words.textFull());
        this.#enter({ kind: "ready", lease });
      }
      this.requestUpdate();
      this.#emit("generation-end", end);
      return end;
    } catch (error) {
      if (signal.aborted) return undefined; // removed or stopped while it was failing: nobody waits for the reason
      this.writing.finish(words.textFailed());
      this.#fail(WordloomError.from(error), lease);
      return undefined;
    } finally {
      endTurn?.();
    }
  }

  #onAhead = (count: number): void => {
    this.#ahead = count;
    this.#updateSoon(); // a wait that is over by then need not be told
  };

  /** Numbers change often; the page need not. */
  #updateSoon(): void {
    if (this.#statusTimer !== undefined) return;
    this.#statusTimer = setTimeout(() => {
      this.#statusTimer = undefined;
      this.requestUpdate();
    }, STATUS_INTERVAL_MS);
  }

  /** Stops everything and lets the model go. Also on `pagehide`: a page kept for going back to must not keep GPU memory. */
  #giveUp = (): void => {
    this.stop();
    this.#letGo();
  };

  /** Without the model that is held or being loaded; a run that waits for a model goes on waiting. */
  #letGo(): void {
    const phase = this.#phase;
    const lease = this.#lease;
    this.#enter({ kind: "idle" });
    if (phase.kind === "loading") phase.opening.stop();
    if (phase.kind === "generating") phase.abort.abort();
    lease?.release();
  }

  #onPageShow = (event: PageTransitionEvent): void => {
    if (event.persisted && this.#loadsItself) void this.load();
  };

  override render() {
    const phase = this.#phase;
    const { endpoint, baseURI, prompt, info, isWriting: writing, isDisabled: disabled } = this;
    return loomTemplate(
      {
        ...{ endpoint, baseURI, prompt, info, writing, disabled },
        model: this.model ?? BUNDLED_MODEL,
        hasText: this.text !== "",
        written: this.writing.written,
        ahead: phase.kind === "generating" ? this.#ahead : 0,
        opening: phase.kind === "loading" ? phase.opening : undefined,
        error: phase.kind === "failed" ? phase.error : undefined,
      },
      this.#actions,
    );
  }

  async #takeFiles(dropped: Promise<File[]>): Promise<void> {
    try {
      const files = await dropped;
      this.stop();
      this.model = files;
      this.#emit("model-dropped", files);
      await this.updateComplete;
      await this.load();
    } catch (cause) {
      const message = `what was dropped could not be read: ${cause instanceof Error ? cause.message : String(cause)}`;
      this.#fail(new WordloomError("source-unsupported", message, { cause }), this.#lease);
    }
  }

  readonly #actions: LoomActions = {
    // Enter and the button, which a run that is going on has in another's place, begin none beside it.
    write: () => void (this.isWriting || this.generate()),
    continue: () => void this.continue(),
    stop: () => this.stop(),
    clear: () => this.reset(),
    changePrompt: (text) => (this.prompt = text),
    accept: (offer) => {
      if (offer === "edit-prompt") this.focus();
      else {
        if (offer === "without-gpu") this.allowReference = true;
        void this.load();
      }
    },
  };
}

declare global {
  interface HTMLElementTagNameMap {
    "word-loom": WordLoom;
  }
}
