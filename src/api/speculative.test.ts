/** Speculative decoding through the public API on the reference backend: the answer is the plain one in every way. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  TextGenerator,
  type AnswerToken,
  type GenerateOptions,
  type LoadOptions,
  type SpeculativeOptions,
} from "../index";
import { DRAWS, expectFrequencies, LOGITS, PROBABILITIES } from "../testing/distribution-cases";
import { modelFolder } from "../testing/model-folder";
import { scriptedCheckpoint } from "../testing/scripted-checkpoint";

const PIECES = ["<|end|>", "<|go|>", ..."abcdefgh", ":"];
/** a b c a b c …, mostly; now and then another letter or the end. */
const loop = (last: number, next: number): number => {
  if (next === 0) return 3;
  if (next < 2 || next > 9) return -20;
  return next === 2 + ((last - 1) % 3) ? 6 : next < 5 ? 4 : 2;
};

const open: TextGenerator[] = [];
const files = (table: (last: number, next: number) => number, changes = {}) =>
  modelFolder(scriptedCheckpoint({ pieces: PIECES, size: 32, table, ...changes }));
const load = async (table: (last: number, next: number) => number, options: LoadOptions = {}, changes = {}) => {
  const generator = await TextGenerator.load(files(table, changes), { backend: "reference", ...options });
  open.push(generator);
  return generator;
};
afterAll(() => Promise.all(open.map((generator) => generator.dispose())));

let looping: TextGenerator;
beforeAll(async () => {
  // The draft model never thinks of "d".
  const draftModel = files((last, next) => (next === 5 ? -20 : loop(last, next)));
  looping = await load(loop, { draftModel });
});

async function write(generator: TextGenerator, options: GenerateOptions, prompt = "abcab") {
  const run = generator.generate(prompt, { maxNewTokens: 30, ignoreEos: true, ...options });
  const tokens: AnswerToken[] = [];
  let text = "";
  for await (const chunk of run) {
    tokens.push(...chunk.tokens);
    text += chunk.text;
  }
  const { speculation, finishReason, usage } = await run.end;
  return { answer: { text, tokens, finishReason, usage: usage.completionTokens }, speculation };
}

const METHODS: SpeculativeOptions[] = [
  { method: "prompt-lookup", draftTokens: 3 },
  { method: "prompt-lookup", draftTokens: 15, minNgram: 1 },
  { method: "draft-model" },
];

test.each<[string, GenerateOptions]>([
  ["the likeliest tokens", {}],
  ["draws", { temperature: 1, seed: 4 }],
  ["warm draws with cuts", { temperature: 1.5, topK: 6, topP: 0.9, minP: 0.01, seed: 5 }],
  ["typical-p", { typicalP: 0.6, seed: 2 }],
  ["top-n-sigma and XTC", { topNSigma: 2, xtcProbability: 0.5, seed: 6 }],
  ["penalties", { repetitionPenalty: 1.3, frequencyPenalty: 0.4, presencePenalty: 0.2, temperature: 1, seed: 7 }],
  ["penalties in a window", { frequencyPenalty: 1, penaltyLastN: 4 }],
  ["DRY", { dryMultiplier: 2 }],
  ["no n-gram twice", { noRepeatNgramSize: 3 }],
  ["bans and biases", { bannedTokens: [3], logitBias: { 6: 3 } }],
  ["forced tokens", { forcedTokens: [5, 6, 2, 3, 4] }],
  ["end tokens, not before a minimum", { ignoreEos: false, minNewTokens: 8, temperature: 1.2, seed: 8 }],
  ["a stop token", { stopTokenIds: [5], temperature: 1, seed: 9 }],
  ["a stop string", { stop: ["bca", "cd"], temperature: 1, seed: 10 }],
  ["the likeliest beside each, and statistics", { topLogprobs: 3, tokenStatistics: true, temperature: 1, seed: 11 }],
  ["a sliding context", { fullContext: "slide", maxNewTokens: 60, temperature: 1, seed: 12 }],
])("%s: the answer is the plain one, token for token", async (_, options) => {
  const { answer } = await write(looping, options);
  for (const speculative of METHODS) expect((await write(looping, { ...options, speculative })).answer).toEqual(answer);
});

test("what came of it is told, for each run of a sliding context together", async () => {
  const small = await load(loop, {}, { contextLength: 24 });
  const options: GenerateOptions = { fullContext: "slide", maxNewTokens: 60 };
  const { answer } = await write(small, options);
  const guessed = await write(small, { ...options, speculative: { method: "prompt-lookup" } });
  expect(guessed.answer).toEqual(answer);
  const { drafted = NaN, accepted = NaN, verifications = NaN } = guessed.speculation ?? {};
  expect(accepted).toBe(drafted); // "abcabc…" is the likeliest
  expect(accepted).toBeGreaterThan(35);
  expect(verifications).toBeLessThan(20);
});

test("the draft model's drafts are taken where it is right", async () => {
  const { speculation } = await write(looping, { speculative: { method: "draft-model", draftTokens: 4 } });
  expect(speculation).toEqual({ drafted: 23, accepted: 23, verifications: 6 }); // 1 + 5 · 5 + 4 tokens
});

test(
  "20,000 draws with drafts come as often as their probabilities say, right and wrong drafts together",
  { timeout: 60_000 },
  async () => {
    const table = (_: number, next: number) => LOGITS[next - 1] ?? -40;
    const generator = await load(table);
    const counts = new Uint32Array(PROBABILITIES.length);
    let accepted = 0;
    let drafted = 0;
    const each = 80;
    for (let seed = 0; seed < DRAWS / each; seed++) {
      const run = generator.generate([1, 2, 2, 2], {
        ...{ temperature: 1, seed, maxNewTokens: each, ignoreEos: true },
        speculative: { method: "prompt-lookup", draftTokens: 4, minNgram: 1 },
      });
      for await (const { tokens } of run) for (const { id } of tokens) counts[id - 1] = (counts[id - 1] ?? 0) + 1;
      const { speculation } = await run.end;
      accepted += speculation?.accepted ?? 0;
      drafted += speculation?.drafted ?? 0;
    }
    expectFrequencies(counts, Object.fromEntries(PROBABILITIES.entries()));
    expect(accepted).toBeGreaterThan(1000);
    expect(drafted - accepted).toBeGreaterThan(1000);
  },
);

test.each<[string, unknown, GenerateOptions, RegExp]>([
  ["another method", { method: "medusa" }, {}, /method is "medusa"/],
  ["no method", { draftTokens: 3 }, {}, /speculative.method/],
  ["no object", true, {}, /speculative is true/],
  ["no drafts", { method: "prompt-lookup", draftTokens: 0 }, {}, /draftTokens is 0/],
  ["too many drafts", { method: "prompt-lookup", draftTokens: 16 }, {}, /draftTokens is 16/],
  ["n-grams the wrong way round", { method: "prompt-lookup", minNgram: 5, maxNgram: 4 }, {}, /minNgram is 5/],
  ["n-grams of a draft model", { method: "draft-model", minNgram: 2 }, {}, /no option "minNgram"/],
  ["an unknown name", { method: "prompt-lookup", ngram: 2 }, {}, /no option "ngram"/],
  [
    "a constraint beside it",
    { method: "prompt-lookup" },
    { constraint: { regex: "a" }, ignoreEos: false },
    /and constraint are given/,
  ],
  [
    "a processor beside it",
    { method: "prompt-lookup" },
    { logitsProcessor: () => {} },
    /and logitsProcessor are given/,
  ],
])("%s is refused", async (_, speculative, options, message) => {
  const refused = write(looping, { ...options, speculative: speculative as SpeculativeOptions });
  await expect(refused).rejects.toMatchObject({ code: "option-invalid", message: expect.stringMatching(message) });
});

test("the method draft-model without a draft model is refused", async () => {
  const generator = await load(loop);
  const refused = write(generator, { speculative: { method: "draft-model" } });
  await expect(refused).rejects.toMatchObject({
    code: "option-invalid",
    message: expect.stringMatching(/no draft model/),
  });
  expect(generator.info.draftModel).toBeUndefined();
});

test("info tells the draft model's sizes", () => {
  const { draftModel, bytes } = looping.info;
  expect(draftModel).toMatchObject({ modelType: "llama", dtype: "f32", contextLength: 512, bytes });
});

test.each([
  ["other pieces", { pieces: ["<|end|>", "<|go|>", ..."abcdefhg"] }, /token 8 is "h" there, and "g" here/],
  ["fewer tokens", { size: 28 }, /28 tokens, the model has 32/],
  ["a token that is not special", { added: new Map([[0, true]]) }, /token 1 is .* there, and a special token here/],
])("a draft model with %s is refused, before its weights are read", async (_, changes, message) => {
  const phases: string[] = [];
  const loading = load(loop, {
    draftModel: files(loop, changes),
    onProgress: ({ phase }) => void phases.push(phase),
  });
  await expect(loading).rejects.toMatchObject({ code: "option-invalid", message: expect.stringMatching(message) });
  expect(phases).not.toContain("weights");
});

test("a draft model of fewer positions guesses as far as it has them", async () => {
  const generator = await load(loop, { contextLength: 60, draftModel: files(loop, { contextLength: 16 }) });
  expect(generator.info.draftModel?.contextLength).toBe(16);
  const { answer } = await write(generator, {});
  expect((await write(generator, { speculative: { method: "draft-model" } })).answer).toEqual(answer);
});
