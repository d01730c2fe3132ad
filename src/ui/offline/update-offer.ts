import { localized } from "@lit/localize";
import { LitElement, css, html, nothing } from "lit";
import { customElement } from "lit/decorators.js";
import { reloadButton, updateElsewhere, updateHere, updateWaits, useUpdateButton } from "../words/offline";
import { offline } from "./offline";

/** A quiet line where a newer version of the page is there; nothing where there is none. */
@customElement("wordloom-update-offer")
@localized()
export class UpdateOffer extends LitElement {
  static override styles = css`
    :host {
      color: var(--word-loom-muted);
    }
    [role="status"] {
      display: flex;
      flex-wrap: wrap;
      align-items: center;
      justify-content: end;
      column-gap: 0.5rem;
    }
    button {
      font: inherit;
      color: var(--word-loom-accent);
      min-block-size: 2.5rem;
      padding: 0.25rem 0.5rem;
      border: 1px solid transparent;
      border-radius: 6px;
      background: none;
      cursor: pointer;
    }
    button:hover {
      background: color-mix(in srgb, var(--word-loom-ink) 7%, transparent);
    }
    button:focus-visible {
      outline: 2px solid var(--word-loom-accent);
      outline-offset: 2px;
    }
    @media (forced-colors: active) {
      button {
        border-color: ButtonBorder;
      }
    }
  `;

  readonly #onChange = () => this.requestUpdate();

  override connectedCallback(): void {
    super.connectedCallback();
    offline.addEventListener("change", this.#onChange);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    offline.removeEventListener("change", this.#onChange);
  }

  override render() {
    return html`<div role="status">${this.#lineTemplate()}</div>`;
  }

  #lineTemplate() {
    switch (offline.update) {
      case "none":
        return nothing;
      case "offered":
        return html`<span>${updateHere()}</span>
          <button type="button" @click=${() => void offline.useUpdate()}>${useUpdateButton()}</button>`;
      case "waits":
        return html`<span>${updateWaits()}</span>`;
      case "elsewhere":
        return html`<span>${updateElsewhere()}</span>
          <button type="button" @click=${() => location.reload()}>${reloadButton()}</button>`;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-update-offer": UpdateOffer;
  }
}
