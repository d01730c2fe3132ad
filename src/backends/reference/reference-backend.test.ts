import { describe, expect, test } from "vitest";
import { WordloomError } from "../../errors";
import { packRows, unpackRows } from "../../formats/quantization";
import { emit, weightMatrices } from "../../models/decoder";
import { at } from "../../testing/at";
import { expectClose } from "../../testing/compare";
import { seededRandom } from "../../testing/random";
import { samplingSettings } from "../../testing/sampling-settings";
import { fillSink, tinyModel, type TinyModel, weightOf } from "../../testing/tiny-models";
import type { Backend, BeginOptions, StepResult } from "../backend";
import { createReferenceBackend, type ReferenceOptions } from "./reference-backend";
import { logSoftmaxAt, tokenStatistics, topLogprobs } from "./sampling";
import type { RoundRows } from "./weights";

const round: RoundRows = (dtype, values, rows, columns) =>
  unpackRows(dtype, packRows(dtype, values, rows, columns), rows, columns);

function create(model: TinyModel, changes: Partial<ReferenceOptions> = {}): Backend {
  const { spec } = model;
  const contextLength = spec.contextLength;
  return createReferenceBackend({ spec, program: emit(spec), dtype: "f32", kvDtype: "f32", contextLength, ...changes });
}

async function load(model: TinyModel, changes: Partial<ReferenceOptions> = {}): Promise<Backend> {
  const backend = create(model, changes);
  await fillSink(backend.weights, model);
  await backend.ready();
  return backend;
}

const MODELS: [string, TinyModel][] = [
  ["llama", tinyModel({ kind: "llama" })],
  [
    "llama with biases, untied, wide heads",
    tinyModel({
      kind: "llama",
      hidden: 40,
      heads: 1,
      headDim: 48,
      tied: false,
      config: { attention_bias: true, mlp_bias: true },
    }),
  ],
  ["llama with groups of 2", tinyModel({ kind: "llama", hidden: 96, heads: 6, keyValueHeads: 3, layers: 1 })],
  ["gpt2", tinyModel({ kind: "gpt2" })],
];

const random = seededRandom(5);
const tokens = Uint32Array.from({ length: 20 }, () => Math.floor(random() * 65));

function beginOptions(changes: Partial<BeginOptions> = {}): BeginOptions {
  return { sampling: samplingSettings(), promptTokens: tokens, endTokenIds: [], maxNewTokens: 8, ...changes };
}

async function steps(backend: Backend, options: BeginOptions): Promise<StepResult[]> {
  await backend.begin(options);
  const results = [await backend.prefill(options.promptTokens, 0, true)];
  while (!at(results, -1).done) results.push(await backend.step());
  return results;
}

const idsOf = (results: StepResult[]): number[] => results.map(({ id }) => id);

describe.each(MODELS)("%s", (_, model) => {
  test("one prefill, prefill in chunks, and token by token give the same logits", async () => {
    const backend = await load(model);
    await backend.prefill(tokens, 0, false);
    const whole = await backend.readLogits();
    for (const chunk of [1, 3, 7, 19]) {
      for (let start = 0; start < tokens.length; start += chunk) {
        await backend.prefill(tokens.subarray(start, start + chunk), start, false);
      }
      expectClose(await backend.readLogits(), whole, { absolute: 0 });
    }
  });

  test("steps give the logits of a prefill of what they chose", async () => {
    const backend = await load(model);
    const ids = idsOf(await steps(backend, beginOptions()));
    const logits = await backend.readLogits();
    await backend.prefill(Uint32Array.of(...tokens, ...ids.slice(0, -1)), 0, false);
    expectClose(logits, await backend.readLogits(), { absolute: 0 });
  });

  test("going back to a position forgets what came after it", async () => {
    const backend = await load(model);
    await backend.prefill(tokens, 0, false);
    await backend.prefill(tokens.subarray(0, 1), 5, false);
    const again = await backend.readLogits();
    await backend.prefill(Uint32Array.of(...tokens.subarray(0, 5), at(tokens, 0)), 0, false);
    expectClose(again, await backend.readLogits(), { absolute: 0 });
    await expect(backend.prefill(tokens, 7, false)).rejects.toThrow(/20 tokens at position 7; .*6 positions of 96/);
  });

  test("score gives the statistics of each next token", async () => {
    const backend = await load(model);
    const { logprobs, entropies, ranks } = await backend.score(tokens.subarray(0, -1), 0, tokens.subarray(1));
    const expected = [];
    for (let position = 0; position < tokens.length - 1; position++) {
      await backend.prefill(tokens.subarray(position, position + 1), position, false);
      const [logits, target] = [await backend.readLogits(), at(tokens, position + 1)];
      expected.push({ logprob: logSoftmaxAt(logits, target), ...tokenStatistics(logits, target) });
    }
    expectClose(logprobs, expected.map(({ logprob }) => logprob), { relative: 1e-7 }); // prettier-ignore
    expectClose(entropies, expected.map(({ entropy }) => entropy), { relative: 1e-7 }); // prettier-ignore
    expect([...ranks]).toEqual(expected.map(({ rank }) => rank));
  });

  test("the hidden state is what the head's matrix reads: the logits follow from it", async () => {
    const backend = await load(model);
    const last = await backend.hiddenState(tokens, 0, "last");
    const sum = await backend.hiddenState(tokens, 0, "mean");
    const logits = await backend.readLogits();
    const [width, head] = [
      model.spec.hiddenSize,
      weightOf(model, model.spec.head.tied ? "token_embedding" : "head.weight"),
    ];
    expect(last).toHaveLength(width);
    const products = Array.from(logits, (_, row) =>
      last.reduce((product, state, i) => product + state * at(head, row * width + i), 0),
    );
    expectClose(products, logits, { absolute: 1e-5 });
    const one = await backend.hiddenState(tokens.subarray(0, 1), 0, "mean");
    let rest = [...one];
    for (let position = 1; position < tokens.length; position++) {
      const state = await backend.hiddenState(tokens.subarray(position, position + 1), position, "last");
      rest = rest.map((value, i) => value + at(state, i));
    }
    expectClose(sum, rest, { absolute: 1e-5 });
  });

  test.each(["f16", "q8", "q4"] as const)(
    "%s weights are those that the format holds, in matrices only",
    async (dtype) => {
      const matrices = weightMatrices(emit(model.spec));
      const weights = new Map(
        model.spec.tensors.map(({ name, shape: [rows, columns] }) => {
          const values = weightOf(model, name);
          return [name, matrices.has(name) ? round(dtype, values, rows, columns) : values];
        }),
      );
      const logits = async (backend: Backend): Promise<Float32Array> => {
        await backend.prefill(tokens, 0, false);
        return backend.readLogits();
      };
      const actual = await logits(await load(model, { dtype, round }));
      expectClose(actual, await logits(await load({ ...model, weights })), { absolute: 0 });
      const exact = await logits(await load(model));
      expect(() => expectClose(actual, exact, { absolute: 1e-4 })).toThrow(/values differ/);
    },
  );

  test("f16 alone in the KV cache moves the logits a little", async () => {
    const exact = await load(model);
    const rounded = await load(model, { kvDtype: "f16", round });
    await exact.prefill(tokens, 0, false);
    await rounded.prefill(tokens, 0, false);
    const [a, b] = [await exact.readLogits(), await rounded.readLogits()];
    expectClose(b, a, { absolute: 0.01 });
    expect(() => expectClose(b, a, { absolute: 1e-6 })).toThrow(/values differ/);
  });
});

describe("a run", () => {
  const model = tinyModel({ kind: "llama" });

  test("counts tokens, reports their log-probabilities, and ends at maxNewTokens", async () => {
    const backend = await load(model);
    const results = await steps(backend, beginOptions({ sampling: samplingSettings({ topLogprobs: 3 }) }));
    expect(results.map(({ count }) => count)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(results.map(({ done }) => done)).toEqual([...Array<boolean>(7).fill(false), true]);
    expect(results.some(({ invalid }) => invalid)).toBe(false);
    const logits = await backend.readLogits();
    expect(results.at(-1)?.top).toEqual(topLogprobs(logits, 3));
    expect(results.at(-1)?.logprob).toBe(topLogprobs(logits, 1)[0]?.logprob);
  });

  test("a step past the end does nothing", async () => {
    const backend = await load(model);
    const last = (await steps(backend, beginOptions())).at(-1);
    const logits = await backend.readLogits();
    expect(await backend.step()).toEqual(last);
    expect(await backend.readLogits()).toEqual(logits);
  });

  test("ends with an end token, which is reported", async () => {
    const backend = await load(model);
    const ids = idsOf(await steps(backend, beginOptions()));
    const endTokenIds = [at(ids, 3), 9999];
    const firstEnd = ids.indexOf(at(ids, 3));
    expect(idsOf(await steps(backend, beginOptions({ endTokenIds })))).toEqual(ids.slice(0, firstEnd + 1));
  });

  test("ends when the KV cache is full, with every position used", async () => {
    const backend = await load(model, { contextLength: 23 });
    const results = await steps(backend, beginOptions({ maxNewTokens: 100 }));
    expect(results.map(({ done }) => done)).toEqual([false, false, false, true]); // chosen for positions 20 to 23
  });

  test("the same seed gives the same ids; another seed gives others", async () => {
    const backend = await load(model);
    const run = async (low: number, high: number) => {
      const sampling = samplingSettings({ temperature: 1, seed: [low, high] });
      return idsOf(await steps(backend, beginOptions({ sampling })));
    };
    const ids = await run(1, 2);
    expect(await run(1, 2)).toEqual(ids);
    expect(await run(2, 2)).not.toEqual(ids);
    expect(await run(1, 3)).not.toEqual(ids);
  });

  test("a draw depends on its position, not on how the answer began", async () => {
    const backend = await load(model);
    const sampling = samplingSettings({ temperature: 1 });
    const ids = idsOf(await steps(backend, beginOptions({ sampling })));
    const promptTokens = Uint32Array.of(...tokens, at(ids, 0));
    expect(idsOf(await steps(backend, beginOptions({ sampling, promptTokens })))[0]).toBe(ids[1]);
  });

  test("penalties know prompt and answer", async () => {
    const backend = await load(model);
    const sampling = samplingSettings({ presencePenalty: 100 });
    const ids = idsOf(await steps(backend, beginOptions({ sampling })));
    expect(new Set(ids).size).toBe(ids.length);
    const penalized = samplingSettings({ repetitionPenalty: 100 });
    const fresh = idsOf(await steps(backend, beginOptions({ sampling: penalized })));
    expect(fresh.filter((id) => tokens.includes(id))).toEqual([]);
  });

  test("a model with a NaN in its weights is reported as invalid", async () => {
    const broken = tinyModel({ kind: "llama" });
    weightOf(broken, "final_norm.weight")[3] = NaN;
    const [result] = await steps(await load(broken), beginOptions({ maxNewTokens: 1 }));
    expect(result).toMatchObject({ id: 0, invalid: true });
  });
});

describe("the contract", () => {
  const model = tinyModel({ kind: "gpt2" });

  test("facts tell dtype, context and bytes", () => {
    const { facts } = create(model, { contextLength: 10 });
    expect(facts).toMatchObject({ backend: "reference", dtype: "f32", kvDtype: "f32", contextLength: 10 });
    expect(facts.bytes.kvCache).toBe(2 * 2 * 10 * 36 * 4);
    expect(facts.bytes.weights).toBe(4 * [...model.weights.values()].reduce((sum, { length }) => sum + length, 0));
  });

  test("norms, biases and learned positions are held in float32", () => {
    const matrices = weightMatrices(emit(model.spec));
    expect([...matrices].filter((name) => /norm|bias|position/.test(name))).toEqual([]);
    expect(matrices.size).toBe(1 + 2 * 6);
  });

  test("weights are taken by whole rows, in order, and all of them", async () => {
    const backend = create(model);
    expect(() => backend.weights.write("token_embeddings", 0, new Float32Array(36))).toThrow(/no tensor/);
    expect(() => backend.weights.write("token_embedding", 0, new Float32Array(35))).toThrow(/rows of 36; 35 values/);
    expect(() => backend.weights.write("token_embedding", 1, new Float32Array(36))).toThrow(/takes row 0 of 65 next/);
    expect(() => backend.weights.write("final_norm.bias", 0, new Float32Array(72))).toThrow(/72 values/);
    backend.weights.write("token_embedding", 0, new Float32Array(72));
    await expect(backend.ready()).rejects.toThrow("token_embedding has 2 of 65 rows");
    await expect(backend.prefill(tokens, 0, false)).rejects.toThrow(/before ready/);
  });

  test("impossible calls are refused, and leave the backend usable", async () => {
    const backend = await load(model);
    await expect(backend.step()).rejects.toThrow(/before begin/);
    await expect(backend.readLogits()).rejects.toThrow(/no token has been run/);
    await expect(backend.prefill(new Uint32Array(65), 0, false)).rejects.toThrow(/65 tokens .* 1 to 64/);
    await expect(backend.prefill(new Uint32Array(0), 0, false)).rejects.toThrow(/0 tokens/);
    await expect(backend.prefill(Uint32Array.of(65), 0, false)).rejects.toThrow("token id 65; the vocabulary has 65");
    await expect(backend.score(tokens, 0, tokens.subarray(1))).rejects.toThrow("19 targets for 20 tokens");
    const pending = backend.prefill(tokens, 0, false);
    expect(() => backend.begin(beginOptions())).toThrow("begin with 1 calls in flight");
    await pending;
    await backend.begin(beginOptions());
    await expect(backend.step()).rejects.toThrow(/before a prefill with sample/);
    expect((await steps(backend, beginOptions())).length).toBe(8);
  });

  test("arrays may be reused by the caller once a call has returned", async () => {
    const backend = await load(model);
    await backend.prefill(tokens, 0, false);
    const expected = await backend.readLogits();
    const reused = tokens.slice();
    const pending = backend.prefill(reused, 0, false);
    reused.fill(0);
    await pending;
    expect(await backend.readLogits()).toEqual(expected);
  });

  test("dispose rejects pending and later calls, twice as well as once", async () => {
    const backend = await load(model);
    const pending = backend.prefill(tokens, 0, false).catch((error: unknown) => error);
    await backend.dispose();
    await backend.dispose();
    const later = await backend.readLogits().catch((error: unknown) => error);
    for (const error of [await pending, later]) {
      expect(error).toBeInstanceOf(WordloomError);
      expect(error).toMatchObject({ code: "disposed" });
    }
    expect(() => backend.begin(beginOptions())).toThrow(WordloomError);
    await expect(backend.ready()).rejects.toMatchObject({ code: "disposed" });
  });

  test("more context than learned positions, and rounding without a function, are refused", () => {
    expect(() => create(model, { contextLength: 97 })).toThrow("contextLength is 97; the model has 96 positions");
    expect(() => create(model, { dtype: "q8" })).toThrow(/dtype q8 with kvDtype f32 needs a rounding function/);
    expect(() => create(model, { kvDtype: "f16" })).toThrow(/needs a rounding function/);
  });

  test("a long computation lets the thread's other tasks run", async () => {
    const slow = await load(tinyModel({ kind: "llama", hidden: 96, heads: 3, intermediate: 400 }));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    for (let start = 0; start < 96 && turns === 0; start = (start + 16) % 96) {
      await slow.prefill(new Uint32Array(16), start, false);
    }
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});
