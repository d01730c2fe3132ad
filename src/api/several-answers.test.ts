/** `n` answers from one reading of the prompt, through the public API on the reference backend. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TextGenerator, type Chunk, type GenerateOptions } from "../index";
import { at } from "../testing/at";
import { modelFolder } from "../testing/model-folder";
import { scriptedCheckpoint } from "../testing/scripted-checkpoint";

const PIECES = ["<|end|>", "<|go|>", ..."abcdefgh", ":"];
/** All letters are possible after each, the next one of the alphabet most; the end now and then. */
const table = (last: number, next: number): number => {
  if (next === 0) return 1;
  if (next < 2) return -20;
  return next === 2 + ((last - 1) % 8) ? 2.5 : ((last * 7 + next * 3) % 5) / 3;
};

let generator: TextGenerator;
beforeAll(async () => {
  const files = modelFolder(scriptedCheckpoint({ pieces: PIECES, size: 32, table }));
  generator = await TextGenerator.load(files, { backend: "reference" });
});
afterAll(() => generator.dispose());

async function write(options: GenerateOptions, prompt = "abc") {
  const run = generator.generate(prompt, { maxNewTokens: 12, seed: 5, ...options });
  const chunks: Chunk[] = [];
  for await (const chunk of run) chunks.push(chunk);
  const of = (index: number) => chunks.filter((chunk) => chunk.index === index);
  return { chunks, of, texts: await run.texts(), text: await run.text(), end: await run.end };
}

describe("each answer is what its seed alone gives", () => {
  test.each<[string, GenerateOptions]>([
    ["a plain draw", {}],
    ["cuts", { temperature: 1.3, topK: 6, topP: 0.9, minP: 0.01 }],
    ["penalties", { repetitionPenalty: 1.3, frequencyPenalty: 0.4, presencePenalty: 0.2 }],
    [
      "penalties in a window, DRY, n-grams",
      { frequencyPenalty: 1, penaltyLastN: 4, dryMultiplier: 1, noRepeatNgramSize: 3 },
    ],
    ["typical-p and XTC", { typicalP: 0.8, xtcProbability: 0.5, xtcThreshold: 0.1 }],
    [
      "bias, bans, forced and least tokens",
      { logitBias: { 3: 2 }, bannedTokens: [5], forcedTokens: [4, 4], minNewTokens: 4 },
    ],
    ["stop strings and ids", { stop: ["cd", "h"], stopTokenIds: [9] }],
    ["log-probabilities and statistics", { topLogprobs: 3, tokenStatistics: true }],
    ["one token", { maxNewTokens: 1 }],
  ])("%s", async (_, options) => {
    const together = await write({ n: 4, ...options });
    expect(together.texts).toHaveLength(4);
    expect(together.text).toBe(together.texts[0]);
    const answers = together.end.answers ?? [];
    for (let index = 0; index < 4; index++) {
      const alone = await write({ ...options, seed: 5 + index });
      expect(together.texts[index]).toBe(alone.text);
      expect(together.of(index).flatMap(({ tokens }) => tokens)).toEqual(alone.of(0).flatMap(({ tokens }) => tokens));
      const { finishReason, usage, seed } = alone.end;
      expect(answers[index]).toEqual({ finishReason, seed, completionTokens: usage.completionTokens });
    }
    const { usage, finishReason } = together.end;
    expect(finishReason).toBe(answers[0]?.finishReason);
    const written = answers.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
    expect(usage).toMatchObject({ promptTokens: 3, completionTokens: written });
  });

  test("and they differ from each other, end one by one, and are told as they are written", async () => {
    const { texts, chunks, end } = await write({ n: 8, maxNewTokens: 20 });
    expect(new Set(texts).size).toBeGreaterThan(4);
    expect(new Set(end.answers?.map(({ finishReason }) => finishReason))).toEqual(new Set(["stop", "length"]));
    // All first tokens (the last answer's is its end) before any second one.
    expect(chunks.slice(0, 7).map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(end.answers?.map(({ seed }) => seed)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
  });

  test("greedy ones are alike", async () => {
    const { texts } = await write({ n: 3, temperature: 0 });
    expect(new Set(texts).size).toBe(1);
  });

  test("without a seed one is drawn, and told", async () => {
    const run = generator.generate("abc", { n: 2, maxNewTokens: 12, temperature: 1 });
    const [texts, end] = [await run.texts(), await run.end];
    expect(end.answers?.map(({ seed }) => seed - end.seed)).toEqual([0, 1]);
    expect((await write({ seed: end.seed + 1 })).text).toBe(texts[1]);
  });
});

test("one answer is told as it always was: index 0, and no list of answers", async () => {
  const { chunks, end, texts, text } = await write({ n: 1 });
  expect(new Set(chunks.map(({ index }) => index))).toEqual(new Set([0]));
  expect(end).not.toHaveProperty("answers");
  expect(texts).toEqual([text]);
});

test("the next run finds the prompt in the cache, and only the prompt", async () => {
  const prompt = "abcdefgabcd";
  const first = await write({ n: 3, reusePrefix: false }, prompt);
  expect(first.end.usage.cachedTokens).toBe(0);
  const longer = await write({ seed: 5 }, prompt + first.texts[0]);
  expect(longer.end.usage.cachedTokens).toBe(prompt.length);
  const again = await write({ n: 3 }, prompt);
  expect(again.end.usage.cachedTokens).toBe(prompt.length - 1);
  expect(again.texts).toEqual(first.texts);
});

test("an abort ends all of them", async () => {
  const stop = new AbortController();
  const run = generator.generate("abc", { n: 3, seed: 1, maxNewTokens: 40, ignoreEos: true, signal: stop.signal });
  for await (const { index } of run) if (index === 2) break;
  expect((await run.end).answers?.map(({ finishReason }) => finishReason)).toEqual(["abort", "abort", "abort"]);
  await expect(run.texts()).rejects.toThrow();
});

test("time ends those that have not ended", async () => {
  const { end } = await write({ n: 2, maxTimeMs: 1e-9, ignoreEos: true });
  expect(end.answers?.map(({ finishReason }) => finishReason)).toEqual(["time", "time"]);
});

describe("is refused", () => {
  const refusal = async (options: GenerateOptions, prompt = "abc") => {
    const error: unknown = await generator
      .generate(prompt, options)
      .text()
      .catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "option-invalid" });
    return (error as Error).message;
  };
  test.each([0, 17, 1.5, "4" as unknown as number])("n %j, which is none", async (n) => {
    expect(await refusal({ n })).toMatch(/n/);
  });
  test.each<[string, GenerateOptions]>([
    ["logitsProcessor", { logitsProcessor: (logits) => logits }],
    ["constraint", { constraint: { regex: "a*" } }],
    ["speculative", { speculative: { method: "prompt-lookup" } }],
    ["fullContext", { fullContext: "slide" }],
  ])("with %s, and says why", async (name, options) => {
    expect(await refusal({ n: 2, ...options })).toMatch(
      new RegExp(`^n is 2, and ${name} is given: .*(several|the others)`),
    );
  });
  test("a seed that the last answer's would be beyond", async () => {
    expect(await refusal({ n: 2, seed: Number.MAX_SAFE_INTEGER })).toMatch(/seed/);
  });
  test("in a conversation", async () => {
    const run = generator.conversation().send("a", { n: 2 } as never);
    await expect(run.text()).rejects.toMatchObject({ code: "option-invalid", message: 'send has no option "n"' });
  });
  test("what the context has no room for, one position too many, with the numbers", async () => {
    const { contextLength } = generator.info;
    const most = Math.floor((contextLength - 3) / 4) + 1;
    const fits = await write({ n: 4, maxNewTokens: most, stop: ["a", "b", "c", "d"] });
    expect(fits.texts).toHaveLength(4);
    expect(await refusal({ n: 4, maxNewTokens: most + 1 })).toBe(
      `n is 4: a prompt of 3 tokens and 4 answers of ${most + 1} take ${3 + 4 * most} positions; ` +
        `the context has ${contextLength}`,
    );
  });
  test("up to the last position: the answers are still those of their seeds", async () => {
    const { contextLength } = generator.info;
    const prompt = "abcdefgh".repeat(contextLength).slice(0, contextLength - 8);
    const { texts } = await write({ n: 4, maxNewTokens: 3, ignoreEos: true }, prompt);
    const alone = await write({ seed: 8, maxNewTokens: 3, ignoreEos: true }, prompt);
    expect(at(texts, 3)).toBe(alone.text);
  });
});
