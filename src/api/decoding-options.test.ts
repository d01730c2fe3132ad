/** Each way to decode, through the public API on the reference backend: an answer that would be another without it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TextGenerator, type AnswerToken, type GenerateOptions } from "../index";
import { DISTRIBUTION_CASES, PROBABILITIES } from "../testing/distribution-cases";
import { modelFolder } from "../testing/model-folder";
import { scriptedCheckpoint } from "../testing/scripted-checkpoint";

const PIECES = ["<|end|>", "<|go|>", ..."abcdefgh", ":"];
const PIECES_AND_MORE = Array.from({ length: 31 }, (_, id) => id + 1);
/** a b c a b c …: the next letter of three has logit 8, the one after it 7, d 6, e 5, the end 4, all others 0. */
const loop = (last: number, next: number): number => {
  if (next === 0) return 4;
  if (next === 5 || next === 6) return 11 - next;
  const [from, to] = [(last + 1) % 3, (next + 1) % 3]; // a is id 2
  if (next < 2 || next > 4) return 0;
  return to === (from + 1) % 3 ? 8 : to === (from + 2) % 3 ? 7 : 3;
};

const open: TextGenerator[] = [];
const load = async (table: (last: number, next: number) => number) => {
  const files = modelFolder(scriptedCheckpoint({ pieces: PIECES, size: 32, table }));
  const generator = await TextGenerator.load(files, { backend: "reference" });
  open.push(generator);
  return generator;
};
afterAll(() => Promise.all(open.map((generator) => generator.dispose())));

let looping: TextGenerator;
let handMade: TextGenerator;
beforeAll(async () => {
  looping = await load(loop);
  handMade = await load((_, next) => Math.log(PROBABILITIES[next - 1] ?? 1e-12));
});

async function write(generator: TextGenerator, prompt: string, options: GenerateOptions) {
  const run = generator.generate(prompt, { maxNewTokens: 9, ...options });
  const tokens: AnswerToken[] = [];
  let text = "";
  for await (const chunk of run) {
    tokens.push(...chunk.tokens);
    text += chunk.text;
  }
  return { text, ids: tokens.map(({ id }) => id), tokens, end: await run.end };
}

test("without options the loop repeats itself", async () => {
  expect((await write(looping, "c", {})).text).toBe("abcabcabc");
});

test.each<[string, GenerateOptions, string]>([
  ["minNewTokens", { minNewTokens: 3, logitBias: { 0: 10 } }, "abc"],
  ["stopTokenIds", { stopTokenIds: [4] }, "ab"],
  ["stopTokenIds with ignoreEos", { stopTokenIds: [4], ignoreEos: true }, "ab"],
  ["endTokenIds", { endTokenIds: [3] }, "a"],
  ["endTokenIds and stopTokenIds", { endTokenIds: [4], stopTokenIds: [3] }, "a"],
  ["bannedTokens", { bannedTokens: [3] }, "acacacaca"],
  ["forcedTokens", { forcedTokens: [7, 3] }, "fbcabcabc"],
  ["noRepeatNgramSize", { noRepeatNgramSize: 2 }, "abcbacdbd"],
  ["dryMultiplier", { dryMultiplier: 3, dryBase: 1, dryAllowedLength: 2 }, "abcacadbc"],
  ["dryMultiplier, so small that only its power tells", { dryMultiplier: 0.9, dryBase: 1.5 }, "abcababcb"],
  ["frequencyPenalty", { frequencyPenalty: 1.5 }, "abcabcdbc"],
  ["penaltyLastN", { frequencyPenalty: 9, penaltyLastN: 1 }, "abcabcabc"],
  ["presencePenalty in a window", { presencePenalty: 9, penaltyLastN: 2 }, "abcabcabc"],
  ["presencePenalty in a wider one", { presencePenalty: 9, penaltyLastN: 3 }, "abcdeabcd"],
])("%s", async (_, options, text) => {
  expect((await write(looping, "c", options)).text).toBe(text);
});

describe("DRY", () => {
  // "abc" is in the prompt; after "ab" DRY speaks against c.
  const dry = (options: GenerateOptions, prompt = "abcdefab") =>
    write(looping, prompt, { maxNewTokens: 1, dryMultiplier: 4, dryBase: 1, ...options }).then(({ text }) => text);

  test("speaks against going on with what has been repeated", async () => expect(await dry({})).toBe("a"));
  test("dryAllowedLength: not before so many", async () => expect(await dry({ dryAllowedLength: 3 })).toBe("c"));
  test("dryBase: by its power, from there on", async () => {
    expect(await dry({ dryMultiplier: 0.4, dryBase: 3, dryAllowedLength: 1 })).toBe("a");
    expect(await dry({ dryMultiplier: 0.4, dryBase: 1, dryAllowedLength: 1 })).toBe("c");
  });
  test("dryPenaltyLastN: within so many", async () => {
    expect(await dry({ dryPenaltyLastN: 8 })).toBe("a");
    expect(await dry({ dryPenaltyLastN: 7 })).toBe("c");
  });
  test("drySequenceBreakers: not across these", async () => {
    expect(await dry({ drySequenceBreakers: "a" })).toBe("c");
    expect(await dry({}, "a:adefa:")).toBe("a"); // ":" is one by default
    expect(await dry({ drySequenceBreakers: [] }, "a:adefa:")).toBe("b");
  });
});

test.each(DISTRIBUTION_CASES)("%s: only what it leaves is drawn", async (_, options, expected) => {
  const bannedTokens = [0, ...Array.from({ length: 21 }, (_unused, i) => i + 11)]; // of its 32 ids ten are the case's
  // Of the settings that the engine knows, those here are options by the same name.
  const { ids } = await write(handMade, "a", { ...options, seed: 5, maxNewTokens: 80, bannedTokens });
  const drawn = new Set(ids.map((id) => id - 1));
  expect([...drawn].filter((id) => !(id in expected))).toEqual([]);
  expect(drawn.size).toBeGreaterThan(Object.keys(expected).length / 2);
});

test("the tokens of minNewTokens cannot be ended by a stop string, and later ones can", async () => {
  expect((await write(looping, "c", { stop: "b" })).text).toBe("a");
  expect((await write(looping, "c", { stop: "b", minNewTokens: 2 })).text).toBe("abca");
  expect((await write(looping, "c", { stop: "bc", minNewTokens: 2 })).text).toBe("abca");
});

test("maxTimeMs ends an answer with what there is, and says so; the next one is whole", async () => {
  const wait = () => new Promise<void>((resolve) => setTimeout(resolve, 10));
  const { ids, end } = await write(looping, "c", { maxTimeMs: 35, maxNewTokens: 400, logitsProcessor: wait });
  expect(end.finishReason).toBe("time");
  expect(ids.length).toBeLessThan(40);
  expect(end.usage.completionTokens).toBe(ids.length);
  expect((await write(looping, "c", { maxTimeMs: 1e9 })).end.finishReason).toBe("length");
});

test("tokenStatistics: probability, rank and entropy are the model's own", async () => {
  const { tokens } = await write(handMade, "a", { tokenStatistics: true, forcedTokens: [2, 1, 4], ignoreEos: true });
  const [first, second, third] = tokens;
  expect(first).toMatchObject({ id: 2, rank: 1 });
  expect(second?.rank).toBe(10); // 0.02 is the least of ten
  expect(third?.rank).toBe(2);
  expect(third?.probability).toBeCloseTo(0.2, 5);
  expect(third?.entropy).toBeCloseTo(1.9786, 3);
  expect((await write(handMade, "a", {})).tokens[0]).not.toHaveProperty("rank");
});

describe("logitsProcessor", () => {
  test("sees the tokens so far, and what it changes is chosen", async () => {
    const seen: number[][] = [];
    const { text, tokens } = await write(looping, "bc", {
      maxNewTokens: 3,
      logitsProcessor: async (logits, { tokens, promptLength }) => {
        seen.push([promptLength, ...tokens]);
        expect(logits).toHaveLength(32);
        await Promise.resolve();
        logits[7] = 99;
      },
    });
    expect(text).toBe("fff");
    expect(seen).toEqual([[2, 3, 4], [2, 3, 4, 7], [2, 3, 4, 7, 7]]); // prettier-ignore
    expect(tokens[0]?.logprob).toBeLessThan(-7); // the model's own
  });

  test("may return others; bias, bans and penalties come after it", async () => {
    const logitsProcessor = () => Float32Array.from({ length: 32 }, (_, id) => (id === 7 ? 9 : id === 8 ? 8 : 0));
    expect((await write(looping, "c", { maxNewTokens: 2, logitsProcessor })).text).toBe("ff");
    expect((await write(looping, "c", { maxNewTokens: 2, logitsProcessor, bannedTokens: [7] })).text).toBe("gg");
    expect((await write(looping, "c", { maxNewTokens: 2, logitsProcessor, presencePenalty: 2 })).text).toBe("fg");
  });

  test.each<[string, GenerateOptions["logitsProcessor"], RegExp]>([
    ["that throws", () => { throw new Error("no"); }, /failed at token 1 .*no/], // prettier-ignore
    ["that gives NaN", (logits) => void (logits[3] = NaN), /NaN for token 3/],
    ["that bans all", (logits) => logits.fill(-Infinity), /banned all 32/],
    ["that gives another length", () => new Float32Array(3), /gave 3 logits; .* 32/],
    ["that gives no logits", () => [1] as unknown as Float32Array, /gave no Float32Array/],
  ])("one %s fails the answer, and only that", async (_, logitsProcessor, message) => {
    const failing = write(looping, "c", logitsProcessor ? { logitsProcessor } : {});
    await expect(failing).rejects.toMatchObject({ code: "option-invalid", message: expect.stringMatching(message) });
    expect((await write(looping, "c", {})).text).toBe("abcabcabc");
  });

  test("one that never comes back is left by an abort", async () => {
    const controller = new AbortController();
    const logitsProcessor = () => {
      setTimeout(() => controller.abort("enough"));
      return new Promise<void>(() => {});
    };
    await expect(write(looping, "c", { logitsProcessor, signal: controller.signal })).rejects.toBe("enough");
    expect((await write(looping, "c", {})).text).toBe("abcabcabc");
  });
});

test.each<[string, GenerateOptions, RegExp]>([
  ["a forced end before minNewTokens", { forcedTokens: [2, 0], minNewTokens: 3 }, /forcedTokens\[1\] ends .* 3/],
  ["a minimum that leaves no token", { minNewTokens: 1, bannedTokens: PIECES_AND_MORE }, /only end tokens/],
])("%s is refused", async (_, options, message) => {
  const refused = write(looping, "c", options);
  await expect(refused).rejects.toMatchObject({ code: "option-invalid", message: expect.stringMatching(message) });
});
