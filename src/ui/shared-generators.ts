/** Loaded models by what they were loaded with, so that several elements on a page share one. */
import type { Generator, LoadProgress } from "./generator";
import { Turns } from "./turns";

type OnProgress = (progress: LoadProgress) => void;

/** Loads a generator; rejects with `signal.reason` when `signal` aborts. */
export type LoadGenerator = (options: { signal: AbortSignal; onProgress: OnProgress }) => Promise<Generator>;

/** One element's hold on a generator. The last `release` disposes of it. Releasing twice is releasing once. */
export interface Lease {
  readonly key: string;
  readonly generator: Generator;
  /** Of all who write with this generator. */
  readonly turns: Turns;
  release(): void;
  /** As `release`; and whoever asks for this key next gets a newly loaded one (after a lost device, say). */
  discard(): void;
}

interface Entry {
  readonly turns: Turns;
  readonly loading: Promise<Generator>;
  readonly abort: AbortController;
  /** One for each element that waits for the generator or has it. */
  readonly holders: Set<{ onProgress: OnProgress }>;
  lastProgress: LoadProgress | undefined;
}

/**
 * Counts who uses which generator. A generator is loaded on the first `acquire` of its key, its loading is aborted when
 * nobody waits for it any more, and it is disposed of with its last lease. What failed to load is forgotten.
 */
export class SharedGenerators {
  readonly #entries = new Map<string, Entry>();

  /**
   * @param key names the source and all load options; the same key means the same generator
   * @throws what `load` throws; `signal.reason` if `signal` aborts first
   */
  async acquire(
    key: string,
    load: LoadGenerator,
    options: { signal: AbortSignal; onProgress: OnProgress },
  ): Promise<Lease> {
    const { signal, onProgress } = options;
    signal.throwIfAborted();
    const entry = this.#entries.get(key) ?? this.#begin(key, load);
    const holder = { onProgress };
    entry.holders.add(holder);
    if (entry.lastProgress) onProgress(entry.lastProgress);
    try {
      const generator = await abortable(entry.loading, signal);
      return {
        key,
        generator,
        turns: entry.turns,
        release: () => this.#leave(key, entry, holder),
        discard: () => {
          this.#forget(key, entry);
          this.#leave(key, entry, holder);
        },
      };
    } catch (error) {
      this.#leave(key, entry, holder);
      throw error;
    }
  }

  #begin(key: string, load: LoadGenerator): Entry {
    const abort = new AbortController();
    const progress: Pick<Entry, "holders" | "lastProgress"> = { holders: new Set(), lastProgress: undefined };
    const loading = load({
      signal: abort.signal,
      onProgress: (report) => {
        progress.lastProgress = report;
        for (const holder of progress.holders) holder.onProgress(report);
      },
    });
    const entry: Entry = Object.assign(progress, { abort, loading, turns: new Turns() });
    this.#entries.set(key, entry);
    entry.loading.catch(() => this.#forget(key, entry)); // each holder hears of the failure through its own acquire
    return entry;
  }

  #leave(key: string, entry: Entry, holder: { onProgress: OnProgress }): void {
    if (!entry.holders.delete(holder) || entry.holders.size > 0) return;
    this.#forget(key, entry);
    entry.abort.abort(new DOMException("no element waits for this model any more", "AbortError"));
    // Loading that ended before the abort reached it still leaves a generator to dispose of; one that failed leaves none.
    entry.loading.then(
      (generator) => generator.dispose(),
      () => undefined,
    );
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}

/** `promise`, or the signal's reason, whichever is first. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** The one for this page: every `<word-loom>` takes its model here. */
export const sharedGenerators = new SharedGenerators();
