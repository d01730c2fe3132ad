import { expect, test } from "vitest";
import { compareCache, growth, type ComparedGenerator, type Comparison } from "./compare";

/** Writes the number of tokens before; takes 2 ms a token that is not in its cache. */
function scripted(firstDiffering = Infinity) {
  const calls: { input: readonly number[]; reusePrefix: boolean | undefined }[] = [];
  const generator: ComparedGenerator = {
    generate(input, { reusePrefix }) {
      calls.push({ input, reusePrefix });
      const cachedTokens = reusePrefix ? input.length - 1 : 0;
      const id = input.length + (reusePrefix && input.length >= firstDiffering ? 1 : 0);
      return {
        async *[Symbol.asyncIterator]() {
          yield { tokens: [{ id }] };
        },
        end: Promise.resolve({
          finishReason: "length",
          seed: 0,
          usage: { promptTokens: input.length, cachedTokens, completionTokens: 1 },
          timings: {
            prefillMs: 2 * (input.length - cachedTokens),
            firstTokenMs: 0,
            decodeMs: 0,
            prefillTokensPerSecond: 0,
            decodeTokensPerSecond: 0,
          },
        }),
      };
    },
  };
  return { calls, generator };
}

const { signal } = new AbortController();

test("each token is written twice from the same text, without and with the cache, after one call to warm up", async () => {
  const { calls, generator } = scripted();
  const { steps, promptTokens, endedBy } = await compareCache(generator, [7, 8, 9], 3, signal, () => {});
  expect([promptTokens, endedBy]).toEqual([3, undefined]);
  expect(steps).toEqual([
    { length: 3, withoutMs: 6, withMs: 2, cachedTokens: 2 },
    { length: 4, withoutMs: 8, withMs: 2, cachedTokens: 3 },
    { length: 5, withoutMs: 10, withMs: 2, cachedTokens: 4 },
  ]);
  expect(calls.map(({ input, reusePrefix }) => [input.length, reusePrefix])).toEqual([
    [3, false],
    ...[3, 4, 5].flatMap((length) => [
      [length, false],
      [length, true],
    ]),
  ]);
  expect(calls.at(-1)?.input).toEqual([7, 8, 9, 3, 4]);
});

test("it ends, and says so, where the two write different tokens", async () => {
  const comparison = await compareCache(scripted(4).generator, [7, 8, 9], 5, signal, () => {});
  expect(comparison).toMatchObject({ endedBy: "differing", steps: [{ length: 3 }, { length: 4 }] });
});

test("a stop rejects with its reason, and what was measured has been told", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  let seen: Comparison | undefined;
  const running = compareCache(scripted().generator, [1], 9, abort.signal, (comparison) => {
    seen = comparison;
    if (comparison.steps.length === 2) abort.abort(reason);
  });
  await expect(running).rejects.toBe(reason);
  expect(seen?.steps).toHaveLength(2);
});

test("growth is the slope of the straight line through the steps", () => {
  expect(growth([10, 20, 40].map((length) => ({ length, ms: 3 * length + 5 })))).toBeCloseTo(3, 12);
  expect(growth([10, 20, 30].map((length) => ({ length, ms: 5 })))).toBe(0);
  expect(growth([{ length: 3, ms: 4 }])).toBe(0);
});
