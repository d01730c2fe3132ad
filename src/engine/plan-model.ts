/** What loading a model would take, from its config and its weights' headers alone. */
import type { BackendFacts } from "../backends/backend";
import type { MemorySuggestion } from "../backends/gpu/memory-plan";
import { countParameters } from "../models/decoder";
import { gpuOptions } from "./backends";
import { openCheckpoint, planCheckpoint } from "./checkpoint-plan";
import { budgetBeside, bytesOf, draftContext, draftModelInfo, draftRequest, type DraftModelInfo } from "./draft-model";
import type { LoadContext, LoadRequest } from "./load-model";
import { openRequest } from "./open-request";
import { withFileTypes } from "./model-parts";
import { ownModule } from "../own-module";
import { readModelParts } from "./read-model";

export type ModelPlanRequest = Omit<LoadRequest, "backend" | "allowReference">;
export type ModelPlanContext = Pick<LoadContext, "signal" | "fetch" | "device">;

export interface ModelPlan extends Pick<BackendFacts, "dtype" | "kvDtype" | "contextLength" | "adapter" | "tier"> {
  modelType: string;
  parameterCount: number;
  /** On the GPU; after loading with the same options `info.bytes` says the same. `total` is with the draft model. */
  bytes: BackendFacts["bytes"] & { total: number };
  /** Where one was asked for; `info.draftModel` says the same. */
  draftModel?: DraftModelInfo;
  /** Of the KV cache, for each position of the context. */
  kvBytesPerToken: number;
  /** Of the weights, the draft model's among them; headers left out. */
  downloadBytes: number;
  verdict: "fits" | "exceeds";
  /** What was chosen and why; what does not fit, and what is not known. */
  reasons: readonly string[];
  /** Other ways to load this model that fit here; empty where it fits. */
  suggestions: readonly MemorySuggestion[];
}

const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);

/** @throws WordloomError as `loadEngine` does for source, config, headers and device; what merely is too large is told */
export async function planModel(request: ModelPlanRequest, context: ModelPlanContext): Promise<ModelPlan> {
  const { draftModel, memoryBudgetBytes } = request;
  const draft = draftModel === undefined ? undefined : await planOne(draftRequest(request, draftModel), context, true);
  const own = await planOne(
    { ...request, memoryBudgetBytes: budgetBeside(memoryBudgetBytes, draft?.memory.facts) },
    context,
    false,
  );
  const { spec, memory, downloadBytes: ownBytes } = own;
  const { facts, kvBytesPerToken, suggestions, notes } = memory;
  const refusals = [memory.refusal, draft?.memory.refusal && `draft model: ${draft.memory.refusal}`];
  const downloadBytes = ownBytes + (draft?.downloadBytes ?? 0);
  const draftBytes = draft ? bytesOf(draft.memory.facts.bytes) : 0;
  return {
    modelType: spec.modelType,
    parameterCount: countParameters(spec),
    dtype: facts.dtype,
    kvDtype: facts.kvDtype,
    contextLength: facts.contextLength,
    adapter: facts.adapter,
    tier: facts.tier,
    bytes: { ...facts.bytes, total: bytesOf(facts.bytes) + draftBytes },
    ...(draft && { draftModel: draftModelInfo(draft.spec, draft.memory.facts) }),
    kvBytesPerToken,
    downloadBytes,
    verdict: refusals.every((refusal) => refusal === undefined) ? "fits" : "exceeds",
    reasons: [
      ...refusals.filter((refusal) => refusal !== undefined),
      own.reason,
      ...notes,
      ...(draft ? [`draft model: ${draft.reason}`] : []),
      ...(await storageNotes(downloadBytes)),
    ],
    suggestions,
  };
}

async function planOne(request: ModelPlanRequest, { signal, fetch, device }: ModelPlanContext, isDraft: boolean) {
  const { files, settle } = await openRequest(request, { signal, fetch }, true);
  try {
    const parts = await readModelParts(files, signal);
    const { spec, fileFormats, quantization } = parts;
    const checkpoint = parts.checkpoint ?? (await openCheckpoint(files, spec, signal, quantization));
    const planned = await planCheckpoint(files, spec, signal, checkpoint);
    const downloadBytes = planned.reduce((sum, { start, end }) => sum + end - start, 0);
    const contextLength = isDraft ? draftContext(request.contextLength, spec) : request.contextLength;
    const { planGpuMemory } = await ownModule(import("../backends/gpu/memory-plan"));
    const memory = await planGpuMemory(
      gpuOptions(spec, { ...request, contextLength, fileFormats, device, tier: request.internal.tier }),
    );
    signal.throwIfAborted();
    return { spec, memory, downloadBytes, reason: withFileTypes(memory.facts, parts) };
  } finally {
    await settle("stopped");
  }
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
