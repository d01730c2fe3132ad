import { LitElement, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { localized } from "@lit/localize";
import { LANGUAGES, keepLanguage, language, type Language } from "./localization";
import { languageFailed, languageLabel } from "./offline";

/** Chooses the page's language, for good. It renders into the document, for the page's style sheet. */
@customElement("wordloom-language-switch")
@localized()
export class LanguageSwitch extends LitElement {
  /** The language whose words could not be fetched. */
  @state() private failed: string | undefined;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  async #choose(select: HTMLSelectElement): Promise<void> {
    const chosen = select.value as Language; // the options are LANGUAGES
    try {
      await keepLanguage(chosen);
      this.failed = undefined;
    } catch {
      this.failed = LANGUAGES.find(({ code }) => code === chosen)?.name;
      select.value = language();
    }
  }

  override render() {
    return html`
      <div class="field">
        <label for="language">${languageLabel()}</label>
        <select id="language" @change=${(event: Event) => void this.#choose(event.target as HTMLSelectElement)}>
          ${LANGUAGES.map(
            ({ code, name }) =>
              html`<option value=${code} lang=${code} ?selected=${code === language()}>${name}</option>`,
          )}
        </select>
        ${this.failed === undefined ? nothing : html`<p role="alert">${languageFailed(this.failed)}</p>`}
      </div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-language-switch": LanguageSwitch;
  }
}
