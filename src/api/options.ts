/** Options of `TextGenerator.load`, checked once: each is honoured or refused by its name. */
import type { BackendName } from "../engine/backends";
import type { InternalOptions, LoadProgress, LoadRequest, ModelSource } from "../engine/load-model";
import type { Recovery } from "../engine/recovery";
import { WordloomError } from "../errors";
import type { ConnectOptions } from "../worker/client";
import { flag, given, invalid, oneOf, refuseUnknown, whole } from "./option-checks";

/** Options of `TextGenerator.load`. Left out, undefined and null all mean "not set"; an unknown name is refused. */
export interface LoadOptions {
  /**
   * How weight matrices are held: as floats (f32, f16), or as 8-bit (q8) or 4-bit (q4) integers in groups of 32 with one
   * f16 scale. Norms, biases and learned positions stay f32.
   *
   * "auto" (default): on WebGPU q8, or q4 where q8 would take more than `memoryBudgetBytes` (2 GiB where that is not
   * set); f32 on the reference. What was chosen, and why, is in `info.dtype` and `info.reason`.
   */
  dtype?: "auto" | "f32" | "f16" | "q8" | "q4";
  /** How keys and values are held; "auto" (default) is f32 with f32 weights, else f16. "q8" is refused so far. */
  kvDtype?: "auto" | "f32" | "f16" | "q8";
  /**
   * Positions that the KV cache holds: tokens of prompt and answer together, from 1 to the model's own number. What does
   * not fit is refused (device-limit, out-of-memory), not cut.
   *
   * Default: the model's, cut so that the cache takes at most what the weights leave of `memoryBudgetBytes` (512 MiB
   * where that is not set), and one layer's keys fit one buffer binding. On the reference: 256 MiB, or a quarter of
   * `memoryBudgetBytes`.
   */
  contextLength?: number;
  /** "auto" (default) is WebGPU; it takes the slow reference only without WebGPU and with `allowReference`. */
  backend?: BackendName;
  /** Default false: without WebGPU, loading fails with webgpu-unavailable. */
  allowReference?: boolean;
  /** A device to use, on the caller's thread; `dispose` never destroys it. Default: one is requested. */
  device?: GPUDevice;
  /** Which of several GPUs to ask the browser for, which may ignore it. Without meaning where `device` is given. */
  powerPreference?: GPUPowerPreference;
  /**
   * Bytes, 1 or more, that the model may take on the GPU: weights, KV cache and activations; more is refused with
   * out-of-memory. Default: not limited, since WebGPU does not tell how much there is.
   */
  memoryBudgetBytes?: number;
  /** Default true: a dedicated worker; where none can start, the caller's thread, and `info.workerReason` says why. */
  worker?: boolean;
  /**
   * A smaller model of the same vocabulary, which guesses for `speculative: { method: "draft-model" }`; another vocabulary is
   * refused with option-invalid. It is loaded first, with the same options (`contextLength` at most its own; `sha256` is
   * the model's alone), and may take a quarter of `memoryBudgetBytes`; what it leaves of it is the model's.
   * `info.draftModel` tells its sizes.
   */
  draftModel?: ModelSource;
  /** In place of the global one; a function cannot be posted, so the engine then runs on the caller's thread. */
  fetch?: typeof fetch;
  /** Sent with each request for a model file, e.g. `{ Authorization: "Bearer …" }`. */
  headers?: HeadersInit;
  /**
   * "auto" (default): files that come from another server than the page's own (the hub, other addresses) are kept in this
   * browser's storage, and read from there the next time without asking the server; those of the page's own server, and
   * files of this device, are not copied. "on": those of the page's own server, too. "refresh": as "on", but the server
   * is asked whether what is kept is still its state. "off": nothing is kept, and nothing kept is used.
   *
   * With no room the model is loaded all the same; `info.storeReason` says so.
   */
  store?: "auto" | "on" | "refresh" | "off";
  /**
   * SHA-256 of files of the model, by their names, in hexadecimal: another file is refused with file-invalid. The hub
   * states those of its large files, which are checked in any case.
   */
  sha256?: Readonly<Record<string, string>>;
  /** For an "hf:" source: address of a server that answers like the hub. Default: "https://huggingface.co". */
  endpoint?: string;
  /** For an "hf:" source: a token that may read the model; sent to the endpoint alone, and never stored. */
  token?: string;
  /** Called at the start of each phase, at the start of each weight file and after each piece of it (4 MiB as f32). */
  onProgress?: (progress: LoadProgress) => void;
  /**
   * Called when the GPU device is lost (driver reset, sleep, a crash) and while it is replaced: the model is loaded again
   * from where it came from, what was said is read again, and the answer goes on. At most 3 times in 5 minutes; then, and
   * with a `device` of your own, what is asked fails with device-lost.
   */
  onRecovery?: (recovery: Recovery) => void;
  /** Stops the loading: it rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** For tests and measurements, not part of the contract: how the loop runs, and which kernels. */
  internal?: InternalOptions;
}

/** Options of `TextGenerator.plan`: those of `load` that change what is taken, and how its files are reached. */
export type PlanOptions = Pick<
  LoadOptions,
  | "dtype"
  | "kvDtype"
  | "contextLength"
  | "device"
  | "powerPreference"
  | "memoryBudgetBytes"
  | "draftModel"
  | "fetch"
  | "headers"
  | "store"
  | "sha256"
  | "endpoint"
  | "token"
  | "signal"
  | "internal"
>;

const KNOWN_PLAN: Record<keyof PlanOptions, true> = {
  dtype: true,
  kvDtype: true,
  contextLength: true,
  device: true,
  powerPreference: true,
  memoryBudgetBytes: true,
  draftModel: true,
  fetch: true,
  headers: true,
  store: true,
  sha256: true,
  endpoint: true,
  token: true,
  signal: true,
  internal: true,
};

const KNOWN: Record<keyof LoadOptions, true> = {
  ...KNOWN_PLAN,
  backend: true,
  allowReference: true,
  worker: true,
  onProgress: true,
  onRecovery: true,
};
const POWER_PREFERENCES: readonly GPUPowerPreference[] = ["low-power", "high-performance"];
const KNOWN_INTERNAL: Record<keyof InternalOptions, true> = { runAhead: true, prefillChunk: true, tier: true };

/** What the backends' rings have room for. */
const MAX_RUN_AHEAD = 4;

/**
 * @param baseUrl what a relative source is relative to: the page's base; undefined in Node, where paths stay paths
 * @throws WordloomError option-invalid with the option's name; source-unsupported
 */
export function resolveLoadOptions(
  source: ModelSource,
  options: LoadOptions,
  baseUrl: string | undefined,
): { request: LoadRequest; connect: ConnectOptions } {
  refuseUnknown(options, KNOWN, "load");
  const { device, signal, onProgress, onRecovery } = options;
  if (given(signal) && !(signal instanceof AbortSignal)) throw invalid("signal", signal, "an AbortSignal");
  if (given(onProgress) && typeof onProgress !== "function") throw invalid("onProgress", onProgress, "a function");
  if (given(onRecovery) && typeof onRecovery !== "function") throw invalid("onRecovery", onRecovery, "a function");
  if (given(options.fetch) && typeof options.fetch !== "function") throw invalid("fetch", options.fetch, "a function");
  if (given(device) && typeof device !== "object") throw invalid("device", device, "a GPUDevice");
  const backend = oneOf(options, "backend", ["auto", "webgpu", "reference"], "auto");
  if (given(device) && backend === "reference")
    throw invalid("backend", backend, "webgpu or auto where a device is passed");
  return {
    request: {
      source: resolveSource(source, baseUrl),
      dtype: oneOf(options, "dtype", ["auto", "f32", "f16", "q8", "q4"], "auto"),
      kvDtype: oneOf(options, "kvDtype", ["auto", "f32", "f16"], "auto"),
      contextLength: optionalWhole(options, "contextLength"),
      backend,
      allowReference: flag(options, "allowReference", false),
      powerPreference: given(options.powerPreference)
        ? oneOf(options, "powerPreference", POWER_PREFERENCES, "high-performance")
        : undefined,
      memoryBudgetBytes: optionalWhole(options, "memoryBudgetBytes"),
      draftModel: given(options.draftModel) ? resolveSource(options.draftModel, baseUrl) : undefined,
      headers: resolveHeaders(options.headers),
      ...resolveStorage(source, options),
      internal: resolveInternal(options.internal),
    },
    connect: {
      wantsWorker: flag(options, "worker", true),
      device: device ?? undefined,
      fetch: options.fetch ?? undefined,
      onProgress: onProgress ?? (() => {}),
      onRecovery: onRecovery ?? undefined,
      signal: signal ?? new AbortController().signal,
    },
  };
}

/** As `resolveLoadOptions`, for fewer options. */
export function resolvePlanOptions(source: ModelSource, options: PlanOptions, baseUrl: string | undefined) {
  refuseUnknown(options, KNOWN_PLAN, "plan");
  return resolveLoadOptions(source, options, baseUrl);
}

/** Where relative sources start: the page's base URL (a worker's own address in a worker); undefined in Node. */
export function currentBaseUrl(): string | undefined {
  if (typeof document !== "undefined") return document.baseURI;
  return typeof location === "undefined" ? undefined : location.href;
}

/** Relative addresses become absolute here, since in a worker they would be relative to the worker's script. */
function resolveSource(source: ModelSource, baseUrl: string | undefined): ModelSource {
  if (typeof source !== "string") {
    if (isFileList(source) || isDirectory(source)) return source;
    throw new WordloomError(
      "source-unsupported",
      "the source is neither a string nor File objects nor a directory handle",
    );
  }
  if (source.trim() === "") throw new WordloomError("source-unsupported", "the source is an empty string");
  if (source.startsWith("hf:") || baseUrl === undefined) return source;
  try {
    return new URL(source, baseUrl).href;
  } catch (cause) {
    throw new WordloomError("source-unsupported", `"${source}" is no address`, { cause });
  }
}

function isFileList(source: ModelSource): boolean {
  return Array.isArray(source) && source.length > 0 && source.every((file) => file instanceof Blob);
}

/** By its kind: the class is not there in every environment that can make one. */
function isDirectory(source: unknown): boolean {
  return typeof source === "object" && source !== null && "kind" in source && source.kind === "directory";
}

function resolveStorage(source: ModelSource, options: Pick<LoadOptions, "store" | "sha256" | "endpoint" | "token">) {
  const hubOnly = (name: "endpoint" | "token") => {
    const value: unknown = options[name];
    if (!given(value)) return undefined;
    if (typeof value !== "string" || value === "") throw invalid(name, value, "a text");
    if (typeof source !== "string" || !source.trim().startsWith("hf:")) {
      throw new WordloomError("option-invalid", `${name} is for sources that begin with hf:; elsewhere pass headers`);
    }
    return value;
  };
  const endpoint = hubOnly("endpoint");
  if (endpoint !== undefined && !/^https?:\/\/./.test(endpoint)) throw invalid("endpoint", endpoint, "an http address");
  return {
    store: oneOf(options, "store", ["auto", "on", "refresh", "off"], "auto"),
    sha256: resolveHashes(options.sha256),
    endpoint,
    token: hubOnly("token"),
  };
}

function resolveHashes(hashes: LoadOptions["sha256"]): Record<string, string> {
  if (!given(hashes)) return {};
  if (typeof hashes !== "object") throw invalid("sha256", hashes, "hashes by file name");
  return Object.fromEntries(
    Object.entries(hashes).map(([name, hash]) => {
      if (typeof hash !== "string" || !/^[0-9a-f]{64}$/i.test(hash)) {
        throw invalid(`sha256 of ${name}`, hash, "64 hexadecimal digits");
      }
      return [name, hash.toLowerCase()];
    }),
  );
}

function resolveHeaders(headers: LoadOptions["headers"]): Record<string, string> {
  if (!given(headers)) return {};
  try {
    return Object.fromEntries(new Headers(headers));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WordloomError("option-invalid", `headers cannot be sent: ${reason}`, { cause });
  }
}

function resolveInternal(internal: LoadOptions["internal"]): InternalOptions {
  if (!given(internal)) return {};
  refuseUnknown(internal, KNOWN_INTERNAL, "internal");
  return {
    ...(given(internal.tier) ? { tier: internal.tier } : {}),
    ...(given(internal.runAhead) ? { runAhead: whole(internal, "runAhead", 0, { min: 0, max: MAX_RUN_AHEAD }) } : {}),
    ...(given(internal.prefillChunk)
      ? { prefillChunk: whole(internal, "prefillChunk", 1, { min: 1, max: Number.MAX_SAFE_INTEGER }) }
      : {}),
  };
}

function optionalWhole<K extends string>(options: { readonly [name in K]?: number }, name: K): number | undefined {
  return given(options[name]) ? whole(options, name, 1, { min: 1, max: Number.MAX_SAFE_INTEGER }) : undefined;
}
