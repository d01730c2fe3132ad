/**
 * Finds the first place in a growing text where one of several strings is complete.
 *
 * One Knuth-Morris-Pratt automaton for each string (Knuth, Morris, Pratt 1977), so a false start never resets the
 * search and each character costs the same however long the text is.
 */
import { WordloomError } from "../errors";

export class StopStrings {
  private readonly automata: Automaton[];

  /** @throws `option-invalid` for an empty string, which would stop before the first character, and for half a character */
  constructor(strings: readonly string[]) {
    if (strings.includes("")) throw new WordloomError("option-invalid", "stop holds an empty string");
    if (strings.some((string) => /\p{Surrogate}/u.test(string))) {
      throw new WordloomError(
        "option-invalid",
        "stop holds half of a character (a lone surrogate), which never occurs",
      );
    }
    this.automata = [...new Set(strings)].map((string) => new Automaton(string));
  }

  /** Whether there is nothing to find. */
  get isEmpty(): boolean {
    return this.automata.length === 0;
  }

  /** UTF-16 units at the end of the text so far that may still become a stop string. */
  get undecided(): number {
    return this.automata.reduce((longest, automaton) => Math.max(longest, automaton.matched), 0);
  }

  /**
   * Reads `text` up to the first complete stop string.
   *
   * @returns where in `text` that ends, and its length (the longest if several end there); undefined if none does
   */
  push(text: string): { end: number; length: number } | undefined {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      let length = 0;
      for (const automaton of this.automata) {
        if (automaton.step(unit)) length = Math.max(length, automaton.length);
      }
      if (length > 0) return { end: i + 1, length };
    }
    return undefined;
  }
}

class Automaton {
  /** How much of the string the text now ends with. */
  matched = 0;
  /** For each count of matched units: the next shorter count to fall back to. */
  private readonly fallbacks: number[] = [0, 0];

  constructor(private readonly string: string) {
    for (let i = 1, shorter = 0; i < string.length; i++) {
      while (shorter > 0 && string[i] !== string[shorter]) shorter = this.fallbacks[shorter] ?? 0;
      if (string[i] === string[shorter]) shorter += 1;
      this.fallbacks.push(shorter);
    }
  }

  get length(): number {
    return this.string.length;
  }

  /** Whether the string is complete with this unit. */
  step(unit: number): boolean {
    while (this.matched > 0 && this.string.charCodeAt(this.matched) !== unit) {
      this.matched = this.fallbacks[this.matched] ?? 0;
    }
    if (this.string.charCodeAt(this.matched) === unit) this.matched += 1;
    return this.matched === this.string.length;
  }
}
