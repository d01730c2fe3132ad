/**
 * How a token is chosen from logits: the specification of the GPU sampler.
 *
 * Order: bias and bans, penalties (processors.ts); temperature; top-n-sigma, top-k, typical-p, top-p, min-p, XTC (each
 * renormalizing); one draw.
 */
import type { SamplingSettings, TokenStatistics } from "../backend";
import { cleanLogit, MAX_SCORE, processLogits, scoreOf, type ProcessingContext } from "./processors";

/** Bounds 1 / temperature: temperatures below 1e-30 act as 1e-30, and no product is inf · 0. */
export const MAX_INVERSE_TEMPERATURE = 1e30;

export interface KeptSet {
  /** Ascending. Never empty. */
  ids: Uint32Array;
  /** e^((score − highest score) / temperature) for each; their sum is what probabilities are relative to. */
  weights: Float64Array;
}

/** Differences to the highest score beyond this count as this much for top-n-sigma: their squares fit float32. */
const LARGEST_GAP = 1e15;

/**
 * The tokens that may be drawn, with weights w = e^x, x = (s − max s) / temperature, for temperature > 0. Each cut works
 * on what the one before left; "in order" is by descending score, equal scores by ascending id:
 * - top-n-sigma: scores of at least max s − n · σ, σ the standard deviation of all scores (0: no cut)
 * - top-k: the first k in order (0, or k ≥ V: no cut)
 * - typical-p: by ascending |x − Σ p·x|, which is |−ln p − entropy|, the fewest whose weights sum to at least
 *   p · (sum of all), and those as near as the last of them (1: no cut)
 * - top-p: the shortest beginning in order whose weights sum to at least p · (sum of all) (1: no cut; never none)
 * - min-p: weights of at least minP · (the largest of all weights) (0: no cut)
 * - XTC, for a part xtcProbability of all choices: of those with weights of at least xtcThreshold · (sum of all) only the
 *   last in order stays
 * Tokens with score −inf are out; if that is all of them, the lowest id stays, alone.
 *
 * Sources: Tang et al. 2024, "Top-nσ"; Fan et al. 2018 (top-k); Meister et al. 2022, "Locally Typical Sampling";
 * Holtzman et al. 2019 (top-p); Nguyen et al. 2024 (min-p); p-e-w 2024 (XTC; text-generation-webui, pull request 6335).
 *
 * @param scores [V], see `processLogits`
 * @param chance in [0, 1): XTC acts where it is below xtcProbability
 */
export function keptSet(scores: Float32Array, settings: SamplingSettings, chance = 0): KeptSet {
  let order = Uint32Array.from(scores.keys()).filter((id) => scoreOf(scores, id) !== -Infinity);
  if (order.length === 0) return { ids: Uint32Array.of(0), weights: Float64Array.of(1) };
  order.sort((a, b) => scoreOf(scores, b) - scoreOf(scores, a) || a - b);

  const inverseTemperature = Math.min(1 / settings.temperature, MAX_INVERSE_TEMPERATURE);
  const highest = scoreOf(scores, order[0] as number); // not empty
  const exponentOf = (id: number): number => (scoreOf(scores, id) - highest) * inverseTemperature;
  const weightOf = (id: number): number => Math.exp(exponentOf(id));
  const weightsOf = (ids: Uint32Array): Float64Array => Float64Array.from(ids, weightOf);

  if (settings.topNSigma > 0) {
    const gaps = Float64Array.from(order, (id) => Math.min(highest - scoreOf(scores, id), LARGEST_GAP));
    const most = settings.topNSigma * deviationOf(gaps.filter((_, i) => scoreOf(scores, order[i] ?? -1) > -MAX_SCORE));
    order = order.filter((_, i) => (gaps[i] ?? 0) <= most);
  }
  if (settings.topK > 0) order = order.subarray(0, settings.topK);
  if (settings.typicalP < 1) {
    const weights = weightsOf(order);
    const total = sumOf(weights);
    const mean = order.reduce((sum, id, i) => sum + ((weights[i] ?? 0) / total) * Math.max(exponentOf(id), -1e5), 0);
    const distanceOf = (id: number): number => Math.abs(Math.max(exponentOf(id), -1e5) - mean);
    const nearest = order.toSorted((a, b) => distanceOf(a) - distanceOf(b) || a - b);
    const last = nearest[countForProbability(weightsOf(nearest), settings.typicalP) - 1] as number; // at least one
    order = order.filter((id) => distanceOf(id) <= distanceOf(last));
  }
  if (settings.topP < 1) order = order.subarray(0, countForProbability(weightsOf(order), settings.topP));
  if (settings.minP > 0) {
    const least = settings.minP * weightOf(order[0] as number); // of a set that is never empty
    order = order.filter((id) => weightOf(id) >= least);
  }
  if (chance < settings.xtcProbability) {
    const least = settings.xtcThreshold * sumOf(weightsOf(order));
    const likely = order.filter((id) => weightOf(id) >= least).length;
    order = order.subarray(Math.max(0, likely - 1));
  }

  const ids = order.toSorted();
  return { ids, weights: Float64Array.from(ids, weightOf) };
}

/** How many of the (descending) weights make up at least `probability` of their sum; at least one. */
function countForProbability(weights: Float64Array, probability: number): number {
  const wanted = probability * sumOf(weights);
  let sum = 0;
  const last = weights.findIndex((weight) => (sum += weight) >= wanted);
  return last === -1 ? weights.length : last + 1; // -1: p · sum was rounded up past the sum
}

function sumOf(weights: Float64Array): number {
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** Of all of them, not of a sample; 0 of none. */
function deviationOf(values: Float64Array): number {
  const count = Math.max(1, values.length);
  const mean = sumOf(values) / count;
  return Math.sqrt(sumOf(values.map((value) => (value - mean) ** 2)) / count);
}

/**
 * The first id, ascending, at which the running sum of weights exceeds u · (sum of all).
 *
 * @param u in [0, 1)
 */
export function draw({ ids, weights }: KeptSet, u: number): number {
  const wanted = u * sumOf(weights);
  let sum = 0;
  const index = weights.findIndex((weight) => (sum += weight) > wanted);
  return ids[index] as number; // found: the last running sum is the sum of all, which u < 1 keeps above `wanted`
}

/**
 * A uniform number in [0, 1), a multiple of 2^-24 and so exact in float32, that depends on nothing but its arguments.
 *
 * @param seedLow u32
 * @param seedHigh u32
 * @param position of the token that is being chosen
 */
export function uniform(seedLow: number, seedHigh: number, position: number): number {
  return (pcg3d(seedLow, seedHigh, position)[0] >>> 8) * 2 ** -24;
}

/** As `uniform`, and independent of it: whether XTC acts. */
export function secondUniform(seedLow: number, seedHigh: number, position: number): number {
  return (pcg3d(seedLow, seedHigh, position)[1] >>> 8) * 2 ** -24;
}

/**
 * PCG3D: three u32 to three well-mixed u32, in wrapping u32 arithmetic (the same in WGSL).
 *
 * Source: Jarzynski & Olano 2020, "Hash Functions for GPU Rendering", JCGT 9(3), listing of pcg3d.
 */
export function pcg3d(x: number, y: number, z: number): [number, number, number] {
  const step = (v: number): number => Math.imul(v, 1664525) + 1013904223;
  let [a, b, c] = [step(x), step(y), step(z)];
  const mix = (): void => {
    a += Math.imul(b, c);
    b += Math.imul(c, a);
    c += Math.imul(a, b);
  };
  mix();
  [a, b, c] = [a ^ (a >>> 16), b ^ (b >>> 16), c ^ (c >>> 16)];
  mix();
  return [a >>> 0, b >>> 0, c >>> 0];
}

/** The largest score's id, the lowest of equals; 0 where all are −inf. */
export function argMax(scores: Float32Array): number {
  let best = 0;
  scores.forEach((score, id) => {
    if (score > scoreOf(scores, best)) best = id;
  });
  return best;
}

/**
 * Natural log of the softmax at `id`: logits[id] − max − ln Σ e^(logits[j] − max); NaN logits count as −inf.
 *
 * @param logits [V], the model's own
 */
export function logSoftmaxAt(logits: Float32Array, id: number): number {
  return cleanLogit(logits[id] as number) - logSumExp(logits); // ids are below V
}

/** ln Σ e^logits, stable; 0 where all are −inf, so that their log-probabilities are −inf and not NaN. */
function logSumExp(logits: Float32Array): number {
  let max = -Infinity;
  for (const logit of logits) max = Math.max(max, cleanLogit(logit));
  if (max === -Infinity) return 0;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(cleanLogit(logit) - max);
  return max + Math.log(sum);
}

/** The `count` likeliest tokens, likeliest first, equal ones by ascending id; log-probabilities as `logSoftmaxAt`. */
export function topLogprobs(logits: Float32Array, count: number): { id: number; logprob: number }[] {
  if (count === 0) return [];
  const best: { id: number; logit: number }[] = [];
  logits.forEach((raw, id) => {
    const logit = cleanLogit(raw);
    const after = best.findIndex((other) => logit > other.logit);
    best.splice(after === -1 ? best.length : after, 0, { id, logit });
    best.length = Math.min(best.length, count);
  });
  const sum = logSumExp(logits);
  return best.map(({ id, logit }) => ({ id, logprob: logit - sum }));
}

/**
 * Of a token in the model's own distribution: its place among all, from 1, and the distribution's entropy in nats.
 *
 * @param logits [V], the model's own; NaN counts as −inf
 */
export function tokenStatistics(logits: Float32Array, id: number): TokenStatistics {
  const own = cleanLogit(logits[id] as number); // ids are below V
  const normalizer = logSumExp(logits);
  let rank = 1;
  let entropy = 0;
  logits.forEach((raw, other) => {
    const logit = cleanLogit(raw);
    if (logit > own || (logit === own && other < id)) rank++;
    const logprob = logit - normalizer;
    if (logit !== -Infinity) entropy -= Math.exp(logprob) * logprob;
  });
  return { rank, entropy };
}

export interface Choice {
  id: number;
  /** Natural log of the model's own probability of `id`. */
  logprob: number;
  top: { id: number; logprob: number }[];
  statistics: TokenStatistics | undefined;
  invalid: boolean;
}

/**
 * The next token: a forced one where there is one left; else greedy (the highest score after bias and penalties, the
 * lowest id of equals) at temperature 0; else one draw from the kept set.
 *
 * @param logits [V], the model's own
 * @param position of the token that is being chosen
 */
export function chooseToken(
  logits: Float32Array,
  settings: SamplingSettings,
  promptTokens: ArrayLike<number>,
  answerTokens: ArrayLike<number>,
  position: number,
  context: ProcessingContext = {},
): Choice {
  const { scores, invalid } = processLogits(logits, settings, promptTokens, answerTokens, context);
  const [low, high] = settings.seed;
  const drawn = () => draw(keptSet(scores, settings, secondUniform(low, high, position)), uniform(low, high, position));
  const forced = settings.forcedTokens[answerTokens.length];
  const id = forced ?? (settings.temperature === 0 ? argMax(scores) : drawn());
  return {
    id,
    logprob: logSoftmaxAt(logits, id),
    top: topLogprobs(logits, settings.topLogprobs),
    statistics: settings.tokenStatistics ? tokenStatistics(logits, id) : undefined,
    invalid,
  };
}
