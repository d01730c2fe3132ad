import type { ConnectOptions, FallbackOptions } from "../../api/connect-options";
import type { LoadOptions } from "../../api/options";
import { WordloomError } from "../../errors";
import type { Generator, LoadProgress } from "../generator";
import { sharedGenerators, type Lease, type LoadGenerator } from "../shared-generators";
import { BUNDLED_MODEL, connectOptions, fallbackOptions, loadOptions } from "./options";
import type { LoadSettings, ModelSource } from "./options";
import { RateMeter } from "./rate-meter";

export type LoadWithFallback = LoadOptions & { fallback?: FallbackOptions };

/** From where a generator may come. */
export interface OpeningWays {
  load: (source: ModelSource, options: LoadWithFallback) => Promise<Generator>;
  connect: (endpoint: string, options: ConnectOptions) => Promise<Generator>;
}

/** Which of them the settings mean, and with what options. */
export function openingWay(settings: LoadSettings, { load, connect }: OpeningWays): LoadGenerator {
  const { endpoint } = settings;
  if (endpoint) return async ({ signal }) => connect(endpoint, { ...connectOptions(settings), signal });
  const source = settings.model ?? BUNDLED_MODEL;
  const fallback = fallbackOptions(settings);
  const options = { ...loadOptions(settings), ...(fallback ? { fallback } : {}) };
  return (shared) => load(source, { ...options, ...shared });
}

/** How an opening ended. `stopped`: by `stop`, and whoever called that knows what comes next. */
type Outcome = { kind: "opened"; lease: Lease } | { kind: "failed"; error: WordloomError } | { kind: "stopped" };

/** One attempt to get a model: what it is for, how far it has come, and how it ended. */
export class ModelOpening {
  readonly outcome: Promise<Outcome>;
  readonly #abort = new AbortController();
  readonly #rate = new RateMeter();
  #progress: LoadProgress | undefined;

  /**
   * @param key names the source and all load options, as for `SharedGenerators.acquire`
   * @param onProgress not called once `stop` has been
   */
  constructor(
    readonly key: string,
    load: LoadGenerator,
    onProgress: (progress: LoadProgress) => void,
  ) {
    this.outcome = this.#open(load, onProgress);
  }

  /** The last report; undefined before the first. */
  get progress(): LoadProgress | undefined {
    return this.#progress;
  }

  /** Of the weights, over the last seconds; undefined while that is not known. */
  get bytesPerSecond(): number | undefined {
    return this.#rate.perSecond;
  }

  stop(): void {
    this.#abort.abort();
  }

  async #open(load: LoadGenerator, onProgress: (progress: LoadProgress) => void): Promise<Outcome> {
    const { signal } = this.#abort;
    const report = (progress: LoadProgress) => {
      if (signal.aborted) return;
      this.#progress = progress;
      if (progress.phase === "weights") this.#rate.record(progress.loadedBytes, performance.now());
      onProgress(progress);
    };
    try {
      const lease = await sharedGenerators.acquire(this.key, load, { signal, onProgress: report });
      if (!signal.aborted) return { kind: "opened", lease };
      lease.release();
      return { kind: "stopped" };
    } catch (error) {
      return signal.aborted ? { kind: "stopped" } : { kind: "failed", error: WordloomError.from(error) };
    }
  }
}
