import { localized } from "@lit/localize";
import { LitElement, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { TextGenerator } from "../../api/text-generator";
import { WordloomError } from "../../errors";
import "../inspector/look-inside";
import "../word-loom/word-loom";
import type { GenerationEnd, GeneratorInfo, LoadProgress } from "../generator";
import { formatBytes, modelName } from "../word-loom/format";
import { BUNDLED_MODEL, planOptions, type LoadSettings } from "../word-loom/options";
import type { WordLoom } from "../word-loom/word-loom";
import { languageReady, startPageLanguage } from "../words/localization";
import { consentTemplate, type ConsentActions, type Planning } from "./consent";
import { ledgerTemplate } from "./ledger";
import { foreignHost, readQuery } from "./query";
import { isSet, samplingAmong, samplingOf, type Preset, type Sampling } from "./sampling";
import { settingsTemplate, type SheetActions, type SheetState } from "./settings-sheet";

const BEGINNINGS = [
  "Once there was a little owl who was afraid of the dark.",
  "On the first day of snow, Mia found a tiny door behind the bookshelf.",
  "The old fisherman pulled in his net, and in it was",
];

/** With the element's end within so many pixels of the window's, the reader is following the text as it grows. */
const FOLLOW_DISTANCE = 48;

startPageLanguage(() => import("../words/german-page"));

/**
 * The page: the element, with settings at its side and numbers at its foot. It renders into the document itself, so
 * that its style sheet is the page's and `<word-loom>` is found by `document.querySelector`.
 */
@customElement("wordloom-page")
@localized()
export class WordloomPage extends LitElement {
  readonly #query = readQuery(location.search);
  /** Fetching from another server waits for a click, whatever the address asks. */
  readonly #foreignHost = foreignHost(this.#query.load.model, document.baseURI);

  @state() private sheetOpen = false;
  @state() private preset: Preset = isSet(samplingAmong(this.#query.generate)) ? "own" : "model";
  @state() private own: Sampling = samplingAmong(this.#query.generate);
  @state() private generate: SheetState["generate"] = this.#query.generate;
  @state() private load: LoadSettings = this.#query.load;
  @state() private agreed = this.#foreignHost === undefined;
  @state() private planning: Planning = { kind: "unasked" };
  @state() private info: GeneratorInfo | undefined;
  /** Of the weights' files, as soon as loading tells. */
  @state() private modelBytes: number | undefined;
  @state() private lastEnd: GenerationEnd | undefined;

  #following = true;
  #runAtOnce = this.#query.run;

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
    window.addEventListener("scroll", this.#onScroll, { passive: true });
    window.addEventListener("keydown", this.#onKey);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("scroll", this.#onScroll);
    window.removeEventListener("keydown", this.#onKey);
  }

  protected override firstUpdated(): void {
    // The text grows: who sees its end keeps seeing it, who has scrolled away is left alone.
    new ResizeObserver(() => {
      const hidden = this.#loom.getBoundingClientRect().bottom - window.innerHeight;
      if (this.#following && hidden > 0 && this.#loom.state === "generating") window.scrollBy({ top: hidden });
    }).observe(this.#loom);
    if (this.#runAtOnce && this.agreed) void this.#writeAtOnce();
  }

  get #loom(): WordLoom {
    const loom = this.querySelector("word-loom");
    if (!loom) throw new Error("the page holds no <word-loom>: it has not been rendered");
    return loom;
  }

  get #sampling(): Sampling {
    return samplingOf(this.preset, this.info?.suggestedSampling, this.own);
  }

  #onScroll = (): void => {
    this.#following = this.#loom.getBoundingClientRect().bottom <= window.innerHeight + FOLLOW_DISTANCE;
  };

  #onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if (this.#loom.state === "generating") this.#loom.stop();
    else if (this.sheetOpen) this.#toggleSheet();
  };

  #toggleSheet = (): void => {
    this.sheetOpen = !this.sheetOpen;
    void this.updateComplete.then(() => {
      this.querySelector<HTMLElement>(this.sheetOpen ? "#settings-title" : "#settings-button")?.focus();
    });
  };

  /** `run` in the address: load, take the model's own sampling if none was given, write. */
  async #writeAtOnce(): Promise<void> {
    this.#runAtOnce = false;
    await this.#loom.load();
    await this.updateComplete;
    if (this.#loom.state === "ready") await this.#loom.generate();
  }

  readonly #consentActions: ConsentActions = {
    ask: () => void this.#askForPlan(),
    agree: (suggestion) => {
      this.agreed = true;
      if (suggestion) {
        const { dtype, contextLength } = suggestion;
        this.load = { ...this.load, dtype, contextLength };
      }
      void this.updateComplete.then(() => (this.#runAtOnce ? this.#writeAtOnce() : this.#loom.load()));
    },
  };

  async #askForPlan(): Promise<void> {
    this.planning = { kind: "asking" };
    try {
      const plan = await TextGenerator.plan(this.load.model ?? BUNDLED_MODEL, planOptions(this.load));
      this.planning = { kind: "known", plan };
    } catch (error) {
      this.planning = { kind: "failed", error: WordloomError.from(error) };
    }
  }

  #begin(beginning: string): void {
    void this.#loom.generate(beginning);
  }

  /** Files that somebody brings need no other consent. */
  #onDropped = (event: CustomEvent<File[]>): void => {
    this.load = { ...this.load, model: event.detail };
    this.modelBytes = undefined;
    this.agreed = true;
  };

  #onProgress = (event: CustomEvent<LoadProgress>): void => {
    const { phase, totalBytes } = event.detail;
    this.info = undefined;
    if (phase === "weights") this.modelBytes = totalBytes;
  };

  /** While a text is being written, the last one's numbers would be taken for its own. */
  #onToken = (): void => {
    this.lastEnd = undefined;
  };

  /** The failure may have cost the model; then its numbers go too. */
  #onError = (): void => {
    const { info } = this.#loom;
    this.info = info?.backend === "remote" ? undefined : info; // the page names no server
  };

  #onReady = (event: CustomEvent<GeneratorInfo>): void => {
    this.info = event.detail;
    this.lastEnd = undefined;
    // The element's own offer to write without the GPU may have set it.
    this.load = { ...this.load, allowReference: this.#loom.allowReference };
  };

  readonly #sheetActions: SheetActions = {
    close: this.#toggleSheet,
    choosePreset: (preset) => {
      if (preset === "own") this.own = this.#sampling;
      this.preset = preset;
    },
    setSampling: (change) => {
      this.own = { ...this.#sampling, ...change };
      this.preset = "own";
    },
    setGenerate: (change) => {
      this.generate = { ...this.generate, ...change };
    },
    loadModel: (settings) => {
      this.load = settings;
      this.agreed = true;
      void this.updateComplete.then(() => this.#loom.load());
    },
  };

  override render() {
    const sampling = this.#sampling;
    const { load, generate } = this;
    return html`
      <div class="page" ?data-sheet=${this.sheetOpen}>
        <header>
          <h1>${wordmark}<span>wordloom</span></h1>
          <button
            id="settings-button"
            type="button"
            class="quiet"
            aria-expanded=${this.sheetOpen}
            aria-controls="settings"
            @click=${this.#toggleSheet}
          >
            Settings
          </button>
        </header>
        <main>
          <word-loom
            .model=${load.model}
            .dtype=${load.dtype}
            .contextLength=${load.contextLength}
            .backend=${load.backend}
            .allowReference=${load.allowReference}
            .autoload=${this.agreed}
            prompt=${this.#query.prompt}
            .maxNewTokens=${generate.maxNewTokens}
            .seed=${generate.seed}
            .stopStrings=${generate.stopStrings}
            .temperature=${sampling.temperature}
            .topK=${sampling.topK}
            .topP=${sampling.topP}
            .minP=${sampling.minP}
            .repetitionPenalty=${sampling.repetitionPenalty}
            @model-dropped=${this.#onDropped}
            @model-progress=${this.#onProgress}
            @generated-token=${this.#onToken}
            @model-ready=${this.#onReady}
            @generation-error=${this.#onError}
            @generation-end=${(event: CustomEvent<GenerationEnd>) => (this.lastEnd = event.detail)}
          >
            ${this.#introTemplate()}
          </word-loom>
          <wordloom-look-inside></wordloom-look-inside>
          ${this.info ? ledgerTemplate(this.info, this.lastEnd) : nothing}
          ${
            this.#query.unknown.length > 0
              ? html`<p class="note">Not understood in this page's address: ${this.#query.unknown.join(", ")}.</p>`
              : nothing
          }
        </main>
        <aside id="settings" aria-labelledby="settings-title" ?hidden=${!this.sheetOpen}>
          ${
            this.sheetOpen
              ? settingsTemplate({ info: this.info, preset: this.preset, sampling, generate, load }, this.#sheetActions)
              : nothing
          }
        </aside>
      </div>
    `;
  }

  #whatIsLoaded(): string {
    const name = modelName(this.load.model ?? BUNDLED_MODEL);
    const size = this.modelBytes ?? this.info?.bytes.weights;
    const isHere = typeof this.load.model === "object";
    const from = isHere ? "this device" : (foreignHost(this.load.model, document.baseURI) ?? "this site");
    return (
      `${name}${size === undefined ? "" : `, ${formatBytes(size)},`} comes from ${from} and runs on your own device. ` +
      "Nothing you write leaves it."
    );
  }

  #introTemplate() {
    if (!this.agreed) {
      const { model = "" } = this.load;
      const consent = { model, host: this.#foreignHost, planning: this.planning, run: this.#query.run };
      return consentTemplate(consent, this.#consentActions);
    }
    return html`
      <div class="intro">
        <p class="lead">Type a few words, and the model writes on from them.</p>
        <p>${this.#whatIsLoaded()}</p>
        <p id="beginnings" class="label">Or begin with</p>
        <ul aria-labelledby="beginnings">
          ${BEGINNINGS.map(
            (text) => html`
              <li><button type="button" class="beginning" @click=${() => this.#begin(text)}>${text}</button></li>
            `,
          )}
        </ul>
      </div>
    `;
  }
}

/** Three warp threads and one weft going over, under, over. */
const wordmark = html`
  <svg
    viewBox="0 0 24 24"
    width="22"
    height="22"
    aria-hidden="true"
    fill="none"
    stroke="currentColor"
    stroke-width="2.4"
  >
    <path d="M6 3v6.4M6 14.6V21M12 3v18M18 3v6.4M18 14.6V21M2 12h7.2M14.8 12H22" stroke-linecap="round" />
  </svg>
`;

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-page": WordloomPage;
  }
}
