import { describe, expect, test } from "vitest";
import { randomSeed, resolveGenerateOptions, type GenerateOptions } from "./generate-options";

const VOCABULARY = 32;
const resolve = (options: GenerateOptions) => resolveGenerateOptions(options, VOCABULARY, () => 42);

const DEFAULTS = {
  sampling: {
    temperature: 0,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: new Map(),
    seed: [42, 0],
    topLogprobs: 0,
  },
  seed: 42,
  maxNewTokens: 256,
  stop: [],
  ignoreEos: false,
  reusePrefix: true,
};

test("without options an answer is greedy, with 256 tokens at most", () => expect(resolve({})).toEqual(DEFAULTS));

describe("each option is honoured", () => {
  test.each<[keyof GenerateOptions, GenerateOptions, object]>([
    ["temperature", { temperature: 0.7 }, { temperature: 0.7 }],
    ["topK", { topK: 5, temperature: 0.7 }, { topK: 5, temperature: 0.7 }],
    ["topP", { topP: 0.9, temperature: 0.7 }, { topP: 0.9, temperature: 0.7 }],
    ["minP", { minP: 0.05, temperature: 0.7 }, { minP: 0.05, temperature: 0.7 }],
    ["repetitionPenalty", { repetitionPenalty: 1.3 }, { repetitionPenalty: 1.3 }],
    ["frequencyPenalty", { frequencyPenalty: -0.5 }, { frequencyPenalty: -0.5 }],
    ["presencePenalty", { presencePenalty: 2 }, { presencePenalty: 2 }],
    ["logitBias", { logitBias: { 3: -Infinity, 31: 2.5 } }, { logitBias: new Map([[3, -Infinity], [31, 2.5]]) }], // prettier-ignore
    ["logitBias", { logitBias: new Map([[0, 1]]) }, { logitBias: new Map([[0, 1]]) }],
    ["topLogprobs", { topLogprobs: 20 }, { topLogprobs: 20 }],
  ])("%s of the sampling", (_, options, sampling) =>
    expect(resolve(options)).toEqual({ ...DEFAULTS, sampling: { ...DEFAULTS.sampling, ...sampling } }),
  );

  test.each<[keyof GenerateOptions, GenerateOptions, object]>([
    ["maxNewTokens", { maxNewTokens: 1 }, { maxNewTokens: 1 }],
    ["stop", { stop: "x" }, { stop: ["x"] }],
    ["stop", { stop: ["x", "yz"] }, { stop: ["x", "yz"] }],
    ["ignoreEos", { ignoreEos: true }, { ignoreEos: true }],
    ["reusePrefix", { reusePrefix: false }, { reusePrefix: false }],
    ["signal", { signal: new AbortController().signal }, {}],
  ])("%s of the answer", (_, options, answer) => expect(resolve(options)).toEqual({ ...DEFAULTS, ...answer }));

  test.each([
    [0, [0, 0]],
    [2 ** 32 - 1, [4294967295, 0]],
    [2 ** 32, [0, 1]],
    [Number.MAX_SAFE_INTEGER, [4294967295, 2097151]],
  ])("seed %i in two halves", (seed, halves) =>
    expect(resolve({ seed, temperature: 1 })).toMatchObject({ seed, sampling: { seed: halves } }),
  );
});

describe("the temperature", () => {
  test.each<[string, GenerateOptions, number]>([
    ["topK alone", { topK: 5 }, 1],
    ["topP alone", { topP: 0.9 }, 1],
    ["minP alone", { minP: 0.1 }, 1],
    ["a seed alone", { seed: 7 }, 1],
    ["a cut-off and 0", { topK: 5, temperature: 0 }, 0],
    ["a penalty alone", { repetitionPenalty: 1.1 }, 0],
    ["1e-300, which float32 does not have", { temperature: 1e-300 }, 0],
    ["just below the coldest", { temperature: 9e-7 }, 0],
    ["the coldest", { temperature: 1e-6 }, 1e-6],
  ])("with %s", (_, options, temperature) => expect(resolve(options).sampling.temperature).toBe(temperature));
});

test.each([
  ["null is not set", null, 0],
  ["0 is none", 0, 0],
  ["one less than the vocabulary is one", 31, 31],
  ["the vocabulary's size is none", 32, 0],
  ["more than the vocabulary is none", 4294967295, 0],
])("cut-off topK: %s", (_, topK, expected) =>
  // Null comes from JSON; the type does not invite it.
  expect(resolve({ topK: topK as number, temperature: 1 }).sampling.topK).toBe(expected),
);

test.each<[string, unknown]>([
  ["maxNewTokens", 0],
  ["maxNewTokens", 1.5],
  ["maxNewTokens", "10"],
  ["temperature", -0.1],
  ["temperature", NaN],
  ["temperature", Infinity],
  ["topK", -1],
  ["topK", 2.5],
  ["topP", 0],
  ["topP", 1.01],
  ["minP", -0.01],
  ["minP", 1.01],
  ["repetitionPenalty", 0],
  ["frequencyPenalty", NaN],
  ["presencePenalty", Infinity],
  ["logitBias", { 32: 1 }],
  ["logitBias", { "-1": 1 }],
  ["logitBias", { "": 1 }],
  ["logitBias", { 3: NaN }],
  ["logitBias", { 3: Infinity }],
  ["logitBias", [1, 2]],
  ["logitBias", "3"],
  ["logitBias", Object.fromEntries(Array.from({ length: 32 }, (_, id) => [id, -Infinity]))],
  ["seed", -1],
  ["seed", 2 ** 53],
  ["stop", ""],
  ["stop", ["a", ""]],
  ["stop", 5],
  ["topLogprobs", 21],
  ["topLogprobs", -1],
  ["ignoreEos", "yes"],
  ["reusePrefix", 1],
  ["signal", {}],
  ["maxTokens", 10],
  ["toString", 10],
])("%s: %j is refused by name", (name, value) => {
  const refusal = expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(name) });
  expect(() => resolve({ [name]: value })).toThrow(refusal);
});

test("random seeds are whole, safe and not the same", () => {
  const seeds = Array.from({ length: 20 }, randomSeed);
  expect(new Set(seeds).size).toBe(20);
  expect(seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0)).toBe(true);
  expect(Math.max(...seeds)).toBeGreaterThan(2 ** 48); // 20 seeds all below it: once in 10^24 runs of more than 32 bits
});
