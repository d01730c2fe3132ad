import { localized } from "@lit/localize";
import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { WordloomError } from "../../../errors";
import { formatDay } from "../../words/localization";
import * as words from "../../words/page-texts";
import { choiceField } from "../fields";
import { sharedAddress, type Shared } from "../query";
import { copyButton } from "./copy-button";
import { asJson, asMarkdown, asText, isEmpty, shownTurns, titleOf, type PageDocument } from "./document";
import {
  deleteAllDocuments,
  deleteDocument,
  keepsDocuments,
  keptDocuments,
  setKeeping,
  type KeptDocument,
} from "./kept-documents";

/**
 * Saves and shares the text or chat that is shown, and lists those that this browser keeps. It renders into the document,
 * for the page's style sheet.
 *
 * @fires open-document - `detail`: the KeptDocument to show.
 * @fires new-text - The reader wants to begin another one.
 */
@customElement("wordloom-texts")
@localized()
export class TextsPanel extends LitElement {
  @property({ attribute: false }) document: PageDocument | undefined;
  /** How the page is set now. */
  @property({ attribute: false }) shared: Shared | undefined;

  @state() private kept: readonly KeptDocument[] = [];
  @state() private withText = false;
  @state() private asksForAll = false;
  /** What became of the last step. */
  @state() private outcome = "";

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!this.hasUpdated || changed.has("document")) void this.#read();
  }

  async #read(): Promise<void> {
    await this.#try(async () => {
      this.kept = await keptDocuments();
    });
  }

  async #try(act: () => Promise<void>, outcome?: string): Promise<void> {
    try {
      await act();
      if (outcome !== undefined) this.outcome = outcome;
    } catch (error) {
      this.outcome = WordloomError.from(error).message;
    }
  }

  #delete = async ({ id, title }: KeptDocument): Promise<void> => {
    await this.#try(() => deleteDocument(id), words.removed(title || words.untitled()));
    await this.#read();
    await this.updateComplete;
    // Its button is gone, and with it the focus.
    if (!this.contains(document.activeElement)) this.querySelector<HTMLElement>("#kept-title")?.focus();
  };

  #deleteAll = async (event: MouseEvent): Promise<void> => {
    if (event.detail > 1) return; // of a double click, which confirms nothing
    if (!this.asksForAll) {
      this.asksForAll = true;
      return;
    }
    this.asksForAll = false;
    await this.#try(deleteAllDocuments, words.allRemoved());
    await this.#read();
    await this.updateComplete;
    this.querySelector<HTMLElement>("#kept-title")?.focus();
  };

  override render(): TemplateResult {
    const shown = this.document && !isEmpty(this.document) ? this.document : undefined;
    return html`
      <section class="stored" aria-labelledby="this-title">
        <h3 id="this-title">${words.actions()}</h3>
        ${shown ? this.#saveTemplate(shown) : html`<p>${words.nothingYet()}</p>`} ${this.#linkTemplate(shown)}
      </section>
      ${this.#keptTemplate()}
    `;
  }

  #saveTemplate(shown: PageDocument): TemplateResult {
    const names = { you: words.youSaid(), model: shown.model };
    const save = (text: string, type: string, ending: string) => () => {
      const name =
        titleOf(shown)
          .replace(/[^\p{L}\p{N}]+/gu, "-")
          .replace(/^-|-$/g, "") || "wordloom";
      const link = Object.assign(document.createElement("a"), {
        href: URL.createObjectURL(new Blob([text], { type })),
        download: `${name}.${ending}`,
      });
      link.click();
      URL.revokeObjectURL(link.href);
    };
    return html`
      <p>${words.save()}</p>
      <p class="choices">
        <button type="button" @click=${save(asText(shown, names), "text/plain", "txt")}>${words.asText()}</button>
        <button type="button" @click=${save(asMarkdown(shown, names), "text/markdown", "md")}>
          ${words.asMarkdown()}
        </button>
        <button type="button" @click=${save(asJson(shown, this.#settings()), "application/json", "json")}>
          ${words.asJson()}
        </button>
        ${copyButton(() => asText(shown, names))}
      </p>
    `;
  }

  /** Where the model came from is an address or nothing: files have none. */
  #settings(): object {
    const { load, run, sampling, system } = this.shared ?? { load: {} };
    return { ...load, model: typeof load.model === "string" ? load.model : undefined, ...run, ...sampling, system };
  }

  #linkTemplate(shown: PageDocument | undefined): TemplateResult | typeof nothing {
    const { shared } = this;
    if (!shared) return nothing;
    const address = sharedAddress(location.href, { ...shared, ...(shown && this.#parts(shown)) });
    return html`
      <div class="field">
        <label for="share-link">${words.shareLink()}</label>
        <input
          id="share-link"
          type="text"
          readonly
          aria-describedby="share-link-help"
          .value=${address}
          @focus=${(event: Event) => (event.target as HTMLInputElement).select()}
        />
        <p id="share-link-help">
          ${words.shareLinkHelp()} ${typeof shared.load.model === "object" ? words.withFiles() : nothing}
        </p>
      </div>
      ${
        shown
          ? choiceField({
              ...{ type: "checkbox", name: "with-text", label: words.withText(), checked: this.withText },
              set: (checked) => (this.withText = checked),
            })
          : nothing
      }
      <p class="choices">${copyButton(() => address, words.copyLink)}</p>
    `;
  }

  #parts(shown: PageDocument): Partial<Shared> {
    if (shown.kind === "chat") {
      const turns = shownTurns(shown.chat).map(({ message, text }) => [message, text] as const);
      return { mode: "chat", ...(this.withText ? { turns } : {}) };
    }
    const version = shown.versions[shown.at];
    return version ? { prompt: version.prompt, ...(this.withText ? { text: version.text } : {}) } : {};
  }

  #keptTemplate(): TemplateResult {
    const { kept } = this;
    return html`
      <section class="stored" aria-labelledby="kept-title">
        <h3 id="kept-title" tabindex="-1">${words.kept()}</h3>
        ${choiceField({
          ...{ type: "checkbox", name: "keep", label: words.keep(), note: words.keepNote(), checked: keepsDocuments() },
          set: (checked) => void this.#try(async () => setKeeping(checked), ""),
        })}
        <p class="choices">
          <button type="button" @click=${() => this.dispatchEvent(new CustomEvent("new-text", { bubbles: true }))}>
            ${words.newText()}
          </button>
          ${
            kept.length === 0
              ? nothing
              : html`<button type="button" @click=${this.#deleteAll} @blur=${() => (this.asksForAll = false)}>
                  ${this.asksForAll ? words.removeAllNow(kept.length) : words.removeAll()}
                </button>`
          }
        </p>
        ${
          kept.length === 0
            ? html`<p>${words.noneKept()}</p>`
            : html`<ul>
                ${kept.map((each) => this.#row(each))}
              </ul>`
        }
        <p role="status">${this.outcome}</p>
      </section>
    `;
  }

  #row(kept: KeptDocument): TemplateResult {
    const title = kept.title || words.untitled();
    const day = formatDay(kept.updatedAt);
    const open = () => this.dispatchEvent(new CustomEvent("open-document", { detail: kept, bubbles: true }));
    return html`
      <li>
        <span dir="auto"
          >${title}<small
            >${kept.kind === "chat" ? words.isChat(kept.model, day) : words.isText(kept.model, day)}</small
          ></span
        >
        <button type="button" aria-label=${words.openNamed(title)} @click=${open}>${words.open()}</button>
        <button
          type="button"
          class="quiet"
          aria-label=${words.removeNamed(title)}
          @click=${() => void this.#delete(kept)}
        >
          ${words.remove()}
        </button>
      </li>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-texts": TextsPanel;
  }
}
