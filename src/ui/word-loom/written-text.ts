import { Announcer } from "./announcer";
import { takeSentences } from "./sentences";
import { TextFlow } from "./text-flow";

const reducedMotion = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

/**
 * Between two changes of the page, each of which is laid out and painted: text at ten times a second still flows, and
 * the page's thread stays free however fast the model writes. A slower model's tokens appear at once.
 */
const SHOW_INTERVAL_MS = 100;
/** A change costs more in a long text: the interval is a millisecond for each thousand of its characters, if that is more. */
const CHARACTERS_PER_MS = 1000;

/** What has been written, as it is seen and heard: in the page a few times a second, in the live region by sentences. */
export class WrittenText {
  readonly #flow: TextFlow;
  readonly #announcer: Announcer;
  #pending = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shownMs = -Infinity;

  constructor(output: HTMLElement, liveRegion: HTMLElement) {
    this.#flow = new TextFlow(output);
    this.#announcer = new Announcer(liveRegion);
  }

  push(text: string): void {
    this.#pending += text;
    this.#announcer.push(text);
    const intervalMs = Math.max(SHOW_INTERVAL_MS, this.#flow.length / CHARACTERS_PER_MS);
    const waitMs = Math.max(0, this.#shownMs + intervalMs - performance.now());
    this.#timer ??= setTimeout(() => this.#show(), waitMs);
  }

  /** Shows and says the rest. @param closing said after it, e.g. "End of the text." */
  finish(closing: string): void {
    this.#flush();
    this.#announcer.finish(closing);
  }

  /** Another text in place of what is there, which is not read out: its first `kept` UTF-16 units are the same. */
  replace(text: string, kept = 0): void {
    this.#flush();
    this.#announcer.clear();
    this.#flow.truncate(kept);
    this.#flow.append(text.slice(kept));
  }

  /** The part of the text from `start` to `end` that is shown. */
  rangeOf(start: number, end: number): Range {
    return this.#flow.rangeOf(start, end);
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
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flow.append(this.#pending);
    this.#pending = "";
  }
}
