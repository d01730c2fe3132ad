/** One who waits, or (the first) whose turn it is. */
interface Waiting {
  /** Told how many come before; 0 when it is its turn. */
  onAhead: (count: number) => void;
}

/** One at a time, in the order of asking: whoever asks again comes after all who wait. */
export class Turns {
  #queue: Waiting[] = [];

  /**
   * @param onAhead how many come before, now and whenever that changes; not called where nobody does
   * @returns to be called when the turn is over; calling it twice is calling it once
   * @throws `signal.reason` if it aborts before
   */
  take(signal: AbortSignal, onAhead: (count: number) => void): Promise<() => void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const leave = () => {
        signal.removeEventListener("abort", onAbort);
        const place = this.#queue.indexOf(waiting);
        if (place < 0) return;
        this.#queue.splice(place, 1);
        this.#queue.slice(place).forEach((other, index) => other.onAhead(place + index));
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const begin = () => {
        signal.removeEventListener("abort", onAbort); // its owner ends what it does, and then the turn
        resolve(leave);
      };
      const waiting: Waiting = {
        onAhead: (count) => {
          onAhead(count);
          if (count === 0) begin();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      if (this.#queue.push(waiting) === 1) begin();
      else onAhead(this.#queue.length - 1);
    });
  }
}
