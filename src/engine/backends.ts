/** Which backend runs a model, and the way to each: both are loaded only when they are used. */
import type { Backend, HeldDtype, KvDtype, WeightDtype } from "../backends/backend";
import { WordloomError } from "../errors";
import { packRows, unpackRows } from "../formats/quantization";
import { emit, keptPerPosition } from "../models/decoder";
import type { DecoderSpec, TensorName } from "../models/decoder-spec";
import { ownModule } from "../own-module";

export type BackendName = "auto" | "webgpu" | "reference";

export interface BackendRequest {
  backend: BackendName;
  allowReference: boolean;
  dtype: WeightDtype | "auto";
  /** How the file holds matrices, where that is a format that can be held. */
  fileFormats?: ReadonlyMap<TensorName, HeldDtype> | undefined;
  kvDtype: KvDtype | "auto";
  /** Undefined: the model's, cut to what fits. */
  contextLength: number | undefined;
  memoryBudgetBytes: number | undefined;
  powerPreference: GPUPowerPreference | undefined;
  device: GPUDevice | undefined;
  /** Testing: forces a kernel tier. */
  tier: string | undefined;
}

/** How each backend is made; tests put their own here. */
export interface BackendMakers {
  webgpu(spec: DecoderSpec, request: BackendRequest): Promise<Backend>;
  reference(spec: DecoderSpec, request: BackendRequest): Promise<Backend>;
}

export const BACKEND_MAKERS: BackendMakers = {
  async webgpu(spec, request) {
    const { createGpuBackend } = await ownModule(import("../backends/gpu/gpu-backend"));
    return createGpuBackend(gpuOptions(spec, request));
  },
  async reference(spec, { dtype: wanted, kvDtype, contextLength, memoryBudgetBytes }) {
    const { createReferenceBackend } = await ownModule(import("../backends/reference/reference-backend"));
    const dtype = wanted === "auto" ? "f32" : wanted;
    return createReferenceBackend({
      spec,
      program: emit(spec),
      dtype,
      kvDtype: kvDtype !== "auto" ? kvDtype : dtype === "f32" ? "f32" : "f16",
      contextLength: contextLength ?? referenceContextLength(spec, memoryBudgetBytes),
      // What the GPU would read back from the same packed bits, so that both compute with equal weights.
      round: (held, values, rows, columns) => unpackRows(held, packRows(held, values, rows, columns), rows, columns),
      unpack: unpackRows,
    });
  },
};

/** What is asked of the GPU for a model, to load it or to plan that. */
export function gpuOptions(spec: DecoderSpec, request: Omit<BackendRequest, "backend" | "allowReference">) {
  const { dtype, fileFormats, kvDtype, contextLength, memoryBudgetBytes, powerPreference, device, tier } = request;
  return {
    spec,
    program: emit(spec),
    dtype,
    fileFormats,
    kvDtype,
    contextLength,
    memoryBudgetBytes,
    powerPreference,
    device,
    tier,
  };
}

/** On the CPU the cache is float32 in the JavaScript heap, which no page should fill. */
const REFERENCE_KV_BYTES = 256 * 2 ** 20;

/** The model's context length, cut so that its KV cache takes at most a quarter of the budget. */
export function referenceContextLength(spec: DecoderSpec, memoryBudgetBytes: number | undefined): number {
  const bytesPerPosition = keptPerPosition(spec)
    .flat()
    .reduce((sum, numbers) => sum + numbers * 4, 0);
  const kvBytes = memoryBudgetBytes === undefined ? REFERENCE_KV_BYTES : memoryBudgetBytes / 4;
  return Math.max(1, Math.min(spec.contextLength, Math.floor(kvBytes / bytesPerPosition)));
}

/**
 * "auto" is WebGPU, and the reference only where there is no WebGPU and the caller allows it.
 *
 * @returns the backend, and in words why this one
 * @throws WordloomError webgpu-unavailable, device-limit, and what else the backend refuses
 */
export async function chooseBackend(
  spec: DecoderSpec,
  request: BackendRequest,
  makers: BackendMakers,
): Promise<{ backend: Backend; reason: string }> {
  if (request.backend === "reference") {
    return { backend: await makers.reference(spec, request), reason: "asked for" };
  }
  try {
    const backend = await makers.webgpu(spec, request);
    return { backend, reason: request.backend === "webgpu" ? "asked for" : "this browser has WebGPU" };
  } catch (error) {
    const mayFallBack = request.backend === "auto" && request.allowReference && request.device === undefined;
    if (!mayFallBack || !(error instanceof WordloomError) || error.code !== "webgpu-unavailable") throw error;
    return {
      backend: await makers.reference(spec, request),
      reason: `no WebGPU (${error.message}), and allowReference is set`,
    };
  }
}
