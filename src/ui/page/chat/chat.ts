import { updateWhenLocaleChanges } from "@lit/localize";
import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { TextGenerator } from "../../../api/text-generator";
import { WordloomError } from "../../../errors";
import type { Lease } from "../../shared-generators";
import { Announcer } from "../../word-loom/announcer";
import { headline, losesModel } from "../../word-loom/failure";
import { modelName } from "../../word-loom/format";
import { ModelOpening } from "../../word-loom/model-opening";
import { BUNDLED_MODEL, loadKey, loadOptions, type LoadSettings } from "../../word-loom/options";
import { progressTemplate } from "../../word-loom/regions";
import * as words from "../../words/page-chat";
import { Following } from "../follow";
import { ChatSession, takesChat, type AnswerOptions, type PlainChat, type Turn } from "./chat-session";
import { composerTemplate } from "./composer";
import { turnTemplate } from "./turn";

/** A lease is held in exactly the phases that have one. */
type Phase =
  | { kind: "idle" }
  | { kind: "loading"; opening: ModelOpening }
  | { kind: "ready"; lease: Lease; takesChat: boolean }
  | { kind: "failed"; error: WordloomError };

/** Between two changes of the page while an answer is written. */
const SHOW_INTERVAL_MS = 100;
const COUNT_AFTER_MS = 250;

/**
 * A conversation with the page's model, which it shares with `<word-loom>`. It renders into the document, for the page's
 * style sheet.
 *
 * @fires chat-changed - An answer has ended, or another path is shown: `plain` is another.
 * @fires choose-model - The reader wants another model.
 * @fires write-instead - The reader wants to write a text with this one.
 */
@customElement("wordloom-chat")
export class Chat extends LitElement {
  @property({ attribute: false }) load: LoadSettings | undefined;
  /** Whether the model may be loaded, and the chat is shown. */
  @property({ attribute: false }) active = false;
  @property({ attribute: false }) options: AnswerOptions = {};
  @property({ attribute: false }) system = "";

  @state() private phase: Phase = { kind: "idle" };
  /** Of sending; the chat is as it was before. */
  @state() private failure: WordloomError | undefined;
  @state() private draft = "";
  @state() private edited: Turn | undefined;
  /** Positions with the draft; undefined while they are not known. */
  @state() private positions: number | undefined;
  /** The reader has stopped loading: it begins again when they ask for it. */
  #halted = false;
  #announced = 0;
  #announcer: Announcer | undefined;
  #showTimer: ReturnType<typeof setTimeout> | undefined;
  #countTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #session = new ChatSession(() => this.#onSession());
  readonly #following = new Following(
    this,
    () => this,
    () => this.isWriting,
  );

  constructor() {
    super();
    updateWhenLocaleChanges(this);
  }

  get isWriting(): boolean {
    return this.#session.isWriting;
  }

  /** What has been said, with all branches. */
  get plain(): PlainChat {
    return this.#session.toPlain();
  }

  get turns(): readonly Turn[] {
    return this.#session.path;
  }

  /** What was said elsewhere, from the first message on. */
  begin(turns: readonly (readonly [message: string, answer: string])[]): void {
    const next = turns.reduceRight<PlainChat["turns"]>(
      (after, [message, text]) => [{ message, text, reasoning: "", state: "whole", tokens: [], shown: 0, next: after }],
      [],
    );
    this.restore({ system: this.system, shown: 0, turns: next });
  }

  restore(plain: PlainChat): void {
    this.failure = undefined;
    this.edited = undefined;
    this.system = plain.system;
    this.#session.restore(plain);
  }

  stop(): void {
    this.#session.stop();
  }

  clear(): void {
    this.failure = undefined;
    this.edited = undefined;
    this.#session.clear();
    this.querySelector<HTMLElement>("#chat-message")?.focus();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("pagehide", this.#giveUp); // a page that is kept for going back to keeps no GPU memory
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("pagehide", this.#giveUp);
    clearTimeout(this.#countTimer);
    clearTimeout(this.#showTimer);
    this.#giveUp();
  }

  /** As `<word-loom>` does: a newer version of the page waits for an answer that is being written. */
  protected override updated(): void {
    this.setAttribute("state", this.isWriting ? "generating" : this.phase.kind);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("system")) this.#session.system = this.system;
    if (changed.has("load")) {
      const { phase } = this;
      const held = phase.kind === "ready" ? phase.lease.key : phase.kind === "loading" ? phase.opening.key : undefined;
      if (this.load && held !== loadKey(this.load)) {
        this.#giveUp();
        this.#halted = false;
      }
    }
    if (this.active && this.phase.kind === "idle" && !this.#halted) void this.#open();
    if (changed.has("system")) this.#countSoon();
  }

  protected override firstUpdated(): void {
    const region = this.querySelector<HTMLElement>("#chat-announcer");
    if (region) this.#announcer = new Announcer(region);
  }

  /** The page's `<word-loom>` has the same model, or is loading it: whoever comes second shares it. */
  async #open(): Promise<void> {
    const { load } = this;
    if (!load) return;
    const source = load.model ?? BUNDLED_MODEL;
    const opening = new ModelOpening(
      loadKey(load),
      (shared) => TextGenerator.load(source, { ...loadOptions(load), ...shared }),
      () => this.#showSoon(),
    );
    this.phase = { kind: "loading", opening };
    const outcome = await opening.outcome;
    const isCurrent = () => this.phase.kind === "loading" && this.phase.opening === opening;
    if (!isCurrent()) {
      if (outcome.kind === "opened") outcome.lease.release();
      return;
    }
    if (outcome.kind === "stopped") this.phase = { kind: "idle" };
    else if (outcome.kind === "failed") this.phase = { kind: "failed", error: outcome.error };
    else {
      const { lease } = outcome;
      try {
        const { generator } = lease;
        if (!isLocal(generator)) {
          throw new WordloomError("internal", "the chat was given a model that knows no conversations");
        }
        const canChat = await takesChat(generator);
        if (!isCurrent()) return lease.release();
        this.#session.open(generator);
        this.phase = { kind: "ready", lease, takesChat: canChat };
      } catch (error) {
        lease.release();
        if (isCurrent()) this.phase = { kind: "failed", error: WordloomError.from(error) };
      }
    }
  }

  #giveUp = (): void => {
    const { phase } = this;
    this.#session.open(undefined);
    this.phase = { kind: "idle" };
    if (phase.kind === "loading") phase.opening.stop();
    if (phase.kind === "ready") phase.lease.release();
  };

  #loadAgain = (): void => {
    this.#halted = false;
    void this.#open();
  };

  #cancelLoading = (): void => {
    this.#halted = true;
    this.#giveUp();
  };

  #onSession(): void {
    const answer = this.#session.path.at(-1)?.answer;
    if (this.isWriting && answer) {
      this.#announcer?.push(answer.text.slice(this.#announced));
      this.#announced = answer.text.length;
    }
    this.#showSoon();
  }

  /** Text comes often; the page need not follow each token. */
  #showSoon(): void {
    this.#showTimer ??= setTimeout(() => {
      this.#showTimer = undefined;
      this.requestUpdate();
    }, SHOW_INTERVAL_MS);
  }

  #countSoon(): void {
    clearTimeout(this.#countTimer);
    this.#countTimer = setTimeout(() => void this.#count(), COUNT_AFTER_MS);
  }

  async #count(): Promise<void> {
    if (this.phase.kind !== "ready" || !this.phase.takesChat || this.isWriting) return;
    try {
      this.positions =
        this.turns.length + this.draft.length > 0 ? await this.#session.countTokens(this.draft) : undefined;
    } catch (error) {
      this.failure = WordloomError.from(error);
    }
  }

  async #ask(ask: () => ReturnType<ChatSession["send"]>, unsent: string): Promise<void> {
    this.failure = undefined;
    this.#announced = 0;
    this.#following.follow();
    let closing = words.stopped();
    try {
      const end = await ask();
      if (end === undefined) this.draft ||= unsent;
      else if (end.finishReason !== "abort")
        closing = end.finishReason === "stop" ? words.endOfAnswer() : words.cutByLength();
    } catch (error) {
      const failure = WordloomError.from(error);
      this.draft ||= unsent;
      if (losesModel(failure.code) && this.phase.kind === "ready") {
        this.phase.lease.discard();
        this.#session.open(undefined);
        this.phase = { kind: "failed", error: failure };
      } else this.failure = failure;
      closing = headline(failure.code);
    }
    this.#announcer?.finish(closing);
    this.requestUpdate();
    this.#countSoon();
    this.dispatchEvent(new CustomEvent("chat-changed", { bubbles: true }));
  }

  #send = (): void => {
    const message = this.draft.trim();
    if (message === "" || this.isWriting || this.phase.kind !== "ready") return;
    this.draft = "";
    void this.#ask(() => this.#session.send(message, this.options), message);
  };

  readonly #turnActions = {
    edit: (turn: Turn | undefined) => {
      const left = this.edited;
      this.edited = turn;
      void this.updateComplete.then(() => {
        const { turns } = this;
        const place = turn ?? left;
        const row = this.querySelectorAll<HTMLElement>(".turn")[place ? turns.indexOf(place) : -1];
        row?.querySelector<HTMLElement>(turn ? "textarea" : ".edit")?.focus();
      });
    },
    sendInstead: (turn: Turn, message: string) => {
      this.edited = undefined;
      void this.#ask(() => this.#session.sendInstead(turn, message, this.options), "");
    },
    show: (turn: Turn, step: -1 | 1) => {
      this.#session.show(turn, step);
      this.#countSoon();
      this.dispatchEvent(new CustomEvent("chat-changed", { bubbles: true }));
    },
    versions: (turn: Turn) => this.#session.versions(turn),
  };

  override render(): TemplateResult {
    const { turns, edited, isWriting } = this;
    return html`
      <section class="chat" aria-label=${words.conversation()}>
        <ol class="turns" ?hidden=${turns.length === 0}>
          ${turns.map((turn) => turnTemplate(turn, { isEdited: turn === edited, isWriting }, this.#turnActions))}
        </ol>
        <div id="chat-announcer" class="unseen" aria-live="polite"></div>
        ${this.failure ? failureTemplate(this.failure) : nothing} ${this.#footTemplate()}
      </section>
    `;
  }

  #footTemplate(): TemplateResult {
    const { phase } = this;
    const name = modelName(this.load?.model ?? BUNDLED_MODEL);
    switch (phase.kind) {
      case "idle":
        return html`<p><button type="button" @click=${this.#loadAgain}>${words.loadModel(name)}</button></p>`;
      case "loading":
        return html`
          ${progressTemplate(this.load?.model ?? BUNDLED_MODEL, phase.opening)}
          <p><button type="button" @click=${this.#cancelLoading}>${words.cancelLoading()}</button></p>
        `;
      case "failed":
        return html`
          ${failureTemplate(phase.error)}
          <p><button type="button" @click=${this.#loadAgain}>${words.loadAgain()}</button></p>
        `;
      case "ready":
        return phase.takesChat ? this.#composer(phase.lease, name) : this.#noChatTemplate(name);
    }
  }

  #composer({ generator: { info } }: Lease, name: string): TemplateResult {
    return composerTemplate(
      {
        name,
        draft: this.draft,
        isEmpty: this.turns.length === 0,
        isWriting: this.isWriting,
        positions: this.positions,
        contextLength: info.contextLength,
        lastEnd: this.turns.at(-1)?.answer.end,
      },
      {
        type: (draft) => {
          this.draft = draft;
          this.#countSoon();
        },
        send: this.#send,
        stop: () => this.stop(),
        clear: () => {
          this.clear();
          this.dispatchEvent(new CustomEvent("chat-cleared", { bubbles: true }));
        },
      },
    );
  }

  #noChatTemplate(name: string): TemplateResult {
    const tell = (type: string) => () => this.dispatchEvent(new CustomEvent(type, { bubbles: true }));
    return html`
      <div class="intro no-chat">
        <p class="lead">${words.notMadeForChat(name)}</p>
        <p>${words.whyNoChat()}</p>
        <p class="choices">
          <button type="button" @click=${tell("choose-model")}>${words.chooseModel()}</button>
          <button type="button" @click=${tell("write-instead")}>${words.writeInstead()}</button>
        </p>
      </div>
    `;
  }
}

/** What elements share is one but in their tests; none of a server, since the page names none. */
function isLocal(generator: Lease["generator"]): generator is TextGenerator {
  return generator instanceof TextGenerator;
}

function failureTemplate(error: WordloomError): TemplateResult {
  return html`
    <div class="failure" role="alert">
      <p class="headline">${headline(error.code)}</p>
      <p>${error.message}.</p>
      <p class="remedy">${error.remedy}</p>
    </div>
  `;
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-chat": Chat;
  }
}
