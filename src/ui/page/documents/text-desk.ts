import { localized } from "@lit/localize";
import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { WordLoom } from "../../word-loom/word-loom";
import type { SavedToken, WrittenToken } from "../../word-loom/written-token";
import * as words from "../../words/page-texts";
import { copyButton } from "./copy-button";
import type { PageDocument } from "./document";
import { Versions } from "./versions";
import { documentId } from "./document-id";

/**
 * What can be done with the text in `<word-loom>`: its versions, one step each, copying, editing. It renders into the
 * document, for the page's style sheet.
 *
 * @fires text-changed - `document` is another.
 * @fires share-text - The reader wants to share or save it.
 */
@customElement("wordloom-text-desk")
@localized()
export class TextDesk extends LitElement {
  @property({ attribute: false }) loom: WordLoom | undefined;
  /** Whose text it is, as a person calls it. */
  @property({ attribute: false }) model = "";

  @state() private versions = new Versions();
  #id: string = documentId();
  #forget: (() => void) | undefined;

  get document(): PageDocument & { kind: "text" } {
    return { kind: "text", id: this.#id, model: this.model, versions: this.versions.all, at: this.versions.at };
  }

  /** In place of the text that is there. */
  open({ id, versions, at }: PageDocument & { kind: "text" }): void {
    this.#id = id;
    this.versions = new Versions(versions, at);
    void this.#show();
  }

  /** A text of its own; the other one stays where it is kept. */
  begin(): void {
    this.#id = documentId();
    this.versions = new Versions();
    if (!this.loom) return;
    this.loom.reset();
    this.loom.prompt = "";
  }

  step(by: -1 | 1): void {
    if (this.loom?.state === "generating" || !this.versions.step(by)) return;
    void this.#show();
    this.#tell();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("loom")) this.#listen();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#forget?.();
    this.#forget = undefined;
  }

  #listen(): void {
    this.#forget?.();
    const { loom } = this;
    if (!loom) return;
    loom.addEventListener("generation-end", this.#take);
    loom.addEventListener("generation-error", this.#take);
    this.#forget = () => {
      loom.removeEventListener("generation-end", this.#take);
      loom.removeEventListener("generation-error", this.#take);
    };
  }

  /** What has been written is a version, whether it came to its end or not. */
  #take = (): void => {
    const { loom } = this;
    if (!loom || loom.text === "") return;
    this.versions.add({ prompt: loom.prompt, text: loom.text, tokens: loom.tokens.map(savedToken) });
    this.#tell();
  };

  #tell(): void {
    this.requestUpdate();
    this.dispatchEvent(new CustomEvent("text-changed", { bubbles: true }));
  }

  async #show(): Promise<void> {
    const { loom } = this;
    const { shown } = this.versions;
    this.requestUpdate();
    if (!loom || !shown) return;
    loom.prompt = shown.prompt;
    await loom.updateComplete;
    loom.replaceText(shown.text, shown.tokens);
  }

  /** All that was written becomes the beginning, which can be changed; the version stays as it is. */
  #edit = (): void => {
    const { loom } = this;
    if (!loom) return;
    loom.prompt += loom.text;
    loom.reset();
    void loom.updateComplete.then(() => loom.shadowRoot?.querySelector<HTMLElement>("[part=prompt]")?.focus());
  };

  override render(): TemplateResult | typeof nothing {
    const { at, all, shown } = this.versions;
    const { loom } = this;
    if (!loom || !shown) return nothing;
    const step = (by: -1 | 1, label: string, sign: string) => html`
      <button
        type="button"
        aria-label=${label}
        ?disabled=${by === -1 ? at === 0 : at === all.length - 1}
        @click=${() => this.step(by)}
      >
        ${sign}
      </button>
    `;
    return html`
      <div class="acts" role="group" aria-label=${words.actions()}>
        ${
          all.length < 2
            ? nothing
            : html`<span class="versions">
                ${step(-1, words.earlier(), "‹")} <span>${words.version(at + 1, all.length)}</span>
                ${step(1, words.later(), "›")}
              </span>`
        }
        ${copyButton(() => loom.prompt + loom.text)}
        <button type="button" @click=${this.#edit}>${words.edit()}</button>
        <button type="button" @click=${() => this.dispatchEvent(new CustomEvent("share-text"))}>
          ${words.shareAndSave()}
        </button>
      </div>
    `;
  }
}

/** Without the alternatives: they are the inspector's, and many. */
function savedToken({ id, bytes, logprob, rank, entropy, start, end, elapsedMs }: WrittenToken): SavedToken {
  return { id, bytes: bytes && [...bytes], logprob, rank, entropy, start, end, elapsedMs };
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-text-desk": TextDesk;
  }
}
