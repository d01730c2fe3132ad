import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { WordloomError } from "../errors";
import { samplingSettings } from "../testing/sampling-settings";
import { randomSeed, resolveGenerateOptions, type GenerateOptions } from "./generate-options";

const VOCABULARY = 32;
const resolve = (options: GenerateOptions) => resolveGenerateOptions(options, VOCABULARY, () => 42);

const DEFAULTS = {
  sampling: samplingSettings({ seed: [42, 0] }),
  n: 1,
  constraint: undefined,
  speculative: undefined,
  seed: 42,
  maxNewTokens: 256,
  maxTimeMs: undefined,
  stop: [],
  stopTokenIds: [],
  endTokenIds: undefined,
  ignoreEos: false,
  drySequenceBreakers: ["\n", ":", '"', "*"],
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
    ["tokenStatistics", { tokenStatistics: true }, { tokenStatistics: true }],
    ["topNSigma", { topNSigma: 1.5, temperature: 0.7 }, { topNSigma: 1.5, temperature: 0.7 }],
    ["typicalP", { typicalP: 0.9, temperature: 0.7 }, { typicalP: 0.9, temperature: 0.7 }],
    ["xtcProbability", { xtcProbability: 0.5 }, { xtcProbability: 0.5, temperature: 1 }],
    [
      "xtcThreshold",
      { xtcProbability: 1, xtcThreshold: 0.2 },
      { xtcProbability: 1, xtcThreshold: 0.2, temperature: 1 },
    ],
    ["penaltyLastN", { penaltyLastN: 64, presencePenalty: 1 }, { penaltyLastN: 64, presencePenalty: 1 }],
    ["penaltyLastN", { penaltyLastN: 0, repetitionPenalty: 2 }, { penaltyLastN: 0, repetitionPenalty: 2 }],
    ["penaltyLastN", { penaltyLastN: -1, frequencyPenalty: 1 }, { penaltyLastN: Infinity, frequencyPenalty: 1 }],
    ["dryMultiplier", { dryMultiplier: 0.8 }, { dryMultiplier: 0.8 }],
    ["dryBase", { dryMultiplier: 1, dryBase: 1.5 }, { dryMultiplier: 1, dryBase: 1.5 }],
    ["dryAllowedLength", { dryMultiplier: 1, dryAllowedLength: 3 }, { dryMultiplier: 1, dryAllowedLength: 3 }],
    ["dryPenaltyLastN", { dryMultiplier: 1, dryPenaltyLastN: 9 }, { dryMultiplier: 1, dryPenaltyLastN: 9 }],
    ["noRepeatNgramSize", { noRepeatNgramSize: 3 }, { noRepeatNgramSize: 3 }],
    ["bannedTokens", { bannedTokens: [3, 31] }, { logitBias: new Map([[3, -Infinity], [31, -Infinity]]) }], // prettier-ignore
    ["bannedTokens", { bannedTokens: Uint32Array.of(0), logitBias: { 1: 2 } }, { logitBias: new Map([[1, 2], [0, -Infinity]]) }], // prettier-ignore
    ["forcedTokens", { forcedTokens: [5, 5, 0] }, { forcedTokens: [5, 5, 0] }],
    ["minNewTokens", { minNewTokens: 256 }, { minNewTokens: 256 }],
  ])("%s of the sampling", (_, options, sampling) =>
    expect(resolve(options)).toEqual({ ...DEFAULTS, sampling: { ...DEFAULTS.sampling, ...sampling } }),
  );

  test.each<[keyof GenerateOptions, GenerateOptions, object]>([
    ["maxNewTokens", { maxNewTokens: 1 }, { maxNewTokens: 1 }],
    ["stop", { stop: "x" }, { stop: ["x"] }],
    ["stop", { stop: ["x", "yz"] }, { stop: ["x", "yz"] }],
    ["ignoreEos", { ignoreEos: true }, { ignoreEos: true }],
    ["reusePrefix", { reusePrefix: false }, { reusePrefix: false }],
    ["maxTimeMs", { maxTimeMs: 0.5 }, { maxTimeMs: 0.5 }],
    ["stopTokenIds", { stopTokenIds: [7] }, { stopTokenIds: [7] }],
    ["endTokenIds", { endTokenIds: [8, 9] }, { endTokenIds: [8, 9] }],
    ["endTokenIds", { endTokenIds: [] }, { endTokenIds: [] }],
    ["drySequenceBreakers", { dryMultiplier: 0, drySequenceBreakers: "x" }, { drySequenceBreakers: ["x"] }],
    ["drySequenceBreakers", { dryMultiplier: 0, drySequenceBreakers: [] }, { drySequenceBreakers: [] }],
    ["logitsProcessor", { logitsProcessor: (logits) => logits }, {}],
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
    ["topNSigma alone", { topNSigma: 1 }, 1],
    ["typicalP alone", { typicalP: 0.5 }, 1],
    ["xtcProbability alone", { xtcProbability: 0.5 }, 1],
    ["a seed alone", { seed: 7 }, 1],
    ["topNSigma and 0", { topNSigma: 1, temperature: 0 }, 0],
    ["typicalP 1 and 0", { typicalP: 1, xtcProbability: 0, temperature: 0 }, 0],
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
  ["topNSigma", -1],
  ["typicalP", 0],
  ["typicalP", 1.5],
  ["xtcProbability", 2],
  ["dryMultiplier", -1],
  ["noRepeatNgramSize", 1.5],
  ["minNewTokens", -1],
  ["minNewTokens", 257],
  ["maxTimeMs", 0],
  ["maxTimeMs", Infinity],
  ["bannedTokens", [32]],
  ["bannedTokens", 3],
  ["bannedTokens", ["3"]],
  ["bannedTokens", Array.from({ length: 32 }, (_, id) => id)],
  ["forcedTokens", [-1]],
  ["forcedTokens", Array.from({ length: 257 }, () => 1)],
  ["stopTokenIds", [1.5]],
  ["endTokenIds", {}],
  ["tokenStatistics", 1],
  ["logitsProcessor", "x"],
  ["xtcThreshold", 0.1],
  ["penaltyLastN", 5],
  ["dryBase", 2],
  ["dryAllowedLength", 2],
  ["dryPenaltyLastN", 3],
  ["drySequenceBreakers", ["x"]],
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

test.each<[string, GenerateOptions, RegExp]>([
  ["a threshold that no two tokens reach", { xtcProbability: 1, xtcThreshold: 0.6 }, /xtcThreshold is 0.6/],
  ["XTC at temperature 0", { xtcProbability: 0.5, temperature: 0 }, /xtcProbability .* temperature 0/],
  ["typical-p at temperature 0", { typicalP: 0.5, temperature: 1e-9 }, /typicalP .* temperature 0/],
  ["a forced token that is banned", { forcedTokens: [4, 5], bannedTokens: [5] }, /forcedTokens has 5/],
  ["a forced token that a bias bans", { forcedTokens: [6], logitBias: { 6: -Infinity } }, /forcedTokens has 6/],
  ["more forced tokens than are wanted", { forcedTokens: [4, 5], maxNewTokens: 1 }, /2 ids, maxNewTokens is only 1/],
  ["a banned token with a bias", { bannedTokens: [5], logitBias: { 5: 2 } }, /bannedTokens has 5, .* adds 2/],
  ["a minimum above the maximum", { minNewTokens: 9, maxNewTokens: 8 }, /minNewTokens is 9, maxNewTokens only 8/],
  ["end tokens and none of them", { endTokenIds: [5], ignoreEos: true }, /endTokenIds .* ignoreEos/],
  ["a base below 1", { dryMultiplier: 1, dryBase: 0.5 }, /dryBase is 0.5/],
  ["no allowed length", { dryMultiplier: 1, dryAllowedLength: 0 }, /dryAllowedLength is 0/],
  ["a breaker that is empty", { dryMultiplier: 1, drySequenceBreakers: [""] }, /drySequenceBreakers/],
  ["a window below -1", { presencePenalty: 1, penaltyLastN: -2 }, /penaltyLastN is -2/],
])("%s is refused", (_, options, message) => {
  expect(() => resolve(options)).toThrow(
    expect.objectContaining({ code: "option-invalid", message: expect.stringMatching(message) }),
  );
});

test("random seeds are whole, safe and not the same", () => {
  const seeds = Array.from({ length: 20 }, randomSeed);
  expect(new Set(seeds).size).toBe(20);
  expect(seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0)).toBe(true);
  expect(Math.max(...seeds)).toBeGreaterThan(2 ** 48); // 20 seeds all below it: once in 10^24 runs of more than 32 bits
});

test("README.md has a row for each option", () => {
  let names: string[] = [];
  try {
    resolve({ unheardOf: 1 } as GenerateOptions);
  } catch (error) {
    names = /one of: (.*)\./.exec((error as WordloomError).remedy)?.[1]?.split(", ") ?? [];
  }
  const rows = readFileSync(new URL("../../README.md", import.meta.url), "utf8").match(/^\| `.*/gm) ?? [];
  const described = rows.map((row) => row.split(" | ")[0]).join("");
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter((name) => !described.includes(`\`${name}\``))).toEqual([]);
});
