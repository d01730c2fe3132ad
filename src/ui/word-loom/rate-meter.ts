/** How fast something grows, over the last few seconds: bytes of a download, tokens of an answer. */
export class RateMeter {
  readonly #windowMs: number;
  #samples: { atMs: number; total: number }[] = [];

  constructor(windowMs = 3000) {
    this.#windowMs = windowMs;
  }

  /** `total`: everything counted so far, not the difference. */
  record(total: number, atMs: number): void {
    const last = this.#samples.at(-1);
    // Several reports within one frame say no more than the last of them; so the list stays short.
    if (last && this.#samples.length > 1 && atMs - last.atMs < 16) last.total = total;
    else this.#samples.push({ atMs, total });
    while (this.#samples.length > 2 && atMs - (this.#samples[1]?.atMs ?? atMs) >= this.#windowMs) this.#samples.shift();
  }

  /** Undefined until a tenth of a second has been seen. */
  get perSecond(): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (!first || !last || last.atMs - first.atMs < 100) return undefined;
    return ((last.total - first.total) / (last.atMs - first.atMs)) * 1000;
  }
}
