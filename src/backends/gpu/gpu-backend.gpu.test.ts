import { afterAll, afterEach, expect, test } from "vitest";
import { packRows, unpackRows } from "../../formats/quantization";
import { openDevice } from "../../gpu/device";
import { emit } from "../../models/decoder";
import { expectClose } from "../../testing/compare";
import { samplingSettings } from "../../testing/sampling-settings";
import { fillSink, tinyModel } from "../../testing/tiny-models";
import { VARIED_NAMES, variedModel, type VariedModel } from "../../testing/varied-models";
import type { Backend, KvDtype, WeightDtype } from "../backend";
import { createReferenceBackend } from "../reference/reference-backend";
import { createGpuBackend } from "./gpu-backend";

// One device for all: what is compiled for one model is there for the next.
const shared = await openDevice({});
const open: Backend[] = [];
afterEach(async () => {
  for (const backend of open.splice(0)) await backend.dispose();
});
afterAll(() => shared.close());

const round = (dtype: WeightDtype, values: Float32Array, rows: number, columns: number) =>
  unpackRows(dtype, packRows(dtype, values, rows, columns), rows, columns);

const plainModel = (kind: "llama" | "gpt2") => {
  const model = tinyModel({ kind });
  return { ...model, program: emit(model.spec) };
};

async function both(model: VariedModel, tier: string, dtype: WeightDtype, kvDtype: KvDtype) {
  const { spec, program } = model;
  const { contextLength } = spec;
  const memoryBudgetBytes = undefined;
  const { device } = shared;
  const gpu = await createGpuBackend({ spec, program, dtype, kvDtype, contextLength, memoryBudgetBytes, tier, device });
  const reference = createReferenceBackend({ spec, program, dtype, kvDtype, contextLength, round });
  open.push(gpu, reference);
  for (const backend of [gpu, reference]) {
    await fillSink(backend.weights, model);
    await backend.ready();
  }
  return { gpu, reference, vocab: spec.vocabSize };
}

const begin = (promptTokens: Uint32Array) => ({
  sampling: samplingSettings(),
  promptTokens,
  endTokenIds: [],
  maxNewTokens: 1000,
});

// Each tier with each model, each weight format and each cache, in pairs.
test.each([
  ["cpu", "llama", "f32", "f32"],
  ["cpu", "llama", "f16", "f16"],
  ["cpu", "llama", "q4", "f32"],
  ["cpu", "gpt2", "q8", "f16"],
  ["subgroups", "llama", "q8", "f16"],
  ["subgroups", "gpt2", "f32", "f32"],
  ["workgroup", "llama", "f32", "f16"],
  ["workgroup", "gpt2", "q4", "f32"],
] as const)(
  "on the tier %s a %s with %s weights and %s cache gives the reference's logits, in prefill and decode",
  async (tier, kind, dtype, kvDtype) => expectReference(await both(plainModel(kind), tier, dtype, kvDtype), kvDtype),
);

// The other tiers have these parts in the tests of kernels and of golden models.
test.each(VARIED_NAMES)("a model with %s gives the reference's logits, in prefill and decode", async (name) => {
  await expectReference(await both(variedModel(name), "cpu", "f32", "f32"), "f32");
});

test.each([
  ["heads that are no multiple of 4", tinyModel({ kind: "llama", headDim: 6 }), []],
  [
    "an operation that no kernel computes",
    tinyModel({ kind: "llama" }),
    [{ op: "add", from: "x", to: "y", width: 36, scale: 1 }],
  ],
] as const)("%s are refused before a weight is asked for", async (_, { spec }, more) => {
  const { body, head } = emit(spec);
  const options = {
    dtype: "f32",
    kvDtype: "f32",
    contextLength: spec.contextLength,
    memoryBudgetBytes: undefined,
  } as const;
  const program = { body: [...body, ...more], head };
  const backend = createGpuBackend({ ...options, spec, program, tier: "cpu", device: shared.device });
  await expect(backend).rejects.toMatchObject({ code: "model-unsupported" });
});

async function expectReference({ gpu, reference, vocab }: Awaited<ReturnType<typeof both>>, kvDtype: KvDtype) {
  const prompt = Uint32Array.from({ length: 19 }, (_, i) => (i * 7 + 3) % vocab);
  for (const backend of [gpu, reference]) {
    await backend.begin(begin(prompt));
    await backend.prefill(prompt.subarray(0, 5), 0, false);
  }
  // f32 sums in another order; a cached half float may round the other way where the sums differ by that.
  const tolerance = { relative: 1e-4, absolute: kvDtype === "f16" ? 2e-3 : 2e-4 };
  const [ours, theirs] = [
    await gpu.prefill(prompt.subarray(5), 5, true),
    await reference.prefill(prompt.subarray(5), 5, true),
  ];
  expectClose(await gpu.readLogits(), await reference.readLogits(), tolerance);
  expect(ours.id).toBe(theirs.id);
  for (let i = 0; i < 6; i++) {
    const [our, their] = [await gpu.step(), await reference.step()];
    expectClose(await gpu.readLogits(), await reference.readLogits(), tolerance);
    expect(our.id).toBe(their.id);
    expectClose([our.logprob], [their.logprob], tolerance);
  }
}
