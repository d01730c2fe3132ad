/**
 * A vocabulary of ten tokens whose probabilities can be worked out by hand, what each way of sampling leaves of them, and
 * whether draws come as often as that says.
 */
import { expect } from "vitest";
import type { SamplingSettings } from "../backends/backend";

/** By id; they sum to 1. Their entropy is 1.9786 nats, the standard deviation of their logs 0.8233. */
export const PROBABILITIES = [0.02, 0.3, 0.05, 0.2, 0.05, 0.03, 0.15, 0.1, 0.06, 0.04] as const;
export const LOGITS = Float32Array.from(PROBABILITIES, Math.log);

export const DRAWS = 20_000;

/** What is drawn: id → in proportion to what. */
type Expected = Record<number, number>;

const only = (...ids: number[]): Expected => Object.fromEntries(ids.map((id) => [id, PROBABILITIES[id] ?? NaN]));

/** Kept sets are worked out by hand, in the comments; nothing of the implementation is used. */
export const DISTRIBUTION_CASES: readonly [name: string, settings: Partial<SamplingSettings>, expected: Expected][] = [
  ["temperature", { temperature: 2 }, Object.fromEntries(PROBABILITIES.map((p, id) => [id, Math.sqrt(p)]))],
  ["top-k", { temperature: 1, topK: 3 }, only(1, 3, 6)],
  // 0.30, 0.50, 0.65, 0.75
  ["top-p", { temperature: 1, topP: 0.7 }, only(1, 3, 6, 7)],
  // at least 0.057
  ["min-p", { temperature: 1, minP: 0.19 }, only(1, 3, 6, 7, 8)],
  // by |−ln p − 1.9786|: 0.15 (0.08), 0.10 (0.32), 0.20 (0.37), 0.30 (0.77), …; 0.15, 0.25, 0.45
  ["typical-p", { temperature: 1, typicalP: 0.4 }, only(3, 6, 7)],
  // ln p ≥ ln 0.3 − 1.5 · 0.8233 = −2.439, p ≥ 0.0873
  ["top-n-sigma", { temperature: 1, topNSigma: 1.5 }, only(1, 3, 6, 7)],
  // Of 0.30, 0.20 and 0.15 only the last stays, in half of the draws; the others then have twice their probability.
  [
    "XTC",
    { temperature: 1, xtcProbability: 0.5, xtcThreshold: 0.12 },
    Object.fromEntries(PROBABILITIES.map((p, id) => [id, p > 0.16 ? p / 2 : 1.5 * p])),
  ],
  // Square roots of the five largest: 0.548, 0.447, 0.387, 0.316, 0.245; shares 0.282, 0.512, 0.711, 0.874.
  [
    "temperature, top-k and top-p",
    { temperature: 2, topK: 5, topP: 0.8 },
    Object.fromEntries([1, 3, 6, 7].map((id) => [id, Math.sqrt(PROBABILITIES[id] ?? NaN)])),
  ],
  // p ≥ 0.0873, then ≥ 0.12: 0.30, 0.20, 0.15, 0.65 together; of those ≥ 0.1625 the last stays.
  [
    "top-n-sigma, min-p and XTC",
    { temperature: 1, topNSigma: 1.5, minP: 0.4, xtcProbability: 1, xtcThreshold: 0.25 },
    only(3, 6),
  ],
  // The six largest have entropy 1.6127: 0.15 (0.13), 0.20 (0.15), 0.10 (0.54), 0.30 (0.56); shares 0.174, 0.407, 0.523.
  // Of what is left 0.20 is the largest, and 0.12 its 0.6th part.
  ["top-k, typical-p and min-p", { temperature: 1, topK: 6, typicalP: 0.5, minP: 0.6 }, only(3, 6)],
];

/**
 * Pearson's chi² of the counts stays below what it exceeds once in 1000, and nothing else was drawn.
 *
 * @param counts by id
 */
export function expectFrequencies(counts: ArrayLike<number>, expected: Expected): void {
  const draws = Array.from(counts).reduce((sum, count) => sum + count, 0);
  const weights = Object.entries(expected);
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  let chi = 0;
  let inside = 0;
  for (const [id, weight] of weights) {
    const [wanted, count] = [(weight / total) * draws, counts[Number(id)] ?? 0];
    chi += (count - wanted) ** 2 / wanted;
    inside += count;
  }
  expect(draws - inside, "draws of what was cut off").toBe(0);
  expect(chi, `chi² of ${Array.from(counts).join(" ")}`).toBeLessThan(criticalChiSquared(weights.length - 1));
}

/** The value that chi² exceeds once in 1000. Source: Wilson & Hilferty 1931; 3.0902 is the normal quantile. */
export function criticalChiSquared(freedom: number): number {
  const spread = 2 / (9 * freedom);
  return freedom * (1 - spread + 3.0902 * Math.sqrt(spread)) ** 3;
}
