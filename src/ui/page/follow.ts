import type { ReactiveController, ReactiveControllerHost } from "lit";

/** With the growing element's end within so many pixels of the window's, the reader follows the text as it grows. */
const FOLLOW_DISTANCE = 48;

/**
 * The text grows: who sees its end keeps seeing it, who has scrolled away is left alone.
 *
 * @param growing the element whose end is followed
 * @param isGrowing whether it grows by what is being written; other changes of its size scroll nothing
 */
export class Following implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  #following = true;
  #observed: Element | undefined;
  readonly #observer = new ResizeObserver(() => {
    const hidden = (this.#observed?.getBoundingClientRect().bottom ?? 0) - window.innerHeight;
    if (this.#following && hidden > 0 && this.isGrowing()) window.scrollBy({ top: hidden });
  });

  constructor(
    host: ReactiveControllerHost,
    private readonly growing: () => Element | null,
    private readonly isGrowing: () => boolean,
  ) {
    this.#host = host;
    this.#host.addController(this);
  }

  hostConnected(): void {
    window.addEventListener("scroll", this.#onScroll, { passive: true });
  }

  hostDisconnected(): void {
    window.removeEventListener("scroll", this.#onScroll);
    this.#observer.disconnect();
    this.#observed = undefined;
  }

  hostUpdated(): void {
    const growing = this.growing() ?? undefined;
    if (growing === this.#observed) return;
    this.#observer.disconnect();
    this.#observed = growing;
    if (growing) this.#observer.observe(growing);
  }

  /** The reader has asked for more: its end is what they want to see. */
  follow(): void {
    this.#following = true;
  }

  #onScroll = (): void => {
    const bottom = this.#observed?.getBoundingClientRect().bottom ?? 0;
    this.#following = bottom <= window.innerHeight + FOLLOW_DISTANCE;
  };
}
