/** When to ask a server again: a few times, later each time, never against its wish. */
import type { WordloomError } from "../errors";

/** A failure that may pass. What is told when the tries are used up is `error`. */
export class Transient extends Error {
  /** @param retryAfterMs what the server asked to wait; undefined where it did not say */
  constructor(
    readonly error: WordloomError,
    readonly retryAfterMs?: number,
  ) {
    super(error.message);
  }
}

export interface RetryPolicy {
  /** Tries again before the first success with a server: an address may simply be wrong. */
  firstContact: number;
  /** Tries again in a row without progress, once it has. */
  inARow: number;
  /** Before the first repetition; doubles with each. */
  delayMs: number;
  maxDelayMs: number;
  /** A longer Retry-After is not waited for. */
  maxRetryAfterMs: number;
}

/** Six repetitions are spread over about 15 seconds, which a phone needs to change its network. */
export const RETRY_POLICY: RetryPolicy = {
  firstContact: 2,
  inARow: 6,
  delayMs: 300,
  maxDelayMs: 10_000,
  maxRetryAfterMs: 60_000,
};

/** Less than this between two failures is no progress: else a server that sends a byte at a time is asked for ever. */
const PROGRESS_BYTES = 16 * 1024;

/** Counts the failures of one request, or of the parts of one download. */
export class Retries {
  #inARow = 0;
  #sinceFailure = 0;
  #answered = false;

  constructor(
    private readonly policy: RetryPolicy,
    private readonly random: () => number = Math.random,
  ) {}

  /** The server has given something, if not yet all. */
  answered(): void {
    this.#answered = true;
  }

  received(bytes: number): void {
    this.#sinceFailure += bytes;
    if (this.#sinceFailure >= PROGRESS_BYTES) this.#inARow = 0;
  }

  /**
   * Waits until it is time for the next try.
   *
   * @throws what failed, if it is not Transient or the tries are used up; `signal.reason` if it aborts meanwhile
   */
  async next(failure: unknown, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (!(failure instanceof Transient)) throw failure;
    const { policy } = this;
    this.#sinceFailure = 0;
    this.#inARow++;
    const tries = this.#answered ? policy.inARow : policy.firstContact;
    const asked = failure.retryAfterMs ?? 0;
    if (this.#inARow > tries || asked > policy.maxRetryAfterMs) throw failure.error;
    const backOff = Math.min(policy.maxDelayMs, policy.delayMs * 2 ** (this.#inARow - 1));
    // Spread, so that all pages that were cut off together do not come back together.
    await sleep(Math.max(asked, backOff * (0.5 + this.random() / 2)), signal);
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
