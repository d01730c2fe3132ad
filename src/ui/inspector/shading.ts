import type { WordLoom } from "../word-loom/word-loom";
import { CURSOR_NAME, HOVER_NAME, SHADE_COUNT, highlightRules, shadeName, shadeOf } from "./shades";

/** Tokens that are shaded beyond those in the window, on either side: scrolling a little shows no bare text. */
const MARGIN_TOKENS = 200;

/**
 * Shades an element's text where it stands, by the CSS Custom Highlight API: no node of the text is touched. Only what is
 * in and near the window has ranges, so that a long text costs no more than a short one.
 */
export class Shading {
  /** This text's ranges by highlight, so that several inspectors share the names. */
  readonly #mine = new Map<string, AbstractRange[]>();
  readonly #removeStyles: () => void;

  constructor(readonly loom: WordLoom) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(highlightRules());
    this.#removeStyles = loom.adoptStyles(sheet);
  }

  /** Shades what is in sight now. */
  update(): void {
    const { tokens } = this.loom;
    const [first, end] = this.#inSight();
    const shades = Array.from({ length: SHADE_COUNT }, (): AbstractRange[] => []);
    for (let index = first; index < end; index++) {
      const token = tokens[index];
      if (token && token.end > token.start) {
        shades[shadeOf(Math.exp(token.logprob))]?.push(this.#rangeOf(index));
      }
    }
    shades.forEach((ranges, shade) => shade > 0 && this.#set(shadeName(shade), 0, ranges));
  }

  /** The token that is looked at closely; undefined: none. */
  markCursor(index: number | undefined): void {
    this.#set(CURSOR_NAME, 2, index === undefined ? [] : [this.#rangeOf(index)]);
  }

  /** The token under the pointer. */
  markHovered(index: number | undefined): void {
    this.#set(HOVER_NAME, 1, index === undefined ? [] : [this.#rangeOf(index)]);
  }

  remove(): void {
    for (const name of [...this.#mine.keys()]) this.#set(name, 0, []);
    this.#removeStyles();
  }

  /** Static: a live range would be looked at with each character that is written. */
  #rangeOf(index: number): AbstractRange {
    const token = this.loom.tokens[index];
    const range = this.loom.rangeOf(token?.start ?? 0, token?.end ?? 0);
    const { startContainer, startOffset, endContainer, endOffset } = range;
    return new StaticRange({ startContainer, startOffset, endContainer, endOffset });
  }

  #set(name: string, priority: number, ranges: AbstractRange[]): void {
    const shared = CSS.highlights.get(name) ?? new Highlight();
    shared.priority = priority;
    for (const range of this.#mine.get(name) ?? []) shared.delete(range);
    for (const range of ranges) shared.add(range);
    this.#mine.set(name, ranges);
    if (shared.size > 0) CSS.highlights.set(name, shared);
    else CSS.highlights.delete(name);
  }

  /** Numbers of the first token near the window, and of the first one beyond. */
  #inSight(): [first: number, end: number] {
    const { tokens } = this.loom;
    const bottomOf = (index: number) => {
      const token = tokens[index];
      return token ? this.loom.rangeOf(token.start, token.end).getBoundingClientRect().bottom : 0;
    };
    /** The first token whose lower edge is at or below `y`; lines follow each other downwards. */
    const search = (y: number) => {
      let [low, high] = [0, tokens.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (bottomOf(middle) < y) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    if (tokens.length <= 2 * MARGIN_TOKENS) return [0, tokens.length];
    return [
      Math.max(0, search(0) - MARGIN_TOKENS),
      Math.min(tokens.length, search(window.innerHeight) + MARGIN_TOKENS),
    ];
  }
}
