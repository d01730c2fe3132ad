import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { emit } from "../../models/decoder";
import type { AttentionSpec, DecoderSpec, LayerSpec, RopeSpec } from "../../models/decoder-spec";
import { readModelConfig } from "../../models/registry";
import { at } from "../../testing/at";
import { attentionIn } from "../../testing/attention-in";
import { type CheckpointTensor, fillFromCheckpoint } from "../../testing/checkpoint";
import { expectClose } from "../../testing/compare";
import {
  GOLDEN_MODELS,
  type GoldenModel,
  goldenCases,
  goldenFolder,
  readCheckpoint,
  readFolderJson,
} from "../../testing/golden-models";
import { samplingSettings } from "../../testing/sampling-settings";
import { sharedDataOrWarn } from "../../testing/shared-data";
import type { Backend } from "../backend";
import { createReferenceBackend } from "./reference-backend";
import { logSoftmaxAt } from "./sampling";

/** Golden values have 6 decimals and are up to 30 nats; logits are rounded to float32 once. */
const TOLERANCE = { absolute: 5e-6 };

async function load(
  spec: DecoderSpec,
  checkpoint: ReadonlyMap<string, CheckpointTensor>,
  contextLength = spec.contextLength,
): Promise<Backend> {
  const backend = createReferenceBackend({ spec, program: emit(spec), dtype: "f32", kvDtype: "f32", contextLength });
  fillFromCheckpoint(backend.weights, spec, checkpoint);
  await backend.ready();
  return backend;
}

/** Log-probabilities of every token after `ids`, prefilled in chunks of at most `chunk`. */
async function logprobsAfter(backend: Backend, ids: readonly number[], chunk = 64): Promise<Float64Array> {
  await prefill(backend, ids, chunk);
  return logprobsNow(backend);
}

async function prefill(backend: Backend, ids: readonly number[], chunk = 64): Promise<void> {
  for (let start = 0; start < ids.length; start += chunk) {
    await backend.prefill(Uint32Array.from(ids.slice(start, start + chunk)), start, false);
  }
}

async function logprobsNow(backend: Backend): Promise<Float64Array> {
  const logits = await backend.readLogits();
  return Float64Array.from(logits, (_, id) => logSoftmaxAt(logits, id));
}

async function greedy(backend: Backend, ids: readonly number[], count: number): Promise<number[]> {
  const promptTokens = Uint32Array.from(ids);
  await backend.begin({ sampling: samplingSettings(), promptTokens, endTokenIds: [], maxNewTokens: count });
  const last = promptTokens.subarray(-1);
  for (let start = 0; start < ids.length - 1; start += 64) {
    await backend.prefill(promptTokens.subarray(start, Math.min(start + 64, ids.length - 1)), start, false);
  }
  let result = await backend.prefill(last, ids.length - 1, true);
  const chosen = [result.id];
  while (!result.done) {
    result = await backend.step();
    chosen.push(result.id);
  }
  return chosen;
}

function goldenSpec(model: GoldenModel, file = "config.json"): DecoderSpec {
  return readModelConfig(readFolderJson(goldenFolder(model), file), undefined).spec;
}

describe.each(GOLDEN_MODELS)("golden %s", (model) => {
  const checkpoint = readCheckpoint(goldenFolder(model));
  const cases = goldenCases(model);

  test.each(["config.json", "config.v5.json", "config.early.json"])(
    "gives the float64 log-probabilities of every token, from %s",
    async (file) => {
      const backend = await load(goldenSpec(model, file), checkpoint);
      for (const { ids, logprobs_f64 } of cases)
        expectClose(await logprobsAfter(backend, ids), logprobs_f64, TOLERANCE);
    },
  );

  test.each(cases)("gives the 24 greedy ids of case $name", async ({ ids, greedy_ids }) => {
    expect(await greedy(await load(goldenSpec(model), checkpoint), ids, 24)).toEqual(greedy_ids);
  });

  test("takes tensor names without their prefix", async () => {
    const bare = new Map(
      [...checkpoint].map(([name, tensor]) => [name.replace(/^(model|transformer|gpt_neox)\./, ""), tensor]),
    );
    const { ids, logprobs_f64 } = at(cases, 1);
    expectClose(await logprobsAfter(await load(goldenSpec(model), bare), ids), logprobs_f64, TOLERANCE);
  });
});

describe("golden phi3-longrope, whose short factors hold in a KV cache of 64 positions", () => {
  const folder = goldenFolder("phi3-longrope");
  const { short } = readFolderJson(folder, "golden.json") as { short: { ids: number[]; logprobs_f64: number[] }[] };

  test("gives the float64 log-probabilities there, and others in a longer cache", async () => {
    const [spec, checkpoint] = [goldenSpec("phi3-longrope"), readCheckpoint(folder)];
    expect(short.length).toBe(2);
    for (const { ids, logprobs_f64 } of short) {
      expectClose(await logprobsAfter(await load(spec, checkpoint, 64), ids), logprobs_f64, TOLERANCE);
      const longer = await logprobsAfter(await load(spec, checkpoint, 65), ids);
      expect(() => expectClose(longer, logprobs_f64, TOLERANCE)).toThrow("values differ");
    }
  });
});

describe("a mistake in the model moves the golden values beyond the tolerance", () => {
  const swapPairing = (rope: RopeSpec | undefined): RopeSpec | undefined => rope && { ...rope, pairing: "interleaved" };
  const eachLayer = (
    spec: DecoderSpec,
    change: (layer: DecoderSpec["layers"][number]) => DecoderSpec["layers"][number],
  ) => ({
    ...spec,
    layers: spec.layers.map(change),
  });
  const eachAttention = (spec: DecoderSpec, change: (attention: AttentionSpec) => Partial<AttentionSpec>) =>
    eachLayer(spec, (layer) => ({ ...layer, mixer: { ...attentionIn(layer), ...change(attentionIn(layer)) } }));
  const firstRope = (spec: DecoderSpec) => attentionIn(spec.layers[0]).rope;
  const withoutPostNorm = (layer: LayerSpec): LayerSpec => {
    const changed = { ...layer };
    delete changed.mixerPostNorm;
    return changed;
  };
  /** The rows of one tensor of a layer in place of another's. */
  const exchanged = (spec: DecoderSpec, [one, other]: readonly [string, string]): DecoderSpec => ({
    ...spec,
    tensors: spec.tensors.map((tensor) => {
      const [from, to] = tensor.name.includes(`.${one}.`) ? [one, other] : [other, one];
      const source = spec.tensors.find(({ name }) => name === tensor.name.replace(`.${from}.`, `.${to}.`));
      return { ...tensor, ...(source?.rows && { rows: source.rows }) };
    }),
  });
  const withoutHeadNorms = (layer: LayerSpec): LayerSpec => {
    if (layer.mixer.kind !== "attention") return layer;
    const mixer = { ...layer.mixer };
    delete mixer.queryKeyNorm;
    return { ...layer, mixer };
  };
  const withoutEps = { eps: 1e-20 };

  test.each<[string, GoldenModel, (spec: DecoderSpec) => DecoderSpec]>([
    [
      "eps dropped from the norms",
      "llama",
      (spec) => ({
        ...eachLayer(spec, (layer) => ({ ...layer, mlpNorm: { ...spec.finalNorm, ...withoutEps } })),
        finalNorm: { ...spec.finalNorm, ...withoutEps },
      }),
    ],
    ["RoPE pairing swapped", "llama-rope3", (spec) => eachAttention(spec, ({ rope }) => ({ rope: swapPairing(rope) }))],
    ["attention scale forgotten", "llama", (spec) => eachAttention(spec, () => ({ scale: 1 }))],
    [
      "the erf form of GELU",
      "gpt2",
      (spec) => eachLayer(spec, (layer) => ({ ...layer, mlp: { ...layer.mlp, activation: "gelu" } })),
    ],
    ["positions forgotten", "gpt2", (spec) => ({ ...spec, learnedPositions: undefined })],
    [
      "another eps in the norms of q and k",
      "qwen3",
      (spec) =>
        eachAttention(spec, ({ queryKeyNorm }) =>
          queryKeyNorm === undefined ? {} : { queryKeyNorm: { ...queryKeyNorm, eps: 0.1 } },
        ),
    ],
    [
      "window one longer",
      "gemma3_text",
      (spec) => eachAttention(spec, ({ window }) => ({ window: window === undefined ? undefined : window + 1 })),
    ],
    ["one theta for all layers", "gemma3_text", (spec) => eachAttention(spec, () => ({ rope: firstRope(spec) }))],
    ["embeddings not scaled", "gemma3_text", (spec) => ({ ...spec, embeddingScale: 1 })],
    ["no norm after the attention", "olmo2", (spec) => eachLayer(spec, withoutPostNorm)],
    [
      "blocks one after the other",
      "gpt_neox",
      (spec) => eachLayer(spec, (layer) => ({ ...layer, residual: "sequential" })),
    ],
    ["no soft-cap on scores", "gemma2", (spec) => eachAttention(spec, () => ({ softcap: undefined }))],
    ["no soft-cap on logits", "gemma2", (spec) => ({ ...spec, head: { ...spec.head, softcap: undefined } })],
    ["RoPE on every layer", "smollm3", (spec) => eachAttention(spec, () => ({ rope: firstRope(spec) }))],
    ["no factor on what blocks add", "granite", (spec) => eachLayer(spec, (layer) => ({ ...layer, residualScale: 1 }))],
    ["no factor on logits", "granite", (spec) => ({ ...spec, head: { ...spec.head, scale: 1 } })],
    ["the gates of convolutions exchanged", "lfm2", (spec) => exchanged(spec, ["input_gate", "output_gate"])],
    ["attention without the norms of q and k", "lfm2", (spec) => eachLayer(spec, withoutHeadNorms)],
    [
      "no magnitude",
      "phi3-longrope",
      (spec) => eachAttention(spec, ({ rope }) => ({ rope: rope && { ...rope, magnitude: 1 } })),
    ],
  ])("%s", async (_, model, mutate) => {
    const backend = await load(mutate(goldenSpec(model)), readCheckpoint(goldenFolder(model)));
    const { ids, logprobs_f64 } = at(goldenCases(model), -1);
    const logprobs = await logprobsAfter(backend, ids);
    expect(() => expectClose(logprobs, logprobs_f64, TOLERANCE)).toThrow(
      /values differ by more than .* worst at \[\d+\]: -\d/,
    );
  });

  test.each(GOLDEN_MODELS)("KV length one too short or too long, %s", async (model) => {
    const backend = await load(goldenSpec(model), readCheckpoint(goldenFolder(model)));
    const { ids, logprobs_f64 } = at(goldenCases(model), -2);
    const last = Uint32Array.of(at(ids, -1));
    for (const [filled, position] of [
      [ids.length - 1, ids.length - 2], // the last token overwrites its neighbour's keys and values
      [ids.length, ids.length], // it sees its own twice
    ] as const) {
      await prefill(backend, ids.slice(0, filled));
      await backend.prefill(last, position, false);
      const logprobs = await logprobsNow(backend);
      expect(() => expectClose(logprobs, logprobs_f64, TOLERANCE)).toThrow(
        /values differ by more than .* worst at \[\d+\]: -\d/,
      );
    }
  });
});

const storiesFolder = sharedDataOrWarn("stories260k", "a trained Llama on the reference backend");

describe.runIf(storiesFolder)("stories260k, a trained Llama", () => {
  const folder = storiesFolder ?? ""; // runIf: set
  interface StoriesGolden {
    files: {
      F32: {
        greedy: { prompt: string; prompt_ids: number[]; ids: number[] }[];
        distributions: { ids: number[]; top20_f64: [number, number][] }[];
      };
    };
  }
  const golden = () => JSON.parse(readFileSync(`${folder}/golden.json`, "utf8")) as StoriesGolden;
  const loadStories = () => {
    const { spec } = readModelConfig(readFolderJson(folder, "config.json"), undefined);
    return load(spec, readCheckpoint(folder));
  };

  test("gives the 20 likeliest tokens of each prefix", async () => {
    const backend = await loadStories();
    for (const { ids, top20_f64 } of golden().files.F32.distributions) {
      const logprobs = await logprobsAfter(backend, ids);
      const actual = top20_f64.map(([id]) => logprobs[id] ?? NaN);
      expectClose(
        actual,
        top20_f64.map(([, logprob]) => logprob),
        { absolute: 1.5e-5 }, // golden values have 5 decimals
      );
    }
  });

  test("writes the story that llama.cpp writes, to the last of 256 greedy ids", async () => {
    const { prompt_ids, ids } = at(golden().files.F32.greedy, 0);
    expect(await greedy(await loadStories(), prompt_ids, ids.length)).toEqual(ids);
  });

  test("takes both end ids from generation_config.json", () => {
    const { endTokenIds } = readModelConfig(
      readFolderJson(folder, "config.json"),
      readFolderJson(folder, "generation_config.json"),
    );
    expect(endTokenIds).toEqual([2, 1]);
  });
});
