import type { ReactiveController } from "lit";

/** Waits until an element is first seen, or something in it gets the focus; then, and only once, calls `begin`. */
export class FirstSight implements ReactiveController {
  #observer: IntersectionObserver | undefined;
  #isOver = false;

  constructor(
    private readonly host: HTMLElement,
    private readonly begin: () => void,
  ) {}

  get isOver(): boolean {
    return this.#isOver;
  }

  hostConnected(): void {
    if (this.#isOver) return;
    this.#observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) this.#end();
    });
    this.#observer.observe(this.host);
    this.host.addEventListener("focusin", this.#end);
  }

  hostDisconnected(): void {
    this.#observer?.disconnect();
    this.host.removeEventListener("focusin", this.#end);
  }

  readonly #end = (): void => {
    this.hostDisconnected();
    this.#isOver = true;
    this.begin();
  };
}
