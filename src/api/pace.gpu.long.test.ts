/** What reading and guessing cost, measured in turns in one run, medians of each. Meaningless where others use the machine unevenly. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { TextGenerator, type GenerateOptions } from "../index";
import { BUNDLED_URL } from "../testing/served-models";

const ROUNDS = 7;
const TOKENS = 384;
const NEW_TOKENS = 64;

let generator: TextGenerator;
let headShare: number;
beforeAll(async () => {
  generator = await TextGenerator.load(BUNDLED_URL, { contextLength: 512 });
  const config = (await (await fetch(new URL("config.json", new URL(BUNDLED_URL, location.href)))).json()) as {
    hidden_size: number;
  };
  const head = config.hidden_size * generator.info.vocabSize;
  headShare = head / (generator.info.parameterCount - head); // the head is the embedding: it counts once
});
afterAll(() => generator.dispose());

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;

/** Each way once a round, so that what slows the machine down slows all of them. */
async function inTurns(ways: Record<string, () => Promise<unknown>>): Promise<Record<string, number>> {
  const times = Object.fromEntries(Object.keys(ways).map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, run] of Object.entries(ways)) {
      const startMs = performance.now();
      await run();
      if (round > 0) times[name]?.push(performance.now() - startMs); // the first compiles
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, each]) => [name, median(each)]));
}

test("score costs at most 1.3 times the prefill of the same tokens, and the arithmetic of their heads", async () => {
  const ids = Array.from({ length: TOKENS }, (_, at) => 5 + ((at * 37) % 1000));
  const { prefill = NaN, score = NaN } = await inTurns({
    prefill: () => generator.generate(ids, { maxNewTokens: 1, reusePrefix: false }).end,
    score: () => generator.score(ids),
  });
  const bound = (1.3 + headShare) * prefill;
  console.log(
    `${TOKENS} tokens on ${generator.info.tier}: prefill ${prefill.toFixed(0)} ms, score ${score.toFixed(0)} ms ` +
      `(${(score / prefill).toFixed(2)}x); heads are ${headShare.toFixed(2)} of a prefill; bound ${bound.toFixed(0)} ms`,
  );
  expect(score).toBeLessThanOrEqual(bound);
});

test("guessing ahead: passes are counted, milliseconds are told", async () => {
  const story = "Once upon a time";
  const texts: [string, GenerateOptions][] = [
    ["an answer that repeats itself", { frequencyPenalty: -3 }],
    ["a story, greedy", {}],
    ["a story, drawn", { temperature: 0.8, seed: 3 }],
  ];
  for (const [name, options] of texts) {
    const passes: Record<string, number> = {};
    const write = (way: string, speculative?: GenerateOptions["speculative"]) => async () => {
      const all = { maxNewTokens: NEW_TOKENS, ignoreEos: true, reusePrefix: false, ...options };
      const { speculation, usage } = await generator.generate(story, { ...all, ...(speculative && { speculative }) })
        .end;
      expect(usage.completionTokens).toBe(NEW_TOKENS);
      passes[way] = NEW_TOKENS - (speculation?.accepted ?? 0);
    };
    const ms = await inTurns({
      plain: write("plain"),
      "3 drafts": write("3 drafts", { method: "prompt-lookup", draftTokens: 3 }),
      "7 drafts": write("7 drafts", { method: "prompt-lookup", draftTokens: 7 }),
    });
    const told = Object.entries(ms).map(([way, time]) => `${way} ${passes[way]} passes ${time.toFixed(0)} ms`);
    console.log(`${NEW_TOKENS} tokens, ${name}: ${told.join(", ")}`);
    if (options.frequencyPenalty !== undefined) expect(passes["7 drafts"]).toBeLessThan(NEW_TOKENS / 2);
  }
});
