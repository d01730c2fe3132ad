import type { GeneratedToken } from "../generator";
import { TokenStore, TokenView, type SavedToken, type WrittenToken } from "./written-token";

/** The text on the page and the tokens it came in. They need not cover it: what a person put there is in none. */
export class Passage {
  readonly #store = new TokenStore();
  readonly #tokens: TokenView[] = [];
  #text = "";
  /** Where the next token begins. */
  #next = 0;
  /** The number of the first token that has a gap before it. */
  #firstAfterGap = Infinity;

  get text(): string {
    return this.#text;
  }

  /** Grows with the text. */
  get tokens(): readonly WrittenToken[] {
    return this.#tokens;
  }

  /** A chunk of a run. @param elapsedMs since the last chunk; its first token took that long */
  add(text: string, tokens: readonly GeneratedToken[], elapsedMs: number): void {
    this.#text += text;
    tokens.forEach((token, number) => {
      // A chunk's tokens lie in the text up to here; a server may tell pieces that do not add up to its text.
      const start = Math.min(this.#next, this.#text.length);
      const end = Math.min(start + token.text.length, this.#text.length);
      this.#push({ ...token, start, end, elapsedMs: number === 0 ? elapsedMs : 0 });
    });
  }

  /** Text that is in no token. Whatever is written next stands after it. */
  addText(text: string): void {
    this.#text += text;
    this.#next = this.#text.length;
  }

  /** A token of text that is there. @throws RangeError where it does not stand after the tokens before it, in the text */
  restore(token: SavedToken): void {
    const free = this.#tokens.at(-1)?.end ?? 0;
    if (!(token.start >= free && token.end >= token.start && token.end <= this.#text.length)) {
      const place = `token ${this.#tokens.length} from ${token.start} to ${token.end}`;
      throw new RangeError(`${place} is not between ${free} and ${this.#text.length}`);
    }
    this.#push(token);
    this.#next = this.#text.length;
  }

  /** A new passage: the first `count` tokens, and the text up to where the next one begins. */
  keep(count: number): Passage {
    const kept = new Passage();
    kept.#text = this.#text.slice(0, this.#tokens[count]?.start ?? this.#text.length);
    for (const token of this.#tokens.slice(0, count)) kept.#push(token);
    kept.#next = kept.#text.length;
    return kept;
  }

  /** The ids of the first `count` tokens; undefined where those are not all of the text before the next one. */
  idsOf(count: number): number[] | undefined {
    const start = this.#tokens[count]?.start ?? this.#text.length;
    const ids = this.#tokens.slice(0, count).map(({ id }) => id);
    const isAll = (this.#tokens[count - 1]?.end ?? 0) === start && count <= this.#firstAfterGap;
    return isAll && ids.every((id) => id !== null) ? ids : undefined;
  }

  #push(token: SavedToken): void {
    if (token.start > (this.#tokens.at(-1)?.end ?? 0))
      this.#firstAfterGap = Math.min(this.#firstAfterGap, this.#tokens.length);
    this.#store.push(token);
    this.#tokens.push(new TokenView(this.#store, this.#tokens.length, this));
    this.#next = token.end;
  }
}
