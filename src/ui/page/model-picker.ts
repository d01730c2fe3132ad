import { localized } from "@lit/localize";
import { LitElement, html, nothing, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { GeneratorInfo } from "../generator";
import { formatBytes, modelName } from "../word-loom/format";
import { BUNDLED_MODEL, type LoadSettings } from "../word-loom/options";
import { formatDay } from "../words/localization";
import * as words from "../words/page-sheet";
import { askForPlan, exceeds, planTemplate, withSuggestion, type Planning } from "./consent";
import { choiceField, numberField, selectField } from "./fields";
import { foreignHost, typedSource } from "./query";
import { forgetModel, recentModels } from "./recent-models";
import "./stored-models";

const BYTES_A_WEIGHT: readonly (readonly [dtype: string, bytes: number])[] = [
  ["f32", 4],
  ["f16", 2],
  ["q8", 1.06],
  ["q4", 0.56],
];

/**
 * Chooses the page's model: what it would take is told before anything of size is fetched. It renders into the document,
 * for the page's style sheet.
 *
 * @fires model-chosen - `detail`: the LoadSettings to load.
 */
@customElement("wordloom-model-picker")
@localized()
export class ModelPicker extends LitElement {
  @property({ attribute: false }) info: GeneratorInfo | undefined;
  /** What is loaded, or will be. */
  @property({ attribute: false }) load: LoadSettings | undefined;

  /** As typed. */
  @state() private typed = "";
  /** Chosen from this device, in place of what is typed. */
  @state() private files: File[] | undefined;
  @state() private planning: Planning = { kind: "unasked" };
  #asked = 0;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  get #candidate(): LoadSettings["model"] {
    return this.files ?? typedSource(this.typed);
  }

  /** The form's fields; a model that is not named there is the one that is loaded. */
  #settings(model = this.#candidate): LoadSettings {
    const form = this.querySelector<HTMLFormElement>("#model-how");
    if (!form || !this.load) throw new Error("the model picker has not been rendered");
    const fields = new FormData(form);
    const text = (name: string) => (fields.get(name) as string | null)?.trim() || undefined; // no field here is a file
    const contextLength = text("context-length");
    return {
      model: model ?? this.load.model,
      dtype: text("dtype"),
      contextLength: contextLength === undefined ? undefined : Number(contextLength),
      backend: text("backend"),
      allowReference: fields.has("allow-reference"),
    };
  }

  #choose(settings: LoadSettings): void {
    this.typed = "";
    this.files = undefined;
    this.planning = { kind: "unasked" };
    this.dispatchEvent(new CustomEvent("model-chosen", { detail: settings, bubbles: true }));
  }

  async #ask(): Promise<void> {
    const asked = ++this.#asked;
    this.planning = { kind: "asking" };
    const planning = await askForPlan(this.#settings());
    if (asked === this.#asked) this.planning = planning; // else the reader has gone on to another one
  }

  #onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (this.#candidate === undefined) return;
    if (this.planning.kind === "unasked" || this.planning.kind === "failed") void this.#ask();
    else if (!exceeds(this.planning)) this.#choose(this.#settings());
  };

  #become(change: { typed?: string; files?: File[] | undefined }): void {
    this.#asked++;
    this.planning = { kind: "unasked" };
    this.typed = change.typed ?? "";
    this.files = change.files;
  }

  #onFiles = (event: Event): void => {
    const input = event.target as HTMLInputElement; // the listener is on it
    const files = [...(input.files ?? [])];
    input.value = ""; // so that the same choice can be made again
    if (files.length === 0) return;
    this.#become({ files });
    void this.updateComplete.then(() => this.#ask());
  };

  override render(): TemplateResult {
    const { load, info } = this;
    const held = info
      ? words.loadedAs(
          info.dtype,
          formatBytes(info.bytes.weights + info.bytes.kvCache + info.bytes.activations),
          info.contextLength,
        )
      : words.notLoaded();
    return html`
      <p class="now">
        <span class="muted">${words.loadedNow()}</span> <b>${modelName(load?.model ?? BUNDLED_MODEL)}</b>
        <small>${held}</small>
      </p>
      ${this.#otherTemplate()} ${this.#howTemplate()} ${this.#recentTemplate()}
      <wordloom-stored-models
        .info=${info}
        .model=${load?.model}
        @use-stored=${(event: CustomEvent<string>) => this.#choose(this.#settings(event.detail))}
      ></wordloom-stored-models>
    `;
  }

  #otherTemplate(): TemplateResult {
    const { planning, files } = this;
    const candidate = this.#candidate;
    const host = foreignHost(candidate, document.baseURI);
    const from = files
      ? words.chosenFiles(modelName(files))
      : candidate === undefined
        ? ""
        : host === undefined
          ? words.fromThisSite()
          : words.comesFrom(host);
    const isPlanned = planning.kind === "known" || planning.kind === "asking";
    return html`
      <form class="fields" @submit=${this.#onSubmit}>
        <fieldset>
          <legend>${words.another()}</legend>
          <div class="field">
            <label for="model">${words.whereItIs()}</label>
            <input
              id="model"
              type="text"
              spellcheck="false"
              autocapitalize="off"
              autocomplete="off"
              placeholder="org/name"
              aria-describedby="model-help model-from"
              .value=${this.typed}
              @input=${(event: Event) => this.#become({ typed: (event.target as HTMLInputElement).value })}
            />
            <p id="model-help">${words.whereItIsHelp()}</p>
          </div>
          <p class="choices">
            ${this.#fileButton("file", words.chooseFile())} ${this.#fileButton("folder", words.chooseFolder())}
          </p>
          <p class="note">${words.filesHelp()}</p>
          <p id="model-from" class=${from === "" ? "unseen" : "note"}>${from}</p>
          <div class="plan" aria-live="polite">
            ${planTemplate(planning, (suggestion) => this.#choose(withSuggestion(this.#settings(), suggestion)))}
          </div>
          <p class="choices">
            ${
              isPlanned
                ? nothing
                : html`<button type="submit" ?disabled=${candidate === undefined}>${words.check()}</button>`
            }
            ${
              exceeds(planning)
                ? nothing
                : html`<button
                    type="button"
                    class=${planning.kind === "known" ? "primary" : ""}
                    ?disabled=${candidate === undefined}
                    @click=${() => this.#choose(this.#settings())}
                  >
                    ${words.load()}
                  </button>`
            }
          </p>
        </fieldset>
      </form>
    `;
  }

  /** The input itself cannot be styled: it is not seen, and a button presses it. */
  #fileButton(kind: "file" | "folder", label: string): TemplateResult {
    return html`
      <input
        id="choose-${kind}"
        hidden
        type="file"
        multiple
        ?webkitdirectory=${kind === "folder"}
        @change=${this.#onFiles}
      /><button type="button" @click=${() => this.querySelector<HTMLElement>(`#choose-${kind}`)?.click()}>
        ${label}
      </button>
    `;
  }

  #howTemplate(): TemplateResult {
    const { load, info } = this;
    const memory = (bytes: number) =>
      info
        ? (name: string) => words.dtypeWithMemory(name, formatBytes(bytes * info.parameterCount))
        : (name: string) => words.dtypeOption(name, words.bytesEach(String(bytes)));
    return html`
      <details class="more" ?open=${load?.dtype !== undefined || load?.contextLength !== undefined}>
        <summary>${words.howHeld()}</summary>
        <form
          id="model-how"
          class="fields"
          @submit=${(event: SubmitEvent) => {
            event.preventDefault();
            this.#choose(this.#settings());
          }}
        >
          <fieldset>
            ${selectField({
              ...{ id: "dtype", label: words.dtype(), help: words.dtypeHelp() },
              options: [
                ["", words.chooseForMe()],
                ...BYTES_A_WEIGHT.map(([name, bytes]) => [name, memory(bytes)(name)] as const),
              ],
              value: load?.dtype,
            })}
            ${numberField({
              ...{ id: "context-length", label: words.contextLength(), help: words.contextLengthHelp() },
              limits: { min: 1, step: 1 },
              value: load?.contextLength,
            })}
            ${selectField({
              ...{ id: "backend", label: words.backend(), help: words.backendHelp() },
              options: [
                ["", words.chooseForMe()],
                ["webgpu", words.onGpu()],
                ["reference", words.onCpu()],
              ],
              value: load?.backend,
            })}
            ${choiceField({
              ...{ type: "checkbox", name: "allow-reference", checked: load?.allowReference === true },
              ...{ label: words.allowReference(), note: words.allowReferenceNote() },
            })}
            <button type="submit">${words.loadWithSettings()}</button>
          </fieldset>
        </form>
      </details>
    `;
  }

  #recentTemplate(): TemplateResult {
    const now = this.load?.model ?? BUNDLED_MODEL;
    const recent = recentModels().filter(({ source }) => source !== now && source !== BUNDLED_MODEL);
    const bundled = now === BUNDLED_MODEL ? [] : [BUNDLED_MODEL];
    if (recent.length + bundled.length === 0) return html``;
    return html`
      <section class="stored" aria-labelledby="used-title">
        <h3 id="used-title">${words.usedBefore()}</h3>
        <ul>
          ${bundled.map((source) => html`<li>${this.#useTemplate(source, words.bundled())}</li>`)}
          ${recent.map(({ source, usedAt }) => {
            const from = foreignHost(source, document.baseURI) ?? location.host;
            return html`
              <li>
                ${this.#useTemplate(source, words.lastUsed(from, formatDay(usedAt)))}
                <button
                  type="button"
                  class="quiet"
                  aria-label=${words.forgetNamed(modelName(source))}
                  @click=${() => {
                    forgetModel(source);
                    this.requestUpdate();
                  }}
                >
                  ${words.forget()}
                </button>
              </li>
            `;
          })}
        </ul>
      </section>
    `;
  }

  #useTemplate(source: string, note: string): TemplateResult {
    const name = modelName(source);
    const load: LoadSettings | undefined = this.load && {
      ...this.load,
      ...{ model: source === BUNDLED_MODEL ? undefined : source, dtype: undefined, contextLength: undefined },
    };
    return html`
      <span>${name}<small>${note}</small></span>
      <button type="button" aria-label=${words.useNamed(name)} @click=${() => load && this.#choose(load)}>
        ${words.use()}
      </button>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-model-picker": ModelPicker;
  }
}
