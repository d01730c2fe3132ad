import { describe, expect, test } from "vitest";
import { at } from "../../testing/at";
import { expectClose } from "../../testing/compare";
import { normalValues, seededRandom } from "../../testing/random";
import { samplingSettings } from "../../testing/sampling-settings";
import { MAX_SCORE, processLogits } from "./processors";
import { argMax, chooseToken, draw, keptSet, logSoftmaxAt, pcg3d, topLogprobs, uniform } from "./sampling";

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

/** 32 logits: `other`, but for those that are listed. */
function logitsOf(listed: Record<number, number>, other: number): Float32Array {
  const logits = new Float32Array(32).fill(other);
  for (const [id, logit] of Object.entries(listed)) logits[Number(id)] = logit;
  return logits;
}

/** How often each of 0 … length − 1 occurs. */
function countsOf(values: readonly number[], length: number): number[] {
  const counts = Array<number>(length).fill(0);
  for (const value of values) counts[value] = at(counts, value) + 1;
  return counts;
}

describe("processLogits", () => {
  const logits = Float32Array.of(1, -1, 0, 2);
  test.each([
    ["leaves logits without settings", {}, [], [], [1, -1, 0, 2]],
    [
      "adds biases, bans with −inf, keeps +inf finite",
      {
        logitBias: new Map([
          [0, 2.5],
          [1, -inf],
          [2, inf],
        ]),
      },
      [],
      [],
      [3.5, -inf, MAX_SCORE, 2],
    ],
    ["ignores a bias beyond the vocabulary", { logitBias: new Map([[9, 5]]) }, [], [], [1, -1, 0, 2]],
    [
      "divides positive and multiplies negative scores, once per token",
      { repetitionPenalty: 2 },
      [0, 0, 1],
      [1, 2],
      [0.5, -2, 0, 2],
    ],
    ["counts the answer, not the prompt, for frequency", { frequencyPenalty: 0.5 }, [0, 0], [3, 3, 1], [1, -1.5, 0, 1]],
    ["takes presence once", { presencePenalty: 0.25 }, [0], [3, 3, 1], [1, -1.25, 0, 1.75]],
    [
      "adds the bias before the penalty",
      { repetitionPenalty: 2, logitBias: new Map([[1, 2]]) },
      [1],
      [],
      [1, 0.5, 0, 2],
    ],
    [
      "keeps a ban banned under penalties",
      { repetitionPenalty: 0.5, presencePenalty: -9, logitBias: new Map([[1, -inf]]) },
      [1],
      [1],
      [1, -inf, 0, 2],
    ],
  ] as const)("%s", (_, changes, prompt, answer, expected) => {
    const { scores, invalid } = processLogits(logits, samplingSettings(changes), prompt, answer);
    expect([...scores]).toEqual(expected);
    expect(invalid).toBe(false);
  });

  test.each([
    ["NaN counts as lowest, and is reported", [nan, 1], [-inf, 1], true],
    ["+inf counts as 3.0e38, and is reported", [inf, 1], [MAX_SCORE, 1], true],
    ["−inf alone is reported", [-inf, -inf], [-inf, -inf], true],
    ["−inf beside finite ones is not", [-inf, 1], [-inf, 1], false],
  ] as const)("%s", (_, raw, expected, reported) => {
    const { scores, invalid } = processLogits(Float32Array.from(raw), samplingSettings(), [], []);
    expect([...scores]).toEqual(expected);
    expect(invalid).toBe(reported);
  });

  test("banning every token is the caller's wish, not a broken model", () => {
    const settings = samplingSettings({ logitBias: new Map([0, 1, 2, 3].map((id) => [id, -inf])) });
    expect(processLogits(logits, settings, [], []).invalid).toBe(false);
  });
});

// A public report: a penalty that rewarded negative logits, or applied per occurrence.
test.each([
  [[2, 3], { 2: -1, 4: -1.4 }, 1.5, 4],
  [[2, 2, 2, 5], { 2: -1, 6: -1.9 }, 1.5, 2],
  [[2, 7], { 2: 0, 4: -0.1 }, 1.5, 2],
  [[2, 8], { 2: 1, 4: 0.8 }, 1.5, 4],
  [[2, 8], { 2: 1, 4: 0.8 }, 1, 2],
])("prompt %j with logits %j and penalty %f is followed by %i", (prompt, logits, repetitionPenalty, expected) => {
  expect(chooseToken(logitsOf(logits, -9), samplingSettings({ repetitionPenalty }), prompt, [], 2).id).toBe(expected);
});

describe("keptSet", () => {
  const scores = Float32Array.from([0.1, 0.4, 0.2, 0.4, 0.1], Math.log); // probabilities / 1.2
  test.each([
    ["keeps all without cuts", {}, [0, 1, 2, 3, 4]],
    ["top-k keeps the k largest", { topK: 3 }, [1, 2, 3]],
    ["top-k breaks a tie by the lower id", { topK: 1 }, [1]],
    ["top-k of the lowest tie takes the lower id", { topK: 4 }, [0, 1, 2, 3]],
    ["top-k above the vocabulary cuts nothing", { topK: 4294967295 }, [0, 1, 2, 3, 4]],
    ["top-p keeps the shortest prefix that reaches p", { topP: 0.5 }, [1, 3]],
    ["top-p takes one token when it suffices", { topP: 0.3 }, [1]],
    ["top-p 0 keeps one", { topP: 0 }, [1]],
    ["top-p is relative to what top-k left", { topK: 3, topP: 0.75 }, [1, 3]],
    ["top-p without that top-k keeps more", { topP: 0.75 }, [1, 2, 3]],
    ["min-p is relative to the largest", { minP: 0.4 }, [1, 2, 3]],
    ["temperature comes before top-p", { temperature: 0.25, topP: 0.95 }, [1, 3]],
    ["temperature comes before min-p", { temperature: 2, minP: 0.45 }, [0, 1, 2, 3, 4]],
  ])("%s", (_, changes, expected) => {
    const { ids, weights } = keptSet(scores, samplingSettings({ temperature: 1, ...changes }));
    expect([...ids]).toEqual(expected);
    expect(weights.length).toBe(ids.length);
  });

  test("top-p stops where p is reached exactly", () => {
    const equal = new Float32Array(4);
    expect([...keptSet(equal, samplingSettings({ temperature: 1, topP: 0.5 })).ids]).toEqual([0, 1]);
  });

  test("weights are e^((score − highest) / temperature), ids ascending", () => {
    const { weights } = keptSet(scores, samplingSettings({ temperature: 0.5 }));
    expectClose(weights, [1 / 16, 1, 1 / 4, 1, 1 / 16], { relative: 1e-6 });
  });

  test("a token at −inf is never kept, unless all are: then the lowest id", () => {
    const settings = samplingSettings({ temperature: 1 });
    expect([...keptSet(Float32Array.of(-inf, 1, -inf), settings).ids]).toEqual([1]);
    expect([...keptSet(Float32Array.of(-inf, -inf), settings).ids]).toEqual([0]);
  });
});

test.each([
  [0, 3],
  [0.24, 3],
  [0.25, 5],
  [0.74, 5],
  [0.75, 9],
  [1 - 2 ** -24, 9],
])("u = %f draws by the running sum in id order: %i", (u, expected) => {
  expect(draw({ ids: Uint32Array.of(3, 5, 9), weights: Float64Array.of(1, 2, 1) }, u)).toBe(expected);
});

test("a weight of 0 is never drawn", () => {
  expect(draw({ ids: Uint32Array.of(0, 1, 2), weights: Float64Array.of(0, 1, 0) }, 0)).toBe(1);
});

describe("the random number", () => {
  test("pcg3d gives the values worked out in Python's integers", () => {
    expect(pcg3d(0, 0, 0)).toEqual([2611992518, 2833812075, 1058359340]);
    expect(pcg3d(1, 2, 3)).toEqual([4204755366, 1223881804, 1500469937]);
    expect(pcg3d(0xffffffff, 0x80000000, 12345)).toEqual([2925550283, 3323640789, 13656217]);
  });

  /** Pearson's chi² of 64 equal bins has mean 63 and standard deviation 11.2; 5 of these away is a fault. */
  const chiSquare = (draws: number[]): number => {
    const bins = countsOf(
      draws.map((u) => Math.floor(u * 64)),
      64,
    );
    const expected = draws.length / 64;
    return bins.reduce((sum, bin) => sum + (bin - expected) ** 2 / expected, 0);
  };

  test.each<[string, (i: number) => number]>([
    ["over positions of one seed", (i) => uniform(42, 0, i)],
    ["over seeds at one position", (i) => uniform(i, 0, 100)],
    ["over high halves of the seed", (i) => uniform(7, i, 5)],
    ["over both at once", (i) => uniform(i, i, i)],
  ])("is uniform %s", (_, f) => {
    const draws = Array.from({ length: 64_000 }, (_unused, i) => f(i));
    expect(draws.every((u) => u >= 0 && u < 1 && Math.fround(u) === u)).toBe(true);
    expect(Math.abs(chiSquare(draws) - 63)).toBeLessThan(5 * 11.2);
  });

  test("neighbouring positions do not go together", () => {
    const draws = Array.from({ length: 20_000 }, (_, i) => uniform(3, 1, i) - 0.5);
    const correlation = draws.slice(1).reduce((sum, u, i) => sum + u * at(draws, i), 0) / (draws.length / 12);
    expect(Math.abs(correlation)).toBeLessThan(4 / Math.sqrt(draws.length));
  });
});

describe("chooseToken", () => {
  const logits = Float32Array.of(0.5, 2, 2, -1);

  test("greedy takes the highest score, the lowest id of equals", () => {
    expect(chooseToken(logits, samplingSettings(), [], [], 0).id).toBe(1);
    expect(argMax(Float32Array.of(-inf, -inf))).toBe(0);
  });

  test("draws each token as often as its probability says", () => {
    const draws = 20_000;
    const settings = samplingSettings({ temperature: 1.5 });
    const ids = Array.from({ length: draws }, (_, position) => chooseToken(logits, settings, [], [], position).id);
    const counts = countsOf(ids, 4);
    const weights = Float64Array.from(logits, (logit) => Math.exp(logit / 1.5));
    const sum = weights.reduce((a, b) => a + b);
    const expected = weights.map((weight) => (weight / sum) * draws);
    const chi = counts.reduce((total, count, i) => total + (count - at(expected, i)) ** 2 / at(expected, i), 0);
    expect(chi).toBeLessThan(16.3); // 3 degrees of freedom, odds 1 in 1000
  });

  // A public report: tiny temperatures gave NaN.
  test.each([0.001, 1e-6, 1e-20, 1e-38, 1e-45, 1e-300])(
    "temperature %f takes the highest, with its log-probability",
    (temperature) => {
      const cold = logitsOf({ 2: 60, 3: 59.9, 4: -100 }, -4);
      for (let seed = 0; seed < 20; seed++) {
        const settings = samplingSettings({ temperature, seed: [seed, 0], topLogprobs: 2 });
        const choice = chooseToken(cold, settings, [1], [], 1);
        expect(choice.id).toBe(2);
        expectClose([choice.logprob, at(choice.top, 1).logprob], [-0.644397, -0.744397], { absolute: 1e-5 });
        expect(choice.top.map(({ id }) => id)).toEqual([2, 3]);
      }
    },
  );

  // A public report: topK at or above the vocabulary.
  test("topK of the vocabulary or more changes no draw; one less never gives the least likely", () => {
    const rising = Float32Array.from({ length: 32 }, (_, id) => 0.05 * id);
    for (let seed = 0; seed < 50; seed++) {
      const choose = (topK: number) =>
        chooseToken(rising, samplingSettings({ temperature: 1, topK, seed: [seed, 0] }), [1], [], 1).id;
      expect(new Set([0, 32, 33, 1000, 4294967295].map(choose)).size).toBe(1);
      expect(choose(31)).not.toBe(0);
      expect(choose(1)).toBe(31);
    }
  });

  test("log-probabilities are the model's own, before bias, penalty and temperature", () => {
    const settings = samplingSettings({ logitBias: new Map([[3, 50]]), repetitionPenalty: 3, temperature: 0.3 });
    const choice = chooseToken(logits, settings, [1, 2], [], 4);
    expect(choice.id).toBe(3);
    expect(choice.logprob).toBe(logSoftmaxAt(logits, 3));
  });
});

describe("log-probabilities", () => {
  test("sum to 1, whatever is added to the logits", () => {
    const logits = normalValues(seededRandom(3), 500, 4);
    const total = (offset: number): number => {
      const moved = logits.map((logit) => logit + offset);
      return moved.reduce((sum, _, id) => sum + Math.exp(logSoftmaxAt(moved, id)), 0);
    };
    expectClose([total(0), total(1000), total(-1000)], [1, 1, 1], { absolute: 1e-12 });
  });

  test("the top are in order, equal ones by id", () => {
    const top = topLogprobs(Float32Array.of(1, 3, 2, 3, nan), 4);
    expect(top.map(({ id }) => id)).toEqual([1, 3, 2, 0]);
    expect(topLogprobs(Float32Array.of(1, 2), 20).length).toBe(2);
    expect(topLogprobs(Float32Array.of(1, 2), 0)).toEqual([]);
  });

  test("of logits without a finite one are −inf, not NaN", () => {
    expect(logSoftmaxAt(Float32Array.of(-inf, nan), 0)).toBe(-inf);
  });
});
