/** Options of `TextGenerator.load`, checked once: each is honoured or refused by its name. */
import type { BackendName } from "../engine/backends";
import type { InternalOptions, LoadProgress, LoadRequest, ModelSource } from "../engine/load-model";
import { WordloomError } from "../errors";
import type { ConnectOptions } from "../worker/client";
import { flag, given, invalid, refuseUnknown, whole } from "./option-checks";

/** Left out, undefined and null all mean "not set". */
export interface LoadOptions {
  /** How weights are held; "auto" (default) takes what suits the device. What was chosen, and why, is in `info`. */
  dtype?: "auto" | "f32" | "f16" | "q8" | "q4";
  /** How the KV cache is held; "auto" (default) is f32 with f32 weights, else f16. "q8" is refused so far. */
  kvDtype?: "auto" | "f32" | "f16" | "q8";
  /** Positions the KV cache can hold, at most the model's own; default: the model's, cut to what fits. */
  contextLength?: number;
  /** "auto" (default) never takes the slow reference unless `allowReference` is true. */
  backend?: BackendName;
  /** Default false: without WebGPU, loading fails with webgpu-unavailable. */
  allowReference?: boolean;
  /** A device to use, on the caller's thread; `dispose` never destroys it. Default: one is requested. */
  device?: GPUDevice;
  powerPreference?: GPUPowerPreference;
  /** Bytes that weights, KV cache and activations may take together; default: what the device allows. */
  memoryBudgetBytes?: number;
  /** Default true: a dedicated worker; where none can start, the caller's thread, and `info` says so. */
  worker?: boolean;
  /** In place of the global one; a function cannot be posted, so the engine then runs on the caller's thread. */
  fetch?: typeof fetch;
  /** Sent with each request for a model file. */
  headers?: HeadersInit;
  onProgress?: (progress: LoadProgress) => void;
  /** Stops the loading: it rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** For tests and measurements, not part of the contract: how the loop runs, and which kernels. */
  internal?: InternalOptions;
}

const KNOWN: Record<keyof LoadOptions, true> = {
  dtype: true,
  kvDtype: true,
  contextLength: true,
  backend: true,
  allowReference: true,
  device: true,
  powerPreference: true,
  memoryBudgetBytes: true,
  worker: true,
  fetch: true,
  headers: true,
  onProgress: true,
  signal: true,
  internal: true,
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
  const { device, signal, onProgress } = options;
  if (given(signal) && !(signal instanceof AbortSignal)) throw invalid("signal", signal, "an AbortSignal");
  if (given(onProgress) && typeof onProgress !== "function") throw invalid("onProgress", onProgress, "a function");
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
      headers: resolveHeaders(options.headers),
      internal: resolveInternal(options.internal),
    },
    connect: {
      wantsWorker: flag(options, "worker", true),
      device: device ?? undefined,
      fetch: options.fetch ?? undefined,
      onProgress: onProgress ?? (() => {}),
      signal: signal ?? new AbortController().signal,
    },
  };
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

function oneOf<K extends string, V extends string>(
  options: { readonly [name in K]?: unknown },
  name: K,
  values: readonly V[],
  byDefault: V,
): V {
  const value: unknown = options[name];
  if (!given(value)) return byDefault;
  const found = values.find((one) => one === value);
  if (found === undefined) throw invalid(name, value, `one of ${values.map((one) => `"${one}"`).join(", ")}`);
  return found;
}
