import { localized } from "@lit/localize";
import { LitElement, html } from "lit";
import { customElement } from "lit/decorators.js";
import { keptSentence } from "../words/offline";
import { offline } from "./offline";

/** One sentence: whether the page works without a network. It renders into the document, for the page's style sheet. */
@customElement("wordloom-offline-status")
@localized()
export class OfflineStatus extends LitElement {
  readonly #onChange = () => this.requestUpdate();

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    offline.addEventListener("change", this.#onChange);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    offline.removeEventListener("change", this.#onChange);
  }

  override render() {
    return html`<p class="note">${keptSentence(offline.kept)}</p>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-offline-status": OfflineStatus;
  }
}
