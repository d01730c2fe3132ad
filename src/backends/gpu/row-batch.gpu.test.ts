/** Several answers on WebGPU: each is what it is alone, and a step asks no more of the GPU than that of one. */
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { openDevice } from "../../gpu/device";
import { emit } from "../../models/decoder";
import { countGpuCalls, countsSince } from "../../testing/gpu-counts";
import { aloneWith, expectRowsAsAlone, together, type RowRun } from "../../testing/row-runs";
import { fillSink, tinyModel } from "../../testing/tiny-models";
import { variedModel, type VariedModel } from "../../testing/varied-models";
import { countWeightBytes } from "../../testing/weight-bytes";
import type { Backend } from "../backend";
import { createGpuBackend, type GpuBackendOptions } from "./gpu-backend";

// One device for all: what is compiled for one model is there for the next.
const shared = await openDevice({});
const open: Backend[] = [];
afterEach(async () => {
  for (const backend of open.splice(0)) await backend.dispose();
});
afterAll(() => shared.close());

const llama = () => {
  const model = tinyModel({ kind: "llama", layers: 1 });
  return { ...model, program: emit(model.spec) };
};

async function load(model: VariedModel, options: Partial<GpuBackendOptions> = {}): Promise<Backend> {
  const { spec, program } = model;
  const { contextLength } = spec;
  const held = { dtype: "q8", kvDtype: "f32", contextLength, memoryBudgetBytes: undefined, tier: "cpu" } as const;
  const backend = await createGpuBackend({ ...held, ...options, spec, program, device: shared.device });
  open.push(backend);
  await fillSink(backend.weights, model);
  await backend.ready();
  return backend;
}

const prompt = Uint32Array.of(5, 9, 11, 5, 9);
const seeds = [1, 2, 3, 4].map((low) => [low, 0] as const);
const RUN: RowRun = { prompt, seeds, maxNewTokens: 8, endTokenIds: [3, 8, 20, 33] };

describe("each answer is what its seed alone gives", () => {
  // Two where pipelines are slow to compile here.
  test.each([
    ["cpu", 4],
    ["workgroup", 2],
    ["subgroups", 2],
  ] as const)("on the tier %s", { timeout: 180_000 }, async (tier, count) => {
    const rows = await expectRowsAsAlone(await load(llama(), { tier }), { ...RUN, seeds: seeds.slice(0, count) });
    expect(new Set(rows.map(({ length }) => length)).size).toBeGreaterThan(1); // they end one by one
  });

  test("with every way to sample, one after the other, and another number of answers", async () => {
    const backend = await load(llama());
    const counted = { frequencyPenalty: 0.7, repetitionPenalty: 1.2, logitBias: new Map([[4, 2]]) };
    const cut = { topK: 9, topP: 0.8, topLogprobs: 3, tokenStatistics: true };
    await expectRowsAsAlone(backend, { ...RUN, sampling: { ...counted, ...cut } });
    const seen = { dryMultiplier: 1, noRepeatNgramSize: 3, minNewTokens: 3, penaltyLastN: 4, presencePenalty: 1 };
    const sampling = { ...seen, forcedTokens: [9, 11], typicalP: 0.9 };
    await expectRowsAsAlone(backend, { ...RUN, seeds: seeds.slice(0, 3), sampling });
  });

  test("through a short convolution, whose cache is read at the answer's own slots", async () => {
    await expectRowsAsAlone(await load(variedModel("a short convolution"), { dtype: "f32" }), {
      ...RUN,
      seeds: seeds.slice(0, 2),
    });
  });
});

test("a step of four answers is as many dispatches, submits and readbacks as one's, and reads each weight once", async () => {
  const backend = await load(llama());
  const run = { ...RUN, endTokenIds: [] };
  await aloneWith(backend, { ...run, maxNewTokens: 1 }, [1, 0]);
  await together(backend, { ...run, maxNewTokens: 1 }); // what is made at the first use is made
  const steps = async (write: (maxNewTokens: number) => Promise<unknown>) => {
    const weights = countWeightBytes();
    const { counts, stop } = countGpuCalls();
    try {
      await write(2);
      const [before, bytesBefore] = [{ ...counts }, weights.bytes()];
      await write(8);
      // The second run less the first: six steps.
      return { ...countsSince(twice(before), counts), weightBytes: weights.bytes() - 2 * bytesBefore };
    } finally {
      stop();
      weights.stop();
    }
  };
  const one = await steps((maxNewTokens) => aloneWith(backend, { ...run, maxNewTokens }, [1, 0]));
  const four = await steps((maxNewTokens) => together(backend, { ...run, maxNewTokens }));
  expect(four).toEqual({ ...one, mappedBytes: 6 * 4 * 32 });
  expect(one).toMatchObject({ submit: 6, mapAsync: 6, computePass: 6, writeBuffer: 0, createBuffer: 0 });
  expect(one.weightBytes / 6).toBeGreaterThan(0.9 * backend.facts.bytes.weights);
});

const twice = <T extends object>(counts: T) =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, 2 * (count as number)])) as T; // numbers all

test("an answer that the caller ends changes none of the others", async () => {
  const backend = await load(llama());
  const run = { ...RUN, endTokenIds: [] };
  const [all, cut] = [await together(backend, run), await together(backend, run, { row: 2, after: 3 })];
  expect(cut[2]).toEqual(all[2]?.slice(0, 3));
  for (const row of [0, 1, 3]) expect(cut[row]).toEqual(all[row]);
});

test("where the budget has no room for so many answers that is said with the numbers, and one is written as before", async () => {
  const model = llama();
  const free = await load(model);
  const { weights, kvCache, activations } = free.facts.bytes;
  const memoryBudgetBytes = weights + kvCache + activations + 1000;
  const tight = await load(model, { memoryBudgetBytes });
  await expect(together(tight, RUN)).rejects.toMatchObject({
    code: "out-of-memory",
    message: expect.stringMatching(
      /^4 answers at once take [\d.]+ MiB more; memoryBudgetBytes leaves 0\.0 MiB$/,
    ) as string,
  });
  expect(await aloneWith(tight, RUN, [2, 0])).toEqual(await aloneWith(free, RUN, [2, 0]));
});
