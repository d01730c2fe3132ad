import { WordloomError } from "../../errors";
import { LoomField } from "./loom-field";
import { tokenAt } from "./token-at";
import { Writing } from "./writing";
import { WrittenText } from "./written-text";
import type { WrittenToken } from "./written-token";

/** The text of `<word-loom>`, its tokens, and where they stand in the page. */
export abstract class LoomText extends LoomField {
  protected readonly writing = new Writing();

  /** What the model has written since the last `generate` or `reset`; without the prompt. */
  get text(): string {
    return this.writing.text;
  }

  /**
   * The tokens of `text`, as far as they are known. The list grows while a run goes on; another text has a list of its
   * own, so that one that was kept stays as it was.
   */
  get tokens(): readonly WrittenToken[] {
    return this.writing.tokens;
  }

  /** The text from `start` to `end` (as of `tokens`) where it stands in the page; what is not shown yet is not in it. */
  rangeOf(start: number, end: number): Range {
    return this.writing.rangeOf(start, end) ?? document.createRange();
  }

  /** The number of the token at a point of the window, as of a pointer event's `clientX` and `clientY`. */
  tokenAt(x: number, y: number): number | undefined {
    return tokenAt(this.tokens, (token) => this.rangeOf(token.start, token.end).getClientRects(), x, y);
  }

  /**
   * Further styles within the element: what `::highlight()` looks like there, above all, which no style sheet of the page
   * reaches. `#output` is the text.
   *
   * @returns takes them away again
   */
  adoptStyles(sheet: CSSStyleSheet): () => void {
    const root = this.renderRoot as ShadowRoot; // LitElement's own, as createRenderRoot is not overridden
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    return () => (root.adoptedStyleSheets = root.adoptedStyleSheets.filter((one) => one !== sheet));
  }

  protected inner(name: "prompt" | "output" | "announcer"): HTMLElement {
    const element = this.renderRoot.querySelector<HTMLElement>(`#${name}`);
    if (!element) throw new WordloomError("internal", `<word-loom> has no #${name}: it has not been rendered`);
    return element;
  }

  protected override firstUpdated(changed: Map<PropertyKey, unknown>): void {
    super.firstUpdated(changed);
    this.writing.showIn(new WrittenText(this.inner("output"), this.inner("announcer")));
  }
}
