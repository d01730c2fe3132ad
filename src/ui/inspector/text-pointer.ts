import type { WordLoom } from "../word-loom/word-loom";

/** Which token of an element's text the pointer is on, at most once a frame; and which one is clicked or tapped. */
export class TextPointer {
  #frame: number | undefined;

  constructor(
    readonly loom: WordLoom,
    readonly on: { hover(index: number | undefined): void; choose(index: number | undefined): void },
  ) {
    loom.addEventListener("pointermove", this.#onMove);
    loom.addEventListener("pointerleave", this.#onLeave);
    loom.addEventListener("click", this.#onClick);
  }

  remove(): void {
    this.#cancel();
    this.loom.removeEventListener("pointermove", this.#onMove);
    this.loom.removeEventListener("pointerleave", this.#onLeave);
    this.loom.removeEventListener("click", this.#onClick);
  }

  #onMove = ({ clientX, clientY, pointerType }: PointerEvent): void => {
    if (pointerType === "touch") return; // a finger that moves scrolls
    this.#cancel();
    this.#frame = requestAnimationFrame(() => this.on.hover(this.loom.tokenAt(clientX, clientY)));
  };

  #onLeave = (): void => {
    this.#cancel();
    this.on.hover(undefined);
  };

  #onClick = (event: MouseEvent): void => {
    // Who selects text, or presses a button, means no token.
    const selection = getSelection();
    if (selection && !selection.isCollapsed) return;
    if (event.composedPath().some((target) => target instanceof HTMLButtonElement)) return;
    this.on.choose(this.loom.tokenAt(event.clientX, event.clientY));
  };

  #cancel(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
  }
}
