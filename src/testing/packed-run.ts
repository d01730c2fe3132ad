/** A model in a folder's files on a backend, the way the engine loads it, without the engine. Runs in Node and in browsers. */
import { expect } from "vitest";
import type { Backend, KvDtype, WeightDtype } from "../backends/backend";
import { createGpuBackend } from "../backends/gpu/gpu-backend";
import { createReferenceBackend } from "../backends/reference/reference-backend";
import { logSoftmaxAt } from "../backends/reference/sampling";
import { openCheckpoint } from "../engine/checkpoint-plan";
import { loadWeights } from "../engine/load-weights";
import { readModelParts } from "../engine/read-model";
import { packRows, unpackRows } from "../formats/quantization";
import { emit } from "../models/decoder";
import { expectClose, type Tolerance } from "./compare";
import type { MemoryFiles } from "./memory-files";

const signal = new AbortController().signal;

/** @param gpu undefined: on the reference */
export async function runFolder(
  files: MemoryFiles,
  { dtype, kvDtype }: { dtype: WeightDtype; kvDtype: KvDtype },
  gpu?: { device: GPUDevice; tier: string },
): Promise<Backend> {
  const { spec, quantization } = await readModelParts(files, signal);
  const common = { spec, program: emit(spec), dtype, kvDtype, contextLength: spec.contextLength };
  const backend =
    gpu === undefined
      ? createReferenceBackend({
          ...common,
          round: (held, values, rows, columns) =>
            unpackRows(held, packRows(held, values, rows, columns), rows, columns),
          unpack: unpackRows,
        })
      : await createGpuBackend({ ...common, ...gpu, memoryBudgetBytes: undefined });
  const checkpoint = await openCheckpoint(files, spec, signal, quantization);
  await loadWeights({ files, spec, checkpoint, sink: backend.weights, signal });
  await backend.ready();
  return backend;
}

/** The distribution after each prompt is the one that another program computed. */
export async function expectLogprobs(
  backend: Backend,
  cases: readonly { ids: number[]; logprobs_f64: number[] }[],
  tolerance: Tolerance,
): Promise<void> {
  expect(cases.length).toBeGreaterThan(0);
  for (const { ids, logprobs_f64: expected } of cases) {
    await backend.prefill(Uint32Array.from(ids), 0, false);
    const logits = await backend.readLogits();
    expectClose(
      Float64Array.from(logits, (_, id) => logSoftmaxAt(logits, id)),
      expected,
      tolerance,
    );
  }
}
