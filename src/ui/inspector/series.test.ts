import { expect, test } from "vitest";
import { cacheCost, otherContexts } from "./cache-cost";
import { median, sampleRows, seriesOf, smoothed } from "./series";

const token = (logprob: number, elapsedMs: number, entropy?: number) => ({
  ...{ id: 1, text: "a", bytes: null, start: 0, end: 1 },
  ...{ logprob, elapsedMs, entropy },
});

test("log-probability adds up, and perplexity is e to the mean surprise so far", () => {
  const series = seriesOf([token(-1, 5, 2), token(-3, 7)]);
  expect(series).toMatchObject({ number: [1, 2], surprise: [1, 3], entropy: [2, null], logprob: [-1, -4] });
  expect(series.perplexity[0]).toBeCloseTo(Math.E, 12);
  expect(series.perplexity[1]).toBeCloseTo(Math.exp(2), 12);
  expect(series.elapsedMs).toEqual([5, 7]);
});

test("times that came together are shared out among their neighbours", () => {
  expect(smoothed([0, 30, 0, 30], 1)).toEqual([15, 10, 20, 15]);
});

test.each([
  [3, 5, [0, 1, 2]],
  [101, 5, [0, 25, 50, 75, 100]],
])("of %i rows at most %i are shown, the first and the last among them", (count, most, rows) => {
  expect(sampleRows(count, most)).toEqual(rows);
});

test("the median is the middle value, or the mean of the two middle ones", () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([])]).toEqual([2, 2.5, NaN]);
});

test("a token takes layers x heads x head size x 2 x bytes in the KV cache", () => {
  const kvShape = [{ layers: 6, heads: 4, headSize: 32 }];
  const facts = { kvShape, kvDtype: "f32", contextLength: 512, bytes: { kvCache: 3_145_728 } } as const;
  const { bytesPerToken, heldBytes } = cacheCost(facts);
  expect(bytesPerToken).toBe(6144);
  expect(bytesPerToken * 512).toBe(heldBytes);
  expect(cacheCost({ ...facts, kvDtype: "f16" }).bytesPerToken).toBe(3072);
});

test("a context is compared with longer ones only", () => {
  expect(otherContexts(512)).toEqual([512, 2048, 8192, 32_768]);
  expect(otherContexts(32_768)).toEqual([32_768, 131_072]);
});
