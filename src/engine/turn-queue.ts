/** One at a time, in the order of asking: the model has one KV cache. */
export class TurnQueue {
  #busy = false;
  #waiting: { start: () => void; refuse: (error: Error) => void }[] = [];
  #closed: Error | undefined;

  /**
   * Runs `work` when everything asked for before has ended.
   *
   * @param signal takes a waiting one out of the queue; once `work` runs, stopping is its own affair
   * @param whenAborted the result of one that never had its turn
   * @throws the error of `close`
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal, whenAborted: () => T): Promise<T> {
    if (this.#closed) throw this.#closed;
    if (signal.aborted) return whenAborted();
    if (this.#busy && !(await this.#waitForTurn(signal))) return whenAborted();
    this.#busy = true;
    try {
      return await work();
    } finally {
      this.#busy = false;
      this.#waiting.shift()?.start();
    }
  }

  /** Refuses all that wait and all that come later; the one that runs ends by itself. */
  close(error: Error): void {
    this.#closed ??= error;
    for (const one of this.#waiting.splice(0)) one.refuse(this.#closed);
  }

  /** Resolves with true at its turn, with false if it was taken out. */
  #waitForTurn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((one) => one !== entry);
        resolve(false);
      };
      const entry = {
        start: () => {
          signal.removeEventListener("abort", leave);
          this.#busy = true; // at once: nobody may slip in before the promise is looked at
          resolve(true);
        },
        refuse: (error: Error) => {
          signal.removeEventListener("abort", leave);
          reject(error);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(entry);
    });
  }
}
