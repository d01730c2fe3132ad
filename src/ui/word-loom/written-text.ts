import { Announcer } from "./announcer";
import { takeSentences } from "./sentences";
import { TextFlow } from "./text-flow";

const reducedMotion = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

/** What the model has written: `text` at once, the page once a frame, the live region by sentences. */
export class WrittenText {
  readonly #flow: TextFlow;
  readonly #announcer: Announcer;
  #text = "";
  #pending = "";
  #frame: number | undefined;

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
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      if (reducedMotion?.matches) {
        const { whole, rest } = takeSentences(this.#pending);
        this.#flow.append(whole);
        this.#pending = rest;
      } else {
        this.#flush();
      }
    });
  }

  /** Shows and says the rest. @param closing said after it, e.g. "End of the text." */
  finish(closing: string): void {
    this.#flush();
    this.#announcer.finish(closing);
  }

  clear(): void {
    this.#cancelFrame();
    this.#text = "";
    this.#pending = "";
    this.#flow.clear();
    this.#announcer.clear();
  }

  #flush(): void {
    this.#cancelFrame();
    this.#flow.append(this.#pending);
    this.#pending = "";
  }

  #cancelFrame(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
  }
}
