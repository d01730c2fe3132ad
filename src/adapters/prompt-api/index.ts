/**
 * `wordloom/prompt-api`: the web's Prompt API, `LanguageModel`, over a model of the page's own choice.
 *
 * Source of the behaviour: the explainer and the draft report of the Web Machine Learning Community Group,
 * github.com/webmachinelearning/prompt-api.
 */
import type { LoadProgress } from "../../engine/load-model";
import type { AdaptedGenerator } from "../generator";
import {
  checkOptions,
  paramsOf,
  samplingOf,
  toolDefinitions,
  whyUnavailable,
  type LanguageModelCoreOptions,
  type LanguageModelCreateOptions,
  type LanguageModelParams,
} from "./create-options";
import { domFailure, notSupported, quotaExceeded, unlessAborted } from "./failures";
import { readPrompt } from "./prompt-messages";
import { Session, type SessionSettings } from "./session";
import { LanguageModelToolCall, LanguageModelToolError, LanguageModelToolSuccess } from "./tool-values";

export type { AdaptedGenerator } from "../generator";
export type {
  LanguageModelCoreOptions,
  LanguageModelCreateOptions,
  LanguageModelExpected,
  LanguageModelParams,
  LanguageModelPromptOptions,
  LanguageModelSamplingMode,
  LanguageModelTool,
} from "./create-options";
export type { QuotaExceeded } from "./failures";
export type { LanguageModelMessage, LanguageModelMessageContent, LanguageModelPrompt } from "./prompt-messages";
export type { LanguageModelAnswer, LanguageModelPiece } from "./session";
export { LanguageModelToolCall, LanguageModelToolError, LanguageModelToolSuccess } from "./tool-values";

export type Availability = "unavailable" | "downloadable" | "downloading" | "available";

/** Where the model comes from. */
export interface LanguageModelSource {
  /** Called once, by the first `create`; `(options) => TextGenerator.load("hf:org/name", options)`, say. */
  load: (options: { onProgress: (progress: LoadProgress) => void; signal: AbortSignal }) => Promise<AdaptedGenerator>;
  /** Before it is loaded; default "downloadable". */
  availability?: () => Availability | Promise<Availability>;
  /** Tags of the languages it is made for; others are then "unavailable". Default: any, since models do not tell. */
  languages?: readonly string[];
}

/** A session of `LanguageModel`: see the explainer. */
export interface LanguageModelSession extends Omit<Session, "copy" | "destroyFor"> {
  clone(options?: { signal?: AbortSignal }): Promise<LanguageModelSession>;
}

export interface LanguageModelStatic {
  create(options?: LanguageModelCreateOptions): Promise<LanguageModelSession>;
  availability(options?: LanguageModelCoreOptions): Promise<Availability>;
  params(): Promise<LanguageModelParams | null>;
}

/** @param source a generator that is loaded already, or where one comes from */
export function createLanguageModel(source: AdaptedGenerator | LanguageModelSource): LanguageModelStatic {
  const model = new SharedModel("generate" in source ? undefined : source, "generate" in source ? source : undefined);

  class LanguageModel extends Session {
    static async create(options: LanguageModelCreateOptions = {}): Promise<LanguageModelSession> {
      const { signal = new AbortController().signal, monitor, initialPrompts } = options;
      signal.throwIfAborted();
      try {
        checkOptions(options);
        const expected = new Set(["text", ...(options.expectedInputs ?? []).map(({ type }) => type)]);
        const initial = initialPrompts?.length ? readPrompt(initialPrompts, expected, true) : undefined;
        if (initial?.hasPrefix) throw new DOMException("initialPrompts cannot end with a prefix", "SyntaxError");
        const reason = whyUnavailable(options, model.languages);
        if (reason !== undefined) throw notSupported(reason);
        if (monitor !== undefined && typeof monitor !== "function") throw new TypeError("monitor is no function");
        const generator = await model.load(monitor, signal);
        const { tools = [] } = options;
        const kept = initial?.messages ?? [];
        const chat = tools.length === 0 ? {} : { tools: toolDefinitions(tools) };
        const ids = kept.length === 0 ? [] : await unlessAborted(generator.tokenize(kept, chat), signal);
        const quota = generator.info.contextLength ?? Infinity;
        if (ids.length >= quota) throw quotaExceeded(ids.length, quota);
        const settings: SessionSettings = { generator, sampling: samplingOf(options, generator), tools, expected };
        const session = new LanguageModel(settings, { kept, turns: [], usage: ids.length });
        signal.addEventListener("abort", () => session.destroyFor(signal.reason), { once: true });
        return session;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw domFailure(error, "OperationError");
      }
    }

    static async availability(options: LanguageModelCoreOptions = {}): Promise<Availability> {
      checkOptions(options);
      return whyUnavailable(options, model.languages) === undefined ? model.availability() : "unavailable";
    }

    static async params(): Promise<LanguageModelParams | null> {
      return (await model.availability()) === "unavailable" ? null : paramsOf(model.generator);
    }

    clone({ signal }: { signal?: AbortSignal } = {}): Promise<LanguageModelSession> {
      return this.copy(LanguageModel, signal);
    }
  }
  return LanguageModel;
}

/**
 * Puts `LanguageModel` and the classes of its tools where pages look for them.
 *
 * @param options.replace also where the browser has one of its own; default false
 * @param options.scope default: the global object
 * @returns whether it is there now; false: the browser's own was left alone
 */
export function installLanguageModel(
  source: AdaptedGenerator | LanguageModelSource,
  { replace = false, scope = globalThis }: { replace?: boolean; scope?: object } = {},
): boolean {
  if ("LanguageModel" in scope && !replace) return false;
  const values = { LanguageModelToolCall, LanguageModelToolSuccess, LanguageModelToolError };
  for (const [name, value] of Object.entries({ LanguageModel: createLanguageModel(source), ...values })) {
    Object.defineProperty(scope, name, { value, writable: true, configurable: true, enumerable: false });
  }
  return true;
}

/** As a ProgressEvent, whose own `loaded` is a whole number in some browsers. */
class DownloadProgressEvent extends Event {
  readonly lengthComputable = true;
  readonly total = 1;

  constructor(readonly loaded: number) {
    super("downloadprogress");
  }
}

/** One model for all sessions; each that waits for it hears how far it is. */
class SharedModel {
  generator: AdaptedGenerator | undefined;
  #loading: { done: Promise<AdaptedGenerator>; stop: (reason: unknown) => void } | undefined;
  #loaded = 0;
  readonly #waiting = new Set<(loaded: number) => void>();

  constructor(
    private readonly source: LanguageModelSource | undefined,
    generator: AdaptedGenerator | undefined,
  ) {
    this.generator = generator;
  }

  get languages(): readonly string[] | undefined {
    return this.source?.languages;
  }

  async availability(): Promise<Availability> {
    if (this.generator) return "available";
    if (this.#loading) return "downloading";
    return (await this.source?.availability?.()) ?? "downloadable";
  }

  /** When all who wait for it have gone, the download stops. */
  async load(monitor: ((monitor: EventTarget) => void) | undefined, signal: AbortSignal): Promise<AdaptedGenerator> {
    const target = new EventTarget();
    monitor?.(target);
    let told = -1;
    const tell = (loaded: number) => {
      if (loaded <= told || signal.aborted) return;
      told = loaded;
      target.dispatchEvent(new DownloadProgressEvent(loaded));
    };
    tell(0);
    tell(this.#loaded);
    this.#waiting.add(tell);
    try {
      const generator = this.generator ?? (await unlessAborted(this.#start(), signal));
      tell(1);
      return generator;
    } finally {
      this.#waiting.delete(tell);
      if (this.#waiting.size === 0) this.#loading?.stop(signal.reason);
    }
  }

  #start(): Promise<AdaptedGenerator> {
    const { source } = this;
    if (!source) throw new TypeError("there is neither a generator nor a way to load one");
    if (this.#loading) return this.#loading.done;
    const abort = new AbortController();
    const end = () => {
      if (this.#loading === loading) this.#loading = undefined;
      this.#loaded = 0;
    };
    const loading = {
      done: this.#load(source, abort.signal).finally(end),
      stop: (reason: unknown) => {
        end(); // who comes now begins anew
        abort.abort(reason);
      },
    };
    loading.done.catch(() => {}); // told to those who wait
    this.#loading = loading;
    return loading.done;
  }

  async #load(source: LanguageModelSource, signal: AbortSignal): Promise<AdaptedGenerator> {
    if ((await source.availability?.()) === "unavailable") throw notSupported("the model is not available here");
    const onProgress = ({ phase, loadedBytes, totalBytes = 0 }: LoadProgress) => {
      if (phase !== "weights" || totalBytes === 0 || signal.aborted) return;
      this.#loaded = Math.min(loadedBytes / totalBytes, 0.999); // 1 is told when it can be used
      for (const tell of this.#waiting) tell(this.#loaded);
    };
    return (this.generator = await source.load({ onProgress, signal }));
  }
}
