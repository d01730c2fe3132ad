import { afterEach, describe, expect, test } from "vitest";
import { packRows, unpackRows } from "../../formats/quantization";
import { emit } from "../../models/decoder";
import { expectClose } from "../../testing/compare";
import { samplingSettings } from "../../testing/sampling-settings";
import { fillSink, tinyModel, type TinyModelOptions } from "../../testing/tiny-models";
import type { Backend, KvDtype, WeightDtype } from "../backend";
import { createReferenceBackend } from "../reference/reference-backend";
import { createGpuBackend } from "./gpu-backend";

const TIERS = ["subgroups", "workgroup", "cpu"];
const open: Backend[] = [];
afterEach(async () => {
  for (const backend of open.splice(0)) await backend.dispose();
});

const round = (dtype: WeightDtype, values: Float32Array, rows: number, columns: number) =>
  unpackRows(dtype, packRows(dtype, values, rows, columns), rows, columns);

async function both(
  options: TinyModelOptions,
  tier: string,
  dtype: WeightDtype,
  kvDtype: KvDtype,
  maxBindingBytes?: number,
) {
  const model = tinyModel(options);
  const program = emit(model.spec);
  const contextLength = model.spec.contextLength;
  const gpu = await createGpuBackend({
    spec: model.spec,
    program,
    dtype,
    kvDtype,
    contextLength,
    memoryBudgetBytes: undefined,
    tier,
    maxBindingBytes,
  });
  open.push(gpu);
  const reference = createReferenceBackend({ spec: model.spec, program, dtype, kvDtype, contextLength, round });
  open.push(reference);
  for (const backend of [gpu, reference]) {
    await fillSink(backend.weights, model);
    await backend.ready();
  }
  return { gpu, reference, vocab: model.spec.vocabSize };
}

const begin = (promptTokens: Uint32Array) => ({
  sampling: samplingSettings(),
  promptTokens,
  endTokenIds: [],
  maxNewTokens: 1000,
});

describe.each(TIERS)("on the tier %s", (tier) => {
  test.each([
    ["llama", "f32", "f32"],
    ["llama", "f16", "f16"],
    ["llama", "q8", "f16"],
    ["llama", "q4", "f32"],
    ["gpt2", "f32", "f32"],
    ["gpt2", "q8", "f16"],
  ] as const)(
    "logits of a %s with %s weights and %s cache equal the reference's, in prefill and decode",
    async (kind, dtype, kvDtype) => {
      const { gpu, reference, vocab } = await both({ kind }, tier, dtype, kvDtype);
      const prompt = Uint32Array.from({ length: 19 }, (_, i) => (i * 7 + 3) % vocab);
      for (const backend of [gpu, reference]) {
        backend.begin(begin(prompt));
        await backend.prefill(prompt.subarray(0, 5), 0, false);
      }
      const first = [
        await gpu.prefill(prompt.subarray(5), 5, true),
        await reference.prefill(prompt.subarray(5), 5, true),
      ];
      const tolerance = { relative: 1e-4, absolute: kvDtype === "f16" ? 2e-3 : 2e-4 };
      expectClose(await gpu.readLogits(), await reference.readLogits(), tolerance);
      expect(first[0]?.id).toBe(first[1]?.id);
      for (let i = 0; i < 6; i++) {
        const [ours, theirs] = [await gpu.step(), await reference.step()];
        expectClose(await gpu.readLogits(), await reference.readLogits(), tolerance);
        expect(ours.id).toBe(theirs.id);
      }
    },
  );
});
