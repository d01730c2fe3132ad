/** What loading a model would take, from its config and its weights' headers alone. */
import type { BackendFacts } from "../backends/backend";
import type { MemorySuggestion } from "../backends/gpu/memory-plan";
import { countParameters } from "../models/decoder";
import type { ModelFiles } from "../storage/model-files";
import { gpuOptions } from "./backends";
import { openCheckpoint, planCheckpoint } from "./checkpoint-plan";
import type { LoadContext, LoadRequest } from "./load-model";
import { openRequest } from "./open-request";
import { withFileTypes } from "./model-parts";
import { ownModule } from "./own-module";
import { readModelParts } from "./read-model";

export type ModelPlanRequest = Omit<LoadRequest, "backend" | "allowReference">;
export type ModelPlanContext = Pick<LoadContext, "signal" | "fetch" | "device">;

export interface ModelPlan extends Pick<BackendFacts, "dtype" | "kvDtype" | "contextLength" | "adapter" | "tier"> {
  modelType: string;
  parameterCount: number;
  /** On the GPU; after loading with the same options `info.bytes` says the same. */
  bytes: BackendFacts["bytes"] & { total: number };
  /** Of the KV cache, for each position of the context. */
  kvBytesPerToken: number;
  /** Of the weights, headers left out. */
  downloadBytes: number;
  verdict: "fits" | "exceeds";
  /** What was chosen and why; what does not fit, and what is not known. */
  reasons: readonly string[];
  /** Other ways to load this model that fit here; empty where it fits. */
  suggestions: readonly MemorySuggestion[];
}

const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);

/** @throws WordloomError as `loadEngine` does for source, config, headers and device; what merely is too large is told */
export async function planModel(
  request: ModelPlanRequest,
  { signal, fetch, device }: ModelPlanContext,
): Promise<ModelPlan> {
  const { files, settle } = await openRequest(request, { signal, fetch }, true);
  try {
    return await planFrom(files, request, { signal, device });
  } finally {
    await settle("stopped");
  }
}

async function planFrom(
  files: ModelFiles,
  request: ModelPlanRequest,
  { signal, device }: ModelPlanContext,
): Promise<ModelPlan> {
  const parts = await readModelParts(files, signal);
  const { spec, fileFormats, quantization } = parts;
  const checkpoint = parts.checkpoint ?? (await openCheckpoint(files, spec, signal, quantization));
  const planned = await planCheckpoint(files, spec, signal, checkpoint);
  const downloadBytes = planned.reduce((sum, { start, end }) => sum + end - start, 0);
  const { planGpuMemory } = await ownModule(import("../backends/gpu/memory-plan"));
  const { facts, kvBytesPerToken, refusal, notes, suggestions } = await planGpuMemory(
    gpuOptions(spec, { ...request, fileFormats, device, tier: request.internal.tier }),
  );
  signal.throwIfAborted();
  const { bytes } = facts;
  return {
    modelType: spec.modelType,
    parameterCount: countParameters(spec),
    dtype: facts.dtype,
    kvDtype: facts.kvDtype,
    contextLength: facts.contextLength,
    adapter: facts.adapter,
    tier: facts.tier,
    bytes: { ...bytes, total: bytes.weights + bytes.kvCache + bytes.activations },
    kvBytesPerToken,
    downloadBytes,
    verdict: refusal === undefined ? "fits" : "exceeds",
    reasons: [
      ...(refusal === undefined ? [] : [refusal]),
      withFileTypes(facts, parts),
      ...notes,
      ...(await storageNotes(downloadBytes)),
    ],
    suggestions,
  };
}

/** Whether the browser would let the model be kept on this device. */
async function storageNotes(downloadBytes: number): Promise<string[]> {
  const storage = (globalThis.navigator as Navigator | undefined)?.storage;
  const estimate = await storage?.estimate?.().catch(() => undefined); // refused in some private windows
  if (estimate?.quota === undefined) return [];
  const free = estimate.quota - (estimate.usage ?? 0);
  return free >= downloadBytes
    ? []
    : [`the browser grants ${mib(free)} MiB of storage; the model's ${mib(downloadBytes)} MiB cannot be kept`];
}
