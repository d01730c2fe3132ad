/**
 * How a token is chosen from logits: the specification of the GPU sampler.
 *
 * Order: bias and bans, penalties, temperature, top-k, top-p, min-p (each renormalizing), one draw. Scores are rounded
 * to float32 after each step, as on the GPU, so that equal scores are equal in both.
 */
import type { SamplingSettings } from "../backend";

/** Stands for +inf, and bounds finite scores, so that no difference of two is NaN; WGSL has no infinity to write. */
export const MAX_SCORE = Math.fround(3.0e38);
/** Bounds 1 / temperature: temperatures below 1e-30 act as 1e-30, and no product is inf · 0. */
export const MAX_INVERSE_TEMPERATURE = 1e30;

/** A logit as it counts: NaN is the lowest (−inf), +inf is MAX_SCORE, finite ones lie within ±MAX_SCORE. */
export function cleanLogit(logit: number): number {
  return Number.isNaN(logit) || logit === -Infinity ? -Infinity : clamp(logit);
}

export interface ProcessedLogits {
  /** [V] f32; −inf for tokens that must not be chosen, else within ±MAX_SCORE. */
  scores: Float32Array;
  /** A logit was NaN, or none was finite. */
  invalid: boolean;
}

/**
 * Bias and bans, then penalties:
 * - s += bias of the token; a bias of −inf bans it
 * - once for each distinct token of prompt and answer: s / repetitionPenalty if s > 0, else s · repetitionPenalty
 *   (Keskar et al. 2019, "CTRL", as corrected in transformers' RepetitionPenaltyLogitsProcessor)
 * - for each token of the answer: s −= frequencyPenalty · (times it occurs) + presencePenalty (OpenAI API reference)
 *
 * @param logits [V], the model's own
 */
export function processLogits(
  logits: Float32Array,
  settings: SamplingSettings,
  promptTokens: Iterable<number>,
  answerTokens: Iterable<number>,
): ProcessedLogits {
  const scores = logits.map(cleanLogit);
  const change = (id: number, score: number): void => {
    // A finite score that leaves the range is kept apart from a ban.
    if (id < scores.length && scores[id] !== -Infinity) {
      scores[id] = score === -Infinity ? -Infinity : clamp(Math.fround(score));
    }
  };
  for (const [id, bias] of settings.logitBias) change(id, scoreOf(scores, id) + Math.fround(bias));

  const penalty = Math.fround(settings.repetitionPenalty);
  if (penalty !== 1) {
    for (const id of new Set([...promptTokens, ...answerTokens])) {
      const score = scoreOf(scores, id);
      change(id, clamp(score > 0 ? score / penalty : score * penalty));
    }
  }
  const counts = new Map<number, number>();
  for (const id of answerTokens) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const [id, count] of counts) {
    const taken = Math.fround(Math.fround(settings.frequencyPenalty) * count) + Math.fround(settings.presencePenalty);
    change(id, clamp(scoreOf(scores, id) - Math.fround(taken)));
  }
  return { scores, invalid: logits.some(Number.isNaN) || !logits.some(Number.isFinite) };
}

function clamp(score: number): number {
  return Math.max(-MAX_SCORE, Math.min(MAX_SCORE, score));
}

/** The score of an id; ids beyond the vocabulary have none, and `change` drops them. */
function scoreOf(scores: Float32Array, id: number): number {
  return scores[id] ?? -Infinity;
}

export interface KeptSet {
  /** Ascending. Never empty. */
  ids: Uint32Array;
  /** e^((score − highest score) / temperature) for each; their sum is what probabilities are relative to. */
  weights: Float64Array;
}

/**
 * The tokens that may be drawn, with weights w = e^((s − max s) / temperature), for temperature > 0. Each cut works on
 * what the one before left; "in order" is by descending score, equal scores by ascending id:
 * - top-k: the first k in order (0, or k ≥ V: no cut)
 * - top-p: the shortest beginning in order whose weights sum to at least p · (sum of all) (1: no cut; never none)
 * - min-p: weights of at least minP · (the largest weight) (0: no cut)
 * Tokens with score −inf are out; if that is all of them, the lowest id stays, alone.
 *
 * Sources: Fan et al. 2018 (top-k); Holtzman et al. 2019 (top-p); Nguyen et al. 2024 (min-p).
 *
 * @param scores [V], see `processLogits`
 */
export function keptSet(scores: Float32Array, settings: SamplingSettings): KeptSet {
  let order = Uint32Array.from(scores.keys()).filter((id) => scoreOf(scores, id) !== -Infinity);
  if (order.length === 0) return { ids: Uint32Array.of(0), weights: Float64Array.of(1) };
  order.sort((a, b) => scoreOf(scores, b) - scoreOf(scores, a) || a - b);

  const inverseTemperature = Math.min(1 / settings.temperature, MAX_INVERSE_TEMPERATURE);
  const highest = scoreOf(scores, order[0] as number); // not empty
  const weightOf = (id: number): number => Math.exp((scoreOf(scores, id) - highest) * inverseTemperature);

  if (settings.topK > 0) order = order.subarray(0, settings.topK);
  if (settings.topP < 1)
    order = order.subarray(0, countForProbability(Float64Array.from(order, weightOf), settings.topP));
  if (settings.minP > 0) order = order.filter((id) => weightOf(id) >= settings.minP); // the largest weight is 1

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

export interface Choice {
  id: number;
  /** Natural log of the model's own probability of `id`. */
  logprob: number;
  top: { id: number; logprob: number }[];
  invalid: boolean;
}

/**
 * The next token: greedy (the highest score after bias and penalties, the lowest id of equals) at temperature 0, else
 * one draw from the kept set.
 *
 * @param logits [V], the model's own
 * @param position of the token that is being chosen
 */
export function chooseToken(
  logits: Float32Array,
  settings: SamplingSettings,
  promptTokens: Iterable<number>,
  answerTokens: Iterable<number>,
  position: number,
): Choice {
  const { scores, invalid } = processLogits(logits, settings, promptTokens, answerTokens);
  const [seedLow, seedHigh] = settings.seed;
  const id =
    settings.temperature === 0 ? argMax(scores) : draw(keptSet(scores, settings), uniform(seedLow, seedHigh, position));
  return { id, logprob: logSoftmaxAt(logits, id), top: topLogprobs(logits, settings.topLogprobs), invalid };
}
