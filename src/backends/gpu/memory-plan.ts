/** What a model would take of this GPU, before a weight is fetched: counted exactly, then tried. */
import { WordloomError } from "../../errors";
import { mib } from "../../gpu/buffers";
import { countingDevice } from "../../gpu/counting-device";
import { openDevice, requireTier, type GpuDevice } from "../../gpu/device";
import type { Tier } from "../../gpu/tier";
import { chooseTier } from "../../kernels/choose-tier";
import type { BackendFacts, WeightDtype } from "../backend";
import { measureGpuBackend, type GpuBackendOptions } from "./gpu-backend";

export interface GpuMemoryPlan {
  /** As asked for, whether it fits or not. */
  facts: BackendFacts;
  kvBytesPerToken: number;
  /** Why it does not fit; undefined: it fits. */
  refusal: string | undefined;
  /** What there is to say about how this was found out. */
  notes: readonly string[];
  suggestions: readonly MemorySuggestion[];
}

/** A way to load the same model that fits here. */
export interface MemorySuggestion {
  /** To ask for; "auto": as asked for, each matrix as it is in the file. */
  dtype: WeightDtype | "auto";
  contextLength: number;
  totalBytes: number;
}

/** @throws webgpu-unavailable; option-invalid for a context beyond the model's; config-unsupported */
export async function planGpuMemory(options: GpuBackendOptions): Promise<GpuMemoryPlan> {
  const gpu = await openDevice(options);
  try {
    const tier = options.tier === undefined ? await chooseTier(gpu) : requireTier(gpu, options.tier);
    const unlimited = { ...options, memoryBudgetBytes: undefined };
    const asked = countingDevice(gpu, { maxBufferSize: Infinity, maxBindingBytes: Infinity });
    const { facts: counted, refusal: limit } = await fits(gpu, tier, options);
    const facts = counted ?? (await measureGpuBackend(asked, tier, unlimited));
    const notes: string[] = [];
    let refusal = limit;
    if (refusal === undefined) {
      refusal = await tryAllocation(gpu, totalBytes(facts));
      notes.push(
        "WebGPU does not tell how much memory is free" +
          (refusal === undefined ? `; a trial allocation of ${mib(totalBytes(facts))} MiB succeeded` : ""),
      );
    }
    return {
      facts,
      kvBytesPerToken: facts.bytes.kvCache / facts.contextLength,
      refusal,
      notes,
      suggestions: refusal === undefined ? [] : await suggest(gpu, tier, options, facts),
    };
  } finally {
    gpu.close();
  }
}

export const totalBytes = ({ bytes }: BackendFacts) => bytes.weights + bytes.kvCache + bytes.activations;

type Fit = { facts: BackendFacts; refusal?: undefined } | { facts?: undefined; refusal: string };

/** Counted within the GPU's limits and the budget. */
async function fits(gpu: GpuDevice, tier: Tier, options: GpuBackendOptions): Promise<Fit> {
  const { maxBindingBytes, device } = gpu;
  const counting = countingDevice(gpu, { maxBufferSize: device.limits.maxBufferSize, maxBindingBytes });
  try {
    return { facts: await measureGpuBackend(counting, tier, options) };
  } catch (error) {
    const isLimit = error instanceof WordloomError && (error.code === "device-limit" || error.code === "out-of-memory");
    if (!isLimit) throw error;
    return { refusal: error.message };
  }
}

/** Takes as many bytes for a moment; says why that failed, if it did. */
async function tryAllocation(gpu: GpuDevice, bytes: number): Promise<string | undefined> {
  const { device } = gpu;
  const buffers: GPUBuffer[] = [];
  device.pushErrorScope("out-of-memory");
  for (let left = bytes; left > 0; left -= device.limits.maxBufferSize) {
    const size = Math.ceil(Math.min(left, device.limits.maxBufferSize) / 4) * 4;
    buffers.push(device.createBuffer({ label: "trial", size, usage: GPUBufferUsage.STORAGE }));
  }
  const error = await device.popErrorScope();
  for (const buffer of buffers) buffer.destroy();
  return error === null ? undefined : `the GPU had no room for ${mib(bytes)} MiB`;
}

/** The same with fewer positions, then as q8, then as q4; only what fits. */
async function suggest(gpu: GpuDevice, tier: Tier, options: GpuBackendOptions, asked: BackendFacts) {
  const found: MemorySuggestion[] = [];
  const own = options.dtype === "auto" && options.fileFormats !== undefined ? "auto" : (asked.dtype as WeightDtype); // no K format without a file of it
  for (const dtype of [own, "q8", "q4"] as const) {
    if (found.some((each) => each.dtype === dtype)) continue;
    const { facts } = await fits(gpu, tier, { ...options, dtype, contextLength: undefined });
    if (facts === undefined || totalBytes(facts) >= totalBytes(asked)) continue;
    if ((await tryAllocation(gpu, totalBytes(facts))) !== undefined) continue;
    found.push({ dtype, contextLength: facts.contextLength, totalBytes: totalBytes(facts) });
  }
  return found;
}
