import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { WordLoom } from "../word-loom/word-loom";
import * as words from "../words/inspector-button";
import { followLanguage } from "../words/localization";

type Phase = { kind: "closed" } | { kind: "fetching" } | { kind: "open" } | { kind: "failed"; message: string };

/** The button that opens the inspector, which is fetched when it is first asked for. */
@customElement("wordloom-look-inside")
export class WordloomLookInside extends LitElement {
  static override styles = css`
    :host {
      display: block;
    }

    :host([hidden]) {
      display: none;
    }

    button {
      min-block-size: 2.25rem;
      padding: 0.25rem 0.9rem;
      border: 1px solid color-mix(in srgb, currentColor 30%, transparent);
      border-radius: 6px;
      background: none;
      color: inherit;
      font: inherit;
      cursor: pointer;
      touch-action: manipulation;
    }

    button:hover {
      background: color-mix(in srgb, currentColor 7%, transparent);
    }

    button:focus-visible {
      outline: 2px solid var(--word-loom-accent, currentColor);
      outline-offset: 2px;
    }

    wordloom-inspector {
      display: block;
      margin-block-start: 1.5rem;
    }
  `;

  /** Whose text is looked at; default: the one beside it. */
  @property({ attribute: false }) loom: WordLoom | undefined;
  @state() private phase: Phase = { kind: "closed" };

  constructor() {
    super();
    followLanguage(this);
  }

  #toggle = async (): Promise<void> => {
    if (this.phase.kind === "open" || this.phase.kind === "fetching") {
      this.phase = { kind: "closed" };
      return;
    }
    this.phase = { kind: "fetching" };
    try {
      await import("./inspector");
      if (this.phase.kind === "fetching") this.phase = { kind: "open" };
    } catch (error) {
      this.phase = { kind: "failed", message: error instanceof Error ? error.message : String(error) };
    }
  };

  override render() {
    const { phase } = this;
    const isOpen = phase.kind === "open" || phase.kind === "fetching";
    const loom = this.loom ?? this.parentElement?.querySelector("word-loom") ?? undefined;
    return html`
      <button type="button" aria-expanded=${isOpen} @click=${this.#toggle}>
        ${isOpen ? words.stopLooking() : words.lookInside()}
      </button>
      ${phase.kind === "failed" ? html`<p role="alert">${words.lookFailed(phase.message)}</p>` : nothing}
      ${phase.kind === "open" ? html`<wordloom-inspector .loom=${loom}></wordloom-inspector>` : nothing}
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-look-inside": WordloomLookInside;
  }
}
