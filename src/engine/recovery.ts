/**
 * What becomes of a lost device: the tokens are the truth, so another device, the same weights and a prefill of what was
 * said give everything back. Here is how often that is tried, and what is told of it; the scheduler goes on with it.
 */
import type { Backend } from "../backends/backend";
import { WordloomError } from "../errors";

/** What is told of a lost device while it is being replaced. */
export interface Recovery {
  /**
   * reloading: a device is asked for, and the weights are read again · recovered: what was going on goes on ·
   * failed: it is given up, and everything is freed.
   */
  state: "reloading" | "recovered" | "failed";
  /** From 1; of `mostAttempts` within five minutes. */
  attempt: number;
  mostAttempts: number;
  /** Why the device was lost, as far as the browser says. */
  reason: string;
  /** Bytes of the weights; 0 until they come. */
  loadedBytes: number;
  totalBytes: number | undefined;
}

/** Gives a backend in place of one that was lost; its cache is empty. @throws WordloomError where there is none to be had */
export type Recover = (loss: WordloomError, signal: AbortSignal) => Promise<Backend>;

/** Attempts within the window: a device that is lost again and again is at fault, or the model is too much for it. */
export const MOST_ATTEMPTS = 3;
export const WINDOW_MS = 5 * 60_000;
/** Before each attempt: a GPU process that has just ended is not back at once. */
const WAITS_MS = [50, 500, 2000] as const;

/** Counts attempts over all losses of one model. */
export class RecoveryBudget {
  #takenMs: number[] = [];

  /** @returns the number of this attempt within the window, from 1; undefined: there have been enough */
  take(nowMs: number): number | undefined {
    this.#takenMs = this.#takenMs.filter((at) => nowMs - at < WINDOW_MS);
    if (this.#takenMs.length >= MOST_ATTEMPTS) return undefined;
    return this.#takenMs.push(nowMs);
  }
}

/** Drivers end work that takes too long, after 2 s on Windows and later elsewhere: a chunk this old may be why. */
const LONG_MS = 1000;
const SMALLEST_CHUNK = 16;

/**
 * Tokens of a prompt to be run at once after a loss: half as many where the time that one chunk took may be the reason.
 *
 * @param waited how long the chunk under way had been waited for; undefined: there was none
 */
export function chunkAfterLoss(chunk: number, { message }: WordloomError, waited: number | undefined): number {
  const isTimeout = waited !== undefined && (waited >= LONG_MS || /hung|time.?out|watchdog/i.test(message));
  return isTimeout ? Math.min(chunk, Math.max(SMALLEST_CHUNK, Math.ceil(chunk / 2))) : chunk;
}

export const isLoss = (error: unknown): error is WordloomError =>
  error instanceof WordloomError && error.code === "device-lost";

/** What may be otherwise at the next attempt: the GPU process is on its way, memory is being freed. */
const PASSING: ReadonlySet<string> = new Set(["device-lost", "webgpu-unavailable", "out-of-memory", "kernel-failed"]);

/**
 * Loads again until it succeeds or the budget is used up.
 *
 * @param reload once; its own progress goes to `onBytes`
 * @throws WordloomError device-lost, with what failed last; what no second attempt would change; `signal.reason` on abort
 */
export async function recover<T>(
  loss: WordloomError,
  reload: (onBytes: (loadedBytes: number, totalBytes: number | undefined) => void) => Promise<T>,
  { budget, tell, signal }: { budget: RecoveryBudget; tell: (recovery: Recovery) => void; signal: AbortSignal },
): Promise<T> {
  const told = { mostAttempts: MOST_ATTEMPTS, reason: loss.message, loadedBytes: 0, totalBytes: undefined };
  let last = loss;
  let attempt = 0;
  for (;;) {
    const number = budget.take(performance.now());
    if (number === undefined) {
      tell({ ...told, state: "failed", attempt: MOST_ATTEMPTS });
      const message = `${last.message}; ${MOST_ATTEMPTS} times in ${WINDOW_MS / 60_000} minutes it was asked for again`;
      throw new WordloomError("device-lost", message, { cause: last });
    }
    attempt = number;
    const say = (state: Recovery["state"], loadedBytes = 0, totalBytes?: number) =>
      tell({ ...told, state, attempt, loadedBytes, totalBytes });
    say("reloading");
    await pause(WAITS_MS[Math.min(attempt, WAITS_MS.length) - 1] ?? 0, signal);
    try {
      const value = await reload((loadedBytes, totalBytes) => say("reloading", loadedBytes, totalBytes));
      say("recovered");
      return value;
    } catch (error) {
      if (signal.aborted) throw error;
      last = WordloomError.from(error);
      if (PASSING.has(last.code)) continue;
      say("failed");
      const message = `${loss.message}; loading the model again failed (${last.code}): ${last.message}`;
      throw new WordloomError("device-lost", message, { cause: last, remedy: last.remedy });
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error); // whatever the caller aborted with, as fetch does
      return;
    }
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
