/** A golden checkpoint on the GPU backend, and what is compared with its values. Runs in Node and in browsers. */
import { expect } from "vitest";
import type { Backend, KvDtype, WeightDtype } from "../backends/backend";
import { createGpuBackend } from "../backends/gpu/gpu-backend";
import { createReferenceBackend } from "../backends/reference/reference-backend";
import { packRows, unpackRows } from "../formats/quantization";
import { emit } from "../models/decoder";
import { readModelConfig } from "../models/registry";
import { REDUCTIONS } from "../gpu/tier";
import { fillFromCheckpoint, type CheckpointTensor } from "./checkpoint";
import { expectClose } from "./compare";
import type { GoldenCase } from "./golden-case";
import { samplingSettings } from "./sampling-settings";

/** A model folder as tests hold it. */
export interface Checkpoint {
  config: Record<string, unknown>;
  tensors: ReadonlyMap<string, CheckpointTensor>;
}

export interface Held {
  dtype: WeightDtype;
  kvDtype: KvDtype;
}
export const F32: Held = { dtype: "f32", kvDtype: "f32" };

/** Log-probabilities from float32 sums against float64 ones; measured: 1e-5. */
export const GOLDEN_F32 = { absolute: 1e-3 };
/**
 * Weights, keys and values keep 11 bits. The golden models' random weights make that felt more than trained ones do;
 * measured: 0.017 (llama, the last case), in every tier.
 */
export const GOLDEN_F16 = { absolute: 0.025 };

/** All tiers; those that need half floats only where the device has them, and the run says which are left out. */
export function tiersOf(device: GPUDevice): string[] {
  const usable = REDUCTIONS.filter((name) => name !== "subgroups" || device.features.has("subgroups"));
  const missing = REDUCTIONS.filter((name) => !usable.includes(name)) as string[];
  const tiers = usable.flatMap((name) => [name, `${name}+f16`]);
  if (device.features.has("shader-f16")) {
    if (missing.length > 0) console.warn(`\n*** NOT TESTED on this device: the tiers ${missing.join(", ")}\n`);
    return tiers;
  }
  missing.push(...tiers.filter((name) => name.endsWith("+f16")));
  console.warn(`\n*** NOT TESTED on this device: the tiers ${missing.join(", ")}\n`);
  return [...usable];
}

/** @param maxBindingBytes pretends that one binding allows no more */
export async function gpuBackendOf(
  checkpoint: Checkpoint,
  { dtype, kvDtype }: Held,
  {
    device,
    tier,
    maxBindingBytes,
    contextLength,
  }: { device: GPUDevice; tier: string; maxBindingBytes?: number; contextLength?: number },
): Promise<Backend> {
  const { spec } = readModelConfig(checkpoint.config, undefined);
  const backend = await createGpuBackend({
    spec,
    program: emit(spec),
    dtype,
    kvDtype,
    contextLength: contextLength ?? spec.contextLength,
    memoryBudgetBytes: undefined,
    device,
    tier,
    maxBindingBytes,
  });
  fillFromCheckpoint(backend.weights, spec, checkpoint.tensors);
  await backend.ready();
  return backend;
}

/** The reference with the same dequantized weights. */
export async function referenceBackendOf(checkpoint: Checkpoint, { dtype, kvDtype }: Held): Promise<Backend> {
  const { spec } = readModelConfig(checkpoint.config, undefined);
  const backend = createReferenceBackend({
    spec,
    program: emit(spec),
    dtype,
    kvDtype,
    contextLength: spec.contextLength,
    round: (held, values, rows, columns) => unpackRows(held, packRows(held, values, rows, columns), rows, columns),
  });
  fillFromCheckpoint(backend.weights, spec, checkpoint.tensors);
  await backend.ready();
  return backend;
}

export interface GreedyRun {
  ids: number[];
  /** [V] natural logs of the probabilities of the token after the prompt. */
  logprobs: Float64Array;
}

/** The prompt in chunks as large as the backend takes, then `count` greedy tokens. */
export async function greedyRun(backend: Backend, prompt: readonly number[], count: number): Promise<GreedyRun> {
  const promptTokens = Uint32Array.from(prompt);
  await backend.begin({ sampling: samplingSettings(), promptTokens, endTokenIds: [], maxNewTokens: count });
  let start = 0;
  for (; promptTokens.length - start > backend.maxPrefillTokens; start += backend.maxPrefillTokens) {
    await backend.prefill(promptTokens.subarray(start, start + backend.maxPrefillTokens), start, false);
  }
  const ids = [(await backend.prefill(promptTokens.subarray(start), start, true)).id];
  const logprobs = logSoftmax(await backend.readLogits());
  while (ids.length < count) ids.push((await backend.step()).id);
  return { ids, logprobs };
}

/** In float64. */
export function logSoftmax(logits: Float32Array | Float64Array): Float64Array {
  let largest = -Infinity;
  for (const logit of logits) largest = Math.max(largest, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - largest);
  const normalizer = largest + Math.log(sum);
  return Float64Array.from(logits, (logit) => logit - normalizer);
}

/** Between the likeliest and the one after it. */
export function margin(logprobs: ArrayLike<number>): number {
  const [first = NaN, second = NaN] = Array.from(logprobs).sort((a, b) => b - a);
  return first - second;
}

/**
 * The golden log-probabilities after each prompt, and the golden ids.
 *
 * @param tolerance in nats; where a path's margin is less than twice that, its ids prove nothing
 */
export async function expectGolden(
  backend: Backend,
  cases: readonly GoldenCase[],
  tolerance: { absolute: number } = GOLDEN_F32,
): Promise<void> {
  let compared = 0;
  for (const { ids, greedy_ids, greedy_min_margin, logprobs_f64 } of cases) {
    const run = await greedyRun(backend, ids, greedy_ids.length);
    expectClose(run.logprobs, logprobs_f64, tolerance);
    if (greedy_min_margin < 2 * tolerance.absolute) continue;
    expect(run.ids).toEqual(greedy_ids);
    compared++;
  }
  expect(compared, "paths whose margin allows a comparison").toBeGreaterThan(0);
}
