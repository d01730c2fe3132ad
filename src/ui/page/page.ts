import { localized } from "@lit/localize";
import { LitElement, html, nothing, type TemplateResult } from "lit";
import { customElement, state } from "lit/decorators.js";
import "../inspector/look-inside";
import "../word-loom/word-loom";
import type { GenerationEnd, GeneratorInfo, LoadProgress } from "../generator";
import { formatBytes, modelName } from "../word-loom/format";
import { BUNDLED_MODEL, type LoadSettings } from "../word-loom/options";
import type { WordLoom } from "../word-loom/word-loom";
import { languageReady, startPageLanguage } from "../words/localization";
import * as words from "../words/page";
import type { Chat } from "./chat/chat";
import { askForPlan, consentTemplate, withSuggestion, type ConsentActions, type Planning } from "./consent";
import { ShownDocument, type DocumentPage } from "./documents/shown-document";
import type { TextDesk } from "./documents/text-desk";
import { Following } from "./follow";
import { given } from "./given";
import { ledgerTemplate } from "./ledger";
import { PageParts } from "./parts";
import { foreignHost, readQuery, type Shared } from "./query";
import { rememberModel } from "./recent-models";
import { elementSettings, isSet, samplingOf, type Preset, type RunSettings, type Sampling } from "./sampling";
import { headerTemplate, introTemplate, type IntroState, type Mode, type Panel } from "./shell";
import type { SheetActions } from "./side-sheet";

startPageLanguage(() => import("../words/german-page"));
const unfetched = () => undefined; // without a network there is nothing to add: the page writes as it is
if (!isSecureContext) import("../offline/insecure-note").catch(unfetched);
// The development server has no service worker: it would show what was, not what is.
if (import.meta.env.PROD) addEventListener("load", () => void import("../offline/on-page").catch(unfetched));

/**
 * The page: the element, with its parts that are opened on demand round it. It renders into the document itself, so that
 * its style sheet is the page's and `<word-loom>` is found by `document.querySelector`.
 */
@customElement("wordloom-page")
@localized()
export class WordloomPage extends LitElement implements DocumentPage {
  readonly #query = readQuery(location.search, location.hash);

  @state() mode: Mode = this.#query.mode;
  @state() private panel: Panel | undefined;
  @state() private preset: Preset = isSet(this.#query.sampling) ? "own" : "model";
  @state() private own: Sampling = this.#query.sampling;
  @state() private run: RunSettings = this.#query.run;
  @state() system = this.#query.system;
  @state() private load: LoadSettings = this.#query.load;
  /** Fetching from another server waits for a click, whatever the address asks. */
  @state() private agreed = foreignHost(this.#query.load.model, document.baseURI) === undefined;
  @state() private planning: Planning = { kind: "unasked" };
  @state() private info: GeneratorInfo | undefined;
  @state() private loading: IntroState["loading"];
  /** Of the weights' files, as soon as loading tells. */
  @state() private modelBytes: number | undefined;
  @state() private lastEnd: GenerationEnd | undefined;
  readonly parts = new PageParts(this);
  readonly #shown = new ShownDocument(this);
  #runAtOnce = this.#query.runAtOnce;

  constructor() {
    super();
    new Following(
      this,
      () => this.querySelector("word-loom"),
      () => this.#loom.state === "generating",
    );
    if (this.mode === "chat") void this.#openChat();
  }

  protected override createRenderRoot(): HTMLElement {
    this.replaceChildren(); // what index.html shows until the page's script has arrived
    return this;
  }

  /** Nothing is shown in one language to be shown in another a moment later. */
  protected override async scheduleUpdate(): Promise<void> {
    await languageReady();
    await super.scheduleUpdate();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("keydown", this.#onKey);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("keydown", this.#onKey);
  }

  protected override firstUpdated(): void {
    if (this.#query.text !== "") void this.#openShared();
    if (this.#runAtOnce && this.agreed) void this.#writeAtOnce();
  }

  get #loom(): WordLoom {
    const loom = this.querySelector("word-loom");
    if (!loom) throw new Error("the page holds no <word-loom>: it has not been rendered");
    return loom;
  }

  get chat(): Chat | null {
    return this.querySelector("wordloom-chat");
  }

  get desk(): TextDesk | null {
    return this.querySelector("wordloom-text-desk");
  }

  get modelTitle(): string {
    return modelName(this.load.model ?? BUNDLED_MODEL);
  }

  get #sampling(): Sampling {
    return samplingOf(this.preset, this.info?.suggestedSampling, this.own);
  }

  get #isWriting(): boolean {
    return this.#loom.state === "generating" || this.chat?.isWriting === true;
  }

  #onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented) return;
    const isTyping = event.composedPath().some((each) => each instanceof HTMLElement && isField(each));
    if (event.key === "Escape") {
      if (this.#isWriting) this.#stop();
      else if (this.panel) this.#toggle(this.panel);
    } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown") && this.mode === "write") {
      this.desk?.step(event.key === "ArrowUp" ? -1 : 1);
    } else if (event.key === "?" && !isTyping) this.#toggle("keys");
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.mode === "write") {
      if (this.#isWriting) return;
      event.preventDefault();
      void (event.shiftKey ? this.#loom.regenerate() : this.#loom.continue());
    } else return;
    event.preventDefault();
  };

  #stop(): void {
    this.#loom.stop();
    this.chat?.stop();
  }

  #toggle = (panel: Panel): void => {
    const isOpen = this.panel === panel;
    this.panel = isOpen ? undefined : panel;
    const opened = isOpen ? Promise.resolve() : this.parts.openSheet();
    void opened.then(async () => {
      await this.updateComplete;
      const button = panel === "keys" ? "settings" : panel;
      this.querySelector<HTMLElement>(this.panel ? "#sheet-title" : `#${button}-button`)?.focus();
    });
  };

  async #openChat(): Promise<void> {
    await this.parts.openChat();
    const { turns } = this.#query;
    if (turns.length > 0 && this.chat?.turns.length === 0) this.chat.begin(turns);
  }

  /** A text that came with the address. */
  async #openShared(): Promise<void> {
    const { prompt, text } = this.#query;
    await this.parts.openDesk();
    const { desk } = this;
    desk?.open({ ...desk.document, versions: [{ prompt, text, tokens: [] }], at: 0 });
  }

  #chooseMode = (mode: Mode): void => {
    if (mode === this.mode) return;
    this.#stop();
    this.mode = mode;
    void (mode === "chat" ? this.#openChat() : this.updateComplete).then(() => this.#shown.look());
  };

  /** `run` in the address: load, take the model's own sampling if none was given, write. */
  async #writeAtOnce(): Promise<void> {
    this.#runAtOnce = false;
    await this.#loom.load();
    await this.updateComplete;
    if (this.#loom.state === "ready") await this.#loom.generate();
  }

  readonly #consentActions: ConsentActions = {
    ask: () => {
      this.planning = { kind: "asking" };
      void askForPlan(this.load).then((planning) => (this.planning = planning));
    },
    agree: (suggestion) => {
      this.agreed = true;
      this.load = withSuggestion(this.load, suggestion);
      void this.updateComplete.then(() => (this.#runAtOnce ? this.#writeAtOnce() : this.#loom.load()));
    },
  };

  readonly #introActions = {
    begin: (beginning: string) => void this.#loom.generate(beginning),
    cancelLoading: () => {
      this.#loom.stop();
      this.loading = "halted";
    },
    goOnLoading: () => void this.#loom.load(),
  };

  /** Files that somebody brings need no other consent. */
  #onDropped = (event: CustomEvent<File[]>): void => {
    this.load = { ...this.load, model: event.detail };
    this.modelBytes = undefined;
    this.agreed = true;
  };

  #onProgress = (event: CustomEvent<LoadProgress>): void => {
    const { phase, totalBytes } = event.detail;
    this.info = undefined;
    this.loading = this.load.model === undefined ? undefined : "under-way"; // the page's own model is soon there
    if (phase === "weights") this.modelBytes = totalBytes;
  };

  /** While a text is being written, the last one's numbers would be taken for its own. */
  #onToken = (): void => {
    this.lastEnd = undefined;
    if (!this.parts.hasDesk) void this.parts.openDesk();
  };

  /** The failure may have cost the model; then its numbers go too. */
  #onError = (): void => {
    const { info } = this.#loom;
    this.loading = undefined;
    this.info = info?.backend === "remote" ? undefined : info; // the page names no server
  };

  #onReady = (event: CustomEvent<GeneratorInfo>): void => {
    this.info = event.detail;
    this.loading = undefined;
    this.lastEnd = undefined;
    if (typeof this.load.model === "string") rememberModel(this.load.model);
    // The element's own offer to write without the GPU may have set it.
    this.load = { ...this.load, allowReference: this.#loom.allowReference };
  };

  readonly #sheetActions: SheetActions = {
    close: () => this.panel && this.#toggle(this.panel),
    choosePreset: (preset) => {
      if (preset === "own") this.own = this.#sampling;
      this.preset = preset;
    },
    setSampling: (change) => {
      this.own = { ...this.#sampling, ...change };
      this.preset = "own";
    },
    setRun: (change) => {
      this.run = given({ ...this.run, ...change });
    },
    setSystem: (system) => {
      this.system = system;
    },
    reset: () => {
      this.preset = "model";
      this.own = {};
      this.run = {};
      this.system = "";
    },
    showKeys: () => this.#toggle("keys"),
    openDocument: (document) => {
      this.#stop();
      void this.#shown.open(document);
    },
    newText: this.#shown.begin,
    loadModel: (settings) => {
      this.load = settings;
      this.agreed = true;
      this.modelBytes = undefined;
      void this.updateComplete.then(() => this.#loom.load());
    },
  };

  override render(): TemplateResult {
    const { mode, panel, agreed, info } = this;
    const isChat = mode === "chat";
    const consent = agreed ? nothing : this.#consentTemplate();
    return html`
      <div class="page" ?data-sheet=${panel !== undefined}>
        ${headerTemplate({ mode, panel }, { choose: this.#chooseMode, toggle: this.#toggle })}
        <main>
          ${isSecureContext ? nothing : html`<wordloom-insecure-note></wordloom-insecure-note>`}
          ${this.#loomTemplate(isChat, consent)} ${isChat && !agreed ? consent : this.#chatTemplate(isChat)}
          ${this.#deskTemplate(isChat)} <wordloom-look-inside ?hidden=${isChat}></wordloom-look-inside>
          ${
            this.#shown.notKept === ""
              ? nothing
              : html`<p class="note" role="status">${words.notKept(this.#shown.notKept)}</p>`
          }
          ${this.parts.failed ? html`<p class="note" role="alert">${words.notOpened()}</p>` : nothing}
          ${info ? ledgerTemplate(info, this.lastEnd) : nothing}
          ${
            this.#query.unknown.length > 0
              ? html`<p class="note">${words.notUnderstood(this.#query.unknown.join(", "))}</p>`
              : nothing
          }
        </main>
        <aside id="sheet" aria-labelledby="sheet-title" ?hidden=${panel === undefined}>${this.#sheet()}</aside>
      </div>
    `;
  }

  #loomTemplate(isHidden: boolean, consent: TemplateResult | typeof nothing): TemplateResult {
    const { load, loading } = this;
    const settings = elementSettings(this.#sampling, this.run);
    const intro = introTemplate({ whatIsLoaded: this.#whatIsLoaded(), loading }, this.#introActions);
    return html`
      <word-loom
        ?hidden=${isHidden}
        .model=${load.model}
        .dtype=${load.dtype}
        .contextLength=${load.contextLength}
        .backend=${load.backend}
        .allowReference=${load.allowReference}
        .autoload=${this.agreed && loading !== "halted"}
        prompt=${this.#query.prompt}
        .maxNewTokens=${settings.maxNewTokens}
        .seed=${settings.seed}
        .stopStrings=${settings.stopStrings}
        .temperature=${settings.temperature}
        .topK=${settings.topK}
        .topP=${settings.topP}
        .minP=${settings.minP}
        .repetitionPenalty=${settings.repetitionPenalty}
        .moreOptions=${settings.moreOptions}
        @model-dropped=${this.#onDropped}
        @model-progress=${this.#onProgress}
        @generated-token=${this.#onToken}
        @model-ready=${this.#onReady}
        @generation-error=${this.#onError}
        @generation-end=${(event: CustomEvent<GenerationEnd>) => (this.lastEnd = event.detail)}
      >
        ${consent === nothing ? intro : isHidden ? nothing : consent}
      </word-loom>
    `;
  }

  /** It stays when the reader writes a text meanwhile. */
  #chatTemplate(isShown: boolean): TemplateResult | typeof nothing {
    if (!this.parts.hasChat) return isShown ? html`<p class="note">${words.opening()}</p>` : nothing;
    return html`
      <wordloom-chat
        ?hidden=${!isShown}
        .active=${isShown && this.agreed}
        .load=${this.load}
        .options=${given({ ...this.#sampling, ...this.run })}
        .system=${this.system}
        @chat-changed=${this.#shown.changed}
        @chat-cleared=${this.#shown.begin}
        @choose-model=${() => this.panel === "model" || this.#toggle("model")}
        @write-instead=${() => this.#chooseMode("write")}
      ></wordloom-chat>
    `;
  }

  #deskTemplate(isHidden: boolean): TemplateResult | typeof nothing {
    if (!this.parts.hasDesk) return nothing;
    return html`
      <wordloom-text-desk
        ?hidden=${isHidden}
        .loom=${this.querySelector("word-loom") ?? undefined}
        .model=${this.modelTitle}
        @text-changed=${this.#shown.changed}
        @share-text=${() => this.panel === "texts" || this.#toggle("texts")}
      ></wordloom-text-desk>
    `;
  }

  get #shared(): Shared {
    const { load, run, preset, system, mode } = this;
    return { load, run, system, mode, ...(preset === "model" ? {} : { sampling: this.#sampling }) };
  }

  #sheet(): TemplateResult | typeof nothing {
    const { panel, info, preset, run, system, load } = this;
    if (!panel) return nothing;
    if (!this.parts.sheet) return html`<p id="sheet-title" class="note">${words.opening()}</p>`;
    return this.parts.sheet(
      panel,
      {
        info,
        preset,
        sampling: this.#sampling,
        run,
        system,
        load,
        document: this.#shown.document,
        shared: this.#shared,
      },
      this.#sheetActions,
    );
  }

  #whatIsLoaded(): string {
    const name = this.modelTitle;
    const size = this.modelBytes ?? this.info?.bytes.weights;
    const isHere = typeof this.load.model === "object";
    const from = isHere ? words.thisDevice() : (foreignHost(this.load.model, document.baseURI) ?? words.thisSite());
    return size === undefined ? words.comesFrom(name, from) : words.comesFromWithSize(name, formatBytes(size), from);
  }

  #consentTemplate(): TemplateResult {
    const { model = "" } = this.load;
    const host = foreignHost(model, document.baseURI);
    return consentTemplate({ model, host, planning: this.planning, run: this.#runAtOnce }, this.#consentActions);
  }
}

function isField(element: HTMLElement): boolean {
  return element.isContentEditable || element.matches("input, textarea, select");
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-page": WordloomPage;
  }
}
