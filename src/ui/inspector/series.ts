/** Numbers of a text over its tokens: what the plots show, and the same as sentences and tables. */
import type { WrittenToken } from "../word-loom/written-token";

export interface Series {
  /** Token numbers, from 1. */
  number: number[];
  /** -ln p of each token, in nats. */
  surprise: number[];
  /** Of the distribution it was chosen from; null where it was not asked for. */
  entropy: (number | null)[];
  /** Sum of the log-probabilities so far. */
  logprob: number[];
  /** e^(mean surprise so far). */
  perplexity: number[];
  /** Since the token before. */
  elapsedMs: number[];
}

export function seriesOf(tokens: readonly WrittenToken[]): Series {
  const series: Series = { number: [], surprise: [], entropy: [], logprob: [], perplexity: [], elapsedMs: [] };
  let sum = 0;
  tokens.forEach(({ logprob, entropy, elapsedMs }, index) => {
    sum += logprob;
    series.number.push(index + 1);
    series.surprise.push(-logprob);
    series.entropy.push(entropy ?? null);
    series.logprob.push(sum);
    series.perplexity.push(Math.exp(-sum / (index + 1)));
    series.elapsedMs.push(elapsedMs);
  });
  return series;
}

/**
 * Each value as the mean of those around it. Tokens that come to the page together share one arrival, so that single
 * times are 0 or several tokens' sum.
 *
 * @param reach how many values on either side
 */
export function smoothed(values: readonly number[], reach: number): number[] {
  return values.map((_, index) => {
    const window = values.slice(Math.max(0, index - reach), index + reach + 1);
    return window.reduce((sum, value) => sum + value, 0) / window.length;
  });
}

/** Numbers of at most `most` rows, evenly spread, the first and the last among them. */
export function sampleRows(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => index);
  return Array.from({ length: most }, (_, row) => Math.round((row * (count - 1)) / (most - 1)));
}

/** The middle one; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
