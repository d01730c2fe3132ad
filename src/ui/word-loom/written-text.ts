import { Announcer } from "./announcer";
import { takeSentences } from "./sentences";
import { TextFlow } from "./text-flow";

const reducedMotion = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

/**
 * Between two changes of the page, each of which is laid out and painted: text at ten times a second still flows, and
 * the page's thread stays free however fast the model writes. A slower model's tokens appear at once.
 */
const SHOW_INTERVAL_MS = 100;

/** What the model has written: `text` at once, the page a few times a second, the live region by sentences. */
export class WrittenText {
  readonly #flow: TextFlow;
  readonly #announcer: Announcer;
  #text = "";
  #pending = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shownMs = -Infinity;

  constructor(output: HTMLElement, liveRegion: HTMLElement) {
    this.#flow = new TextFlow(output);
    this.#announcer = new Announcer(liveRegion);
  }

  get text(): string {
    return this.#text;
  }

  push(text: string): void {
    this.#text += text;
    this.#pending += text;
    this.#announcer.push(text);
    const waitMs = Math.max(0, this.#shownMs + SHOW_INTERVAL_MS - performance.now());
    this.#timer ??= setTimeout(() => this.#show(), waitMs);
  }

  /** Shows and says the rest. @param closing said after it, e.g. "End of the text." */
  finish(closing: string): void {
    this.#flush();
    this.#announcer.finish(closing);
  }

  clear(): void {
    this.#cancelShow();
    this.#text = "";
    this.#pending = "";
    this.#flow.clear();
    this.#announcer.clear();
  }

  #show(): void {
    this.#timer = undefined;
    this.#shownMs = performance.now();
    if (!reducedMotion?.matches) {
      this.#flush();
      return;
    }
    const { whole, rest } = takeSentences(this.#pending);
    this.#flow.append(whole);
    this.#pending = rest;
  }

  #flush(): void {
    this.#cancelShow();
    this.#flow.append(this.#pending);
    this.#pending = "";
  }

  #cancelShow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
