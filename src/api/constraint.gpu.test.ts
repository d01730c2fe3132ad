/** Structured output on the GPU: the bundled model in a worker, and the sampler's mask against the reference. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TextGenerator, type GenerateOptions } from "../index";
import { constrainedAnswer } from "../testing/constrained-answers";
import { filesOf, scriptedCheckpoint } from "../testing/scripted-checkpoint";
import { BUNDLED_URL } from "../testing/served-models";

/** The others are in constraint.gpu.long.test.ts. */
const SHORT = [
  ...[
    "boolean",
    "an enum of all types",
    "an enum of other scripts",
    "a string of 3 to 5",
    "a pattern of other scripts",
  ],
  ...["an integer between", "a number strictly between", "string or number", "an object that may lack the first"],
  ...["keys of other scripts", "a list of choices", "one of several shapes"],
];

describe("the bundled model", () => {
  let generator: TextGenerator;
  beforeAll(async () => {
    generator = await TextGenerator.load(BUNDLED_URL);
  }, 120_000);
  afterAll(() => generator.dispose());

  describe.each([0, 1.5])("at temperature %f", (temperature) => {
    test.each(SHORT)("%s: what is finished is valid", async (name) => {
      expect(generator.info).toMatchObject({ backend: "webgpu", worker: true });
      const answer = await constrainedAnswer(generator, "Once upon a time", name, {
        temperature,
        seed: 5,
        maxNewTokens: 80,
      });
      expect(answer).toMatchObject({ isFinished: true });
    });
  });
});

describe("the mask", () => {
  const PIECES = ["<|end|>", "<|go|>", ...Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i))];
  const SIZE = 101; // not a multiple of 32, and with rows that have no text
  const table = (last: number, next: number) =>
    next === 0 || next >= PIECES.length
      ? 9
      : ((Math.imul(last * 7919 + next * 104729 + 13, 0x9e3779b1) >>> 0) % 1000) / 125;
  const files = filesOf(scriptedCheckpoint({ pieces: PIECES, size: SIZE, hidden: 104, table, contextLength: 200 }));
  const idsOf = async (generator: TextGenerator, options: GenerateOptions) => {
    const tokens = [];
    for await (const chunk of generator.generate("q", { maxNewTokens: 60, ...options })) tokens.push(...chunk.tokens);
    return tokens;
  };
  let gpu: TextGenerator;
  let reference: TextGenerator;
  beforeAll(async () => {
    gpu = await TextGenerator.load(files, { backend: "webgpu", dtype: "f32", worker: false });
    reference = await TextGenerator.load(files, { backend: "reference", worker: false });
  }, 60_000);
  afterAll(() => Promise.all([gpu.dispose(), reference.dispose()]));

  test.each<[string, GenerateOptions]>([
    ["greedy", {}],
    ["a draw", { temperature: 1.5, seed: 11 }],
    ["penalties, over forced tokens too", { frequencyPenalty: 1.5, presencePenalty: 1, repetitionPenalty: 1.2 }],
    ["DRY and a window", { dryMultiplier: 2, frequencyPenalty: 1, penaltyLastN: 6 }],
    ["the likeliest beside", { topLogprobs: 3 }],
    ["statistics", { tokenStatistics: true }],
  ])("with %s gives what the reference gives", async (_, options) => {
    const constraint = { regex: "(?:abcdef[0-9]{3}|abcdxyz[a-z]{2}){2}!" };
    const [own, wanted] = [
      await idsOf(gpu, { constraint, ...options }),
      await idsOf(reference, { constraint, ...options }),
    ];
    expect(own.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    for (const [at, token] of own.entries()) expect(token.logprob).toBeCloseTo(wanted[at]?.logprob ?? NaN, 3);
    expect(own.map(({ rank }) => rank)).toEqual(wanted.map(({ rank }) => rank));
  });

  test("works with the caller's own processor, which comes before it", async () => {
    const constraint = { regex: "[0-9]{4}" };
    const [nine] = await gpu.tokenize("9", { addSpecialTokens: false });
    const logitsProcessor = (logits: Float32Array) => void (logits[nine ?? 0] = 50);
    expect(await gpu.generate("q", { constraint, logitsProcessor }).value()).toBe("9999");
  });

  test("an answer after it is free again", async () => {
    await gpu.generate("q", { constraint: { choice: ["yes"] } }).text();
    expect((await idsOf(gpu, { bannedTokens: [0] })).length).toBe(60);
  });
});
