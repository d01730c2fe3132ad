import { describe, expect, test } from "vitest";
import { commonLength, rank } from "./choice";

const ids = (...tokens: number[]) => Uint32Array.from(tokens);

describe("commonLength", () => {
  test.each([
    ["all of the prompt where no candidate changes it", [ids(1, 2, 3), ids(1, 2, 4, 5)], 2],
    ["what is left where a candidate joins the prompt's last token", [ids(1, 2, 3), ids(1, 9)], 1],
    ["nothing where the first token changes", [ids(7)], 0],
    ["no more than a text has", [ids(1)], 1],
  ])("is %s", (_, wholes, length) => {
    expect(commonLength(ids(1, 2), wholes)).toBe(length);
  });
});

describe("rank", () => {
  test("orders by the sum of log-probabilities, and shares 1 among the candidates", () => {
    const choice = rank(["a", "b", "c"], [Float32Array.of(-2, -1), Float32Array.of(-1), Float32Array.of(-3)]);
    expect(choice).toMatchObject({ index: 1, text: "b" });
    expect(choice.candidates.map(({ index, tokenCount, logprob }) => [index, tokenCount, logprob])).toEqual([
      [1, 1, -1],
      [0, 2, -3],
      [2, 1, -3],
    ]);
    const total = Math.exp(-1) + 2 * Math.exp(-3);
    const shares = choice.candidates.map(({ probability }) => probability);
    expect(shares[0]).toBeCloseTo(Math.exp(-1) / total, 12);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  });

  test("texts too unlikely for a number of their own are still told apart", () => {
    const { candidates } = rank(["a", "b"], [Float32Array.of(-900), Float32Array.of(-901)]);
    expect(candidates[0]?.probability).toBeCloseTo(1 / (1 + Math.exp(-1)), 6);
  });
});
