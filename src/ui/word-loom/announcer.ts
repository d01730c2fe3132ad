import { takeSentences } from "./sentences";

/**
 * Hands a stream of text to a polite live region, by whole sentences and not more often than every `intervalMs`, so that
 * a screen reader is neither flooded nor given half words. The region holds only what was said last: the text itself is
 * in the page to be read at leisure.
 */
export class Announcer {
  readonly #region: HTMLElement;
  readonly #intervalMs: number;
  #pending = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(region: HTMLElement, intervalMs = 2000) {
    this.#region = region;
    this.#intervalMs = intervalMs;
  }

  push(text: string): void {
    this.#pending += text;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const { whole, rest } = takeSentences(this.#pending);
      this.#pending = rest;
      this.#say(whole);
    }, this.#intervalMs);
  }

  /** Says what is left, then `closing`. */
  finish(closing: string): void {
    this.#say(`${this.#pending.trim()} ${closing}`);
    this.clear();
  }

  /** Forgets what has not been said yet. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = "";
  }

  #say(text: string): void {
    if (text.trim() !== "") this.#region.textContent = text.trim();
  }
}
