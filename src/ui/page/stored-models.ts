import { localized } from "@lit/localize";
import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { modelStorage, type StorageRoom, type StoredModel } from "../../api/model-storage";
import { WordloomError } from "../../errors";
import type { GeneratorInfo } from "../generator";
import { formatBytes, modelName } from "../word-loom/format";
import { BUNDLED_MODEL, type ModelSource } from "../word-loom/options";
import { formatDay } from "../words/localization";
import * as words from "../words/page-sheet";

type Known =
  | { kind: "reading" }
  | { kind: "known"; models: readonly StoredModel[]; room: StorageRoom }
  | { kind: "failed"; error: WordloomError };

/**
 * The models that this browser keeps for the page, each with a button that deletes it when it is pressed twice. It
 * renders into the document, for the page's style sheet.
 *
 * @fires use-stored - A model is to be loaded; `detail`: its source.
 */
@customElement("wordloom-stored-models")
@localized()
export class StoredModels extends LitElement {
  /** What is loaded now, if anything is; the list is read anew when it changes. */
  @property({ attribute: false }) info: GeneratorInfo | undefined;
  @property({ attribute: false }) model: ModelSource | undefined;

  @state() private known: Known = { kind: "reading" };
  /** The model whose button has been pressed once. */
  @state() private asked: string | undefined;
  /** What became of the last deletion. */
  @state() private outcome = "";

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!this.hasUpdated || changed.has("info")) void this.#read();
  }

  async #read(): Promise<void> {
    try {
      const bundled = addressOf(BUNDLED_MODEL);
      const models = (await modelStorage.list()).filter(({ source }) => source !== bundled);
      models.sort((a, b) => modelName(a.source).localeCompare(modelName(b.source)));
      this.known = { kind: "known", models, room: await modelStorage.room() };
    } catch (error) {
      this.known = { kind: "failed", error: WordloomError.from(error) };
    }
  }

  #use({ source }: StoredModel): void {
    this.dispatchEvent(new CustomEvent("use-stored", { detail: source }));
  }

  /** The second click of a double click confirms nothing: it was made before the question could be read. */
  #onClick(event: MouseEvent, model: StoredModel): void {
    if (event.detail > 1) return;
    if (this.asked === model.id) void this.#delete(model);
    else {
      this.asked = model.id;
      this.outcome = "";
    }
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== "Escape" || this.asked === undefined) return;
    event.preventDefault(); // the sheet stays open
    this.asked = undefined;
  }

  async #delete(model: StoredModel): Promise<void> {
    this.asked = undefined;
    const name = modelName(model.source);
    try {
      await modelStorage.delete(model);
      this.outcome = words.isDeleted(name, formatBytes(model.bytes));
    } catch (error) {
      const { message, remedy } = WordloomError.from(error);
      this.outcome = words.isStillHere(name, message, remedy);
    }
    await this.#read();
    await this.updateComplete;
    // Its button is gone, and with it the focus.
    if (!this.contains(document.activeElement)) this.querySelector<HTMLElement>("#stored-title")?.focus();
  }

  override render() {
    return html`
      <section class="stored" aria-labelledby="stored-title">
        <h3 id="stored-title" tabindex="-1">${words.keptHere()}</h3>
        ${this.#listTemplate()}
        <p role="status">${this.outcome}</p>
      </section>
    `;
  }

  #listTemplate(): TemplateResult | typeof nothing {
    const { known } = this;
    const loaded = known.kind === "known" ? this.#loadedId(known.models) : undefined;
    switch (known.kind) {
      case "reading":
        return nothing;
      case "failed":
        return html`<p>${known.error.message}. ${known.error.remedy}</p>`;
      case "known":
        if (known.models.length === 0) return html`<p>${words.noModels()}</p>`;
        return html`
          <ul>
            ${known.models.map((model) => this.#modelTemplate(model, model.id === loaded))}
          </ul>
          <p>${roomSentence(known.room)}</p>
        `;
    }
  }

  /** Of several revisions the one that was loaded last. */
  #loadedId(models: readonly StoredModel[]): string | undefined {
    if (this.info === undefined || this.model === undefined) return undefined;
    const address = addressOf(this.model);
    const [last] = models
      .filter(({ source }) => source === address)
      .sort((a, b) => (b.usedAt?.getTime() ?? 0) - (a.usedAt?.getTime() ?? 0));
    return last?.id;
  }

  #modelTemplate(model: StoredModel, isLoaded: boolean): TemplateResult {
    const name = modelName(model.source);
    const size = formatBytes(model.bytes);
    const isAsked = this.asked === model.id;
    return html`
      <li>
        <span>
          ${name}
          <small>${words.sizeFrom(size, whereFrom(model))}</small>
          <small>${isAsked && isLoaded ? words.goesOnWriting() : lastUse(model, isLoaded)}</small>
        </span>
        ${
          isLoaded || !URL.canParse(model.source)
            ? nothing
            : html`<button type="button" aria-label=${words.useNamed(name)} @click=${() => this.#use(model)}>
                ${words.use()}
              </button>`
        }
        <button
          type="button"
          class="delete"
          aria-label=${isAsked ? words.deleteNamedNow(name, size) : words.deleteNamed(name)}
          @click=${(event: MouseEvent) => this.#onClick(event, model)}
          @keydown=${(event: KeyboardEvent) => this.#onKey(event)}
          @blur=${() => (this.asked = undefined)}
        >
          ${isAsked ? words.deleteNow() : words.deleteIt()}
        </button>
      </li>
    `;
  }
}

function whereFrom({ source, revision }: StoredModel): string {
  if (!URL.canParse(source)) return words.unknownPlace(); // a record that was lost
  const { protocol, pathname, host } = new URL(source);
  if (protocol !== "hf:") return host;
  return `${pathname.replace(/\/.*$/, "")} (${revision.slice(0, 7)})`;
}

function lastUse({ complete, usedAt }: StoredModel, isLoaded: boolean): string {
  if (isLoaded) return words.loaded();
  if (!complete) return words.notComplete();
  return usedAt === undefined ? "" : words.lastLoaded(formatDay(usedAt));
}

function roomSentence({ usedBytes, quotaBytes, persisted }: StorageRoom): string {
  const used =
    usedBytes === undefined || quotaBytes === undefined
      ? ""
      : words.siteUses(formatBytes(usedBytes), formatBytes(quotaBytes));
  return `${used} ${persisted ? words.browserKeeps() : words.browserMayDelete()}`.trim();
}

/** As the store calls the folder that a source is in; "" for files of this device. */
function addressOf(source: ModelSource): string {
  if (typeof source !== "string") return "";
  const [hub] = /^hf:[^/]+\/[^/@]+/.exec(source) ?? [];
  if (hub !== undefined) return hub;
  if (!URL.canParse(source, document.baseURI)) return "";
  const url = new URL(source, document.baseURI);
  const folder = url.pathname.replace(/\/[^/]*\.gguf$/i, "/");
  return url.origin + (folder.endsWith("/") ? folder : `${folder}/`);
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-stored-models": StoredModels;
  }
}
