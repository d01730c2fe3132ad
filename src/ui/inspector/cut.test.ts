import { describe, expect, test } from "vitest";
import { GREEDY } from "../../backends/backend";
import { keptSet } from "../../backends/reference/sampling";
import { cutOf, type KnownToken, type SamplerSettings } from "./cut";

/** A vocabulary of 40 with falling logits, and its ten likeliest tokens. */
const LOGITS = Float32Array.from({ length: 40 }, (_, id) => 3 - 0.35 * id + 0.1 * Math.sin(id));
const SUM = LOGITS.reduce((sum, logit) => sum + Math.exp(logit), 0);
const known = (count: number): KnownToken[] =>
  [...LOGITS.keys()]
    .sort((a, b) => (LOGITS[b] ?? 0) - (LOGITS[a] ?? 0))
    .slice(0, count)
    .map((id) => ({ id, text: String(id), logprob: (LOGITS[id] ?? 0) - Math.log(SUM) }));

/** What the reference sampler keeps, with its probabilities. */
function drawn(settings: Omit<SamplerSettings, "seed">): Map<number, number> {
  const { ids, weights } = keptSet(LOGITS, { ...GREEDY, temperature: 1, ...(settings as Partial<typeof GREEDY>) });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return new Map([...ids].map((id, index) => [id, (weights[index] ?? 0) / total]));
}

describe.each<[string, Omit<SamplerSettings, "seed">]>([
  ["temperature alone", { temperature: 1 }],
  ["a low temperature", { temperature: 0.5 }],
  ["a high temperature", { temperature: 1.7 }],
  ["top-k within what is known", { topK: 4 }],
  ["top-k beyond what is known", { topK: 15 }],
  ["top-p that cuts early", { topP: 0.5 }],
  ["top-p that cuts late", { topP: 0.99, temperature: 1.3 }],
  ["min-p", { minP: 0.2 }],
  ["min-p that reaches the rest", { minP: 0.001, temperature: 0.8 }],
  ["typical-p within top-k", { topK: 8, typicalP: 0.6 }],
  ["typical-p of an unknown rest", { typicalP: 0.6 }],
  ["all of them", { temperature: 0.8, topK: 9, topP: 0.9, minP: 0.05 }],
])("with %s", (_, settings) => {
  test("what it says of the ten likeliest is true of the reference sampler's draw", () => {
    const truth = drawn(settings);
    const { alternatives } = cutOf(known(10), settings, LOGITS.length);
    for (const { id, cutBy, uncertain, final } of alternatives) {
      const actual = truth.get(id) ?? 0;
      if (cutBy !== undefined) expect(actual, `${id} was cut by ${cutBy}`).toBe(0);
      else if (!uncertain) expect(actual, `${id} stayed`).toBeGreaterThan(0);
      expect(final.low).toBeLessThanOrEqual(actual + 1e-6);
      expect(final.high).toBeGreaterThanOrEqual(actual - 1e-6);
    }
  });

  test("what it says of the rest is true of it, too", () => {
    const truth = drawn(settings);
    const top = known(10);
    for (const { id } of top) truth.delete(id);
    const actual = [...truth.values()].reduce((sum, one) => sum + one, 0);
    const { restFinal } = cutOf(top, settings, LOGITS.length);
    expect(restFinal.low).toBeLessThanOrEqual(actual + 1e-6);
    expect(restFinal.high).toBeGreaterThanOrEqual(actual - 1e-6);
  });
});

test("a cut among the known tokens makes every number exact, and names what took each one out", () => {
  const { alternatives, restFinal } = cutOf(known(10), { topK: 6, topP: 0.7 }, LOGITS.length);
  expect(alternatives.map(({ cutBy }) => cutBy)).toEqual([
    ...Array<undefined>(3).fill(undefined),
    ...Array<string>(3).fill("topP"),
    ...Array<string>(4).fill("topK"),
  ]);
  for (const { final } of alternatives) expect(final.high - final.low).toBeLessThan(1e-12);
  expect(alternatives.reduce((sum, { final }) => sum + final.low, 0)).toBeCloseTo(1, 12);
  expect(restFinal).toEqual({ low: 0, high: 0 });
});

test("temperature 0 leaves the likeliest token alone", () => {
  const { alternatives, temperature } = cutOf(known(3), {}, LOGITS.length);
  expect(temperature).toBe(0);
  expect(alternatives.map(({ final, cutBy }) => [final.low, cutBy])).toEqual([
    [1, undefined],
    [0, "temperature"],
    [0, "temperature"],
  ]);
});

test("a whole vocabulary that is known leaves nothing open", () => {
  const { alternatives, restBase } = cutOf(known(40), { temperature: 0.9, topP: 0.8 }, LOGITS.length);
  expect(restBase).toBeCloseTo(0, 6);
  const truth = drawn({ temperature: 0.9, topP: 0.8 });
  for (const { id, final } of alternatives) expect(final.low).toBeCloseTo(truth.get(id) ?? 0, 6);
});

test("what changes scores in ways that are not known here is named", () => {
  const settings = { repetitionPenalty: 1.2, topNSigma: 1, xtcProbability: 0.5, typicalP: 0.5 };
  expect(cutOf(known(10), settings, 40).untold).toEqual(["penalties", "topNSigma", "xtc", "typicalP"]);
});
