/** Drafts on the GPU: the ids are those of plain steps, whatever samples them, in one submit and one readback a pass. */
import { afterAll, expect, test } from "vitest";
import { Scheduler, type RunRequest } from "../../engine/scheduler";
import type { SpeculationSettings } from "../../engine/speculation";
import { openDevice } from "../../gpu/device";
import { emit } from "../../models/decoder";
import { countGpuCalls } from "../../testing/gpu-counts";
import { samplingSettings } from "../../testing/sampling-settings";
import { fillSink, tinyModel, type TinyModel } from "../../testing/tiny-models";
import { variedModel } from "../../testing/varied-models";
import type { Backend, StepResult } from "../backend";
import { createGpuBackend } from "./gpu-backend";

const shared = await openDevice({});
const open: Backend[] = [];
afterAll(async () => {
  for (const backend of open) await backend.dispose();
  shared.close();
});

async function load(model: TinyModel & { program?: ReturnType<typeof emit> }, tier = "cpu"): Promise<Backend> {
  const { spec, program = emit(spec) } = model;
  const { device } = shared;
  const backend = await createGpuBackend({
    ...{ spec, program, dtype: "f32", kvDtype: "f32", contextLength: spec.contextLength, tier, device },
    memoryBudgetBytes: undefined,
  });
  open.push(backend);
  await fillSink(backend.weights, model);
  await backend.ready();
  return backend;
}

const PROMPT = Uint32Array.from({ length: 20 }, (_, at) => [3, 9, 27, 15, 40, 11, 2][at % 7] ?? 0);
const lookup = (draftTokens: number): SpeculationSettings => ({
  method: "prompt-lookup",
  draftTokens,
  minNgram: 1,
  maxNgram: 3,
});

async function write(backend: Backend, changes: Partial<RunRequest>) {
  const results: StepResult[] = [];
  const outcome = await new Scheduler(backend).generate(
    {
      ...{ promptTokens: PROMPT, sampling: samplingSettings(), endTokenIds: [], maxNewTokens: 40 },
      ...{ maxTimeMs: undefined, reusePrefix: true },
      ...changes,
    },
    (result) => void results.push(result),
    new AbortController().signal,
  );
  return { results, ids: results.map(({ id }) => id), ...outcome };
}

const MODELS = [
  ["llama", tinyModel({ kind: "llama" }), "cpu"],
  ["a model with a short convolution", variedModel("a short convolution"), "cpu"],
  ["a model with windows and softcaps", variedModel("norms around each block"), "cpu"],
] as const;

test.each(MODELS)("%s writes the same ids with drafts, fewer passes than tokens", async (_, model, tier) => {
  const backend = await load(model, tier);
  for (const sampling of [samplingSettings(), samplingSettings({ temperature: 0.3, seed: [4, 0] })]) {
    const plain = await write(backend, { sampling });
    for (const drafts of [1, 4, 15]) {
      const guessed = await write(backend, { sampling, speculative: lookup(drafts) });
      expect(guessed.ids).toEqual(plain.ids);
      expect(guessed.finishReason).toBe("length");
      expect(guessed.speculation?.verifications).toBeGreaterThan(0);
    }
  }
});

test("penalties, DRY, bans, forced tokens, the likeliest and statistics are those of plain steps", async () => {
  const backend = await load(tinyModel({ kind: "llama" }));
  for (const changes of [
    { temperature: 1, frequencyPenalty: 0.5, repetitionPenalty: 1.2, logitBias: new Map([[5, -Infinity]]) },
    { temperature: 1, dryMultiplier: 1, presencePenalty: 0.4, penaltyLastN: 5, forcedTokens: [3, 9, 27, 15] },
    { topLogprobs: 4, tokenStatistics: true, temperature: 0.5, topP: 0.9, typicalP: 0.8 },
  ]) {
    const sampling = samplingSettings({ ...changes, seed: [9, 1] });
    const plain = await write(backend, { sampling });
    const guessed = await write(backend, { sampling, speculative: lookup(6) });
    expect(guessed.ids).toEqual(plain.ids);
    // Of a chunk and of a step the sums are made in another order.
    const rounded = (results: StepResult[]) =>
      results.map(({ logprob, top, statistics }) => [
        logprob.toFixed(2),
        ...top.map(({ id, logprob }) => `${id} ${logprob.toFixed(2)}`),
        statistics && `${statistics.rank} ${statistics.entropy.toFixed(2)}`,
      ]);
    expect(rounded(guessed.results)).toEqual(rounded(plain.results));
    expect(guessed.speculation?.accepted).toBeGreaterThan(0);
  }
});

test("an end token, and a full context, inside the drafts end the answer there", async () => {
  const backend = await load(tinyModel({ kind: "llama", context: 48 }));
  const plain = await write(backend, {});
  expect(plain.ids).toHaveLength(29);
  for (const drafts of [2, 5, 9]) {
    expect((await write(backend, { speculative: lookup(drafts) })).ids).toEqual(plain.ids);
    for (const endTokenIds of [plain.ids.slice(5, 6), plain.ids.slice(11, 12), plain.ids.slice(20, 21)]) {
      const { ids, finishReason } = await write(backend, { endTokenIds, speculative: lookup(drafts) });
      expect({ ids, finishReason }).toEqual({ ids: plain.ids.slice(0, ids.length), finishReason: "stop" });
      expect(plain.ids[ids.length]).toBe(endTokenIds[0]);
    }
  }
});

test("a pass is one submit and one readback of 256 bytes at most; with none wrong there are few", async () => {
  const backend = await load(tinyModel({ kind: "llama", config: { num_hidden_layers: 1 } }));
  const promptTokens = PROMPT;
  const sampling = samplingSettings({ logitBias: new Map([[7, 1000]]) }); // it says nothing else
  await write(backend, { promptTokens, sampling, speculative: lookup(7) }); // compiles
  const { counts, stop } = countGpuCalls();
  const { speculation, ids } = await write(backend, { promptTokens, sampling, speculative: lookup(7) });
  stop();
  expect(new Set(ids)).toEqual(new Set([7]));
  const verifications = speculation?.verifications ?? NaN;
  // The first token comes with the prompt, the second by a plain step (7 stands nowhere before); then eight at a time.
  expect(speculation).toEqual({ drafted: 33, accepted: 33, verifications: 5 });
  expect(counts.mapAsync).toBe(2 + verifications);
  expect(counts.submit).toBe(2 + verifications);
  expect(counts.mappedBytes).toBeLessThanOrEqual(2 * 32 + verifications * 256);
  expect(counts).toMatchObject({ createBuffer: 0, createBindGroup: 0, createPipeline: 0 });
});
