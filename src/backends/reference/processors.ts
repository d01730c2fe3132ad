/**
 * What becomes of the logits before the draw: bias and bans, then penalties. The specification of shaders/logits_adjust
 * and shaders/history_scan.
 *
 * Scores are rounded to float32 after each step, as on the GPU, so that equal scores are equal in both.
 */
import { DRY_LONGEST_REPEAT, type SamplingSettings } from "../backend";

/** Stands for +inf, and bounds finite scores, so that no difference of two is NaN; WGSL has no infinity to write. */
export const MAX_SCORE = Math.fround(3.0e38);
/** No penalty of DRY exceeds multiplier · 2^this, which float32 holds. */
const DRY_LARGEST_EXPONENT = 100;

/** A logit as it counts: NaN is the lowest (−inf), +inf is MAX_SCORE, finite ones lie within ±MAX_SCORE. */
export function cleanLogit(logit: number): number {
  return Number.isNaN(logit) || logit === -Infinity ? -Infinity : clamp(logit);
}

export interface ProcessedLogits {
  /** [V] f32; −inf for tokens that must not be chosen, else within ±MAX_SCORE. */
  scores: Float32Array;
  /** A logit of the model's was NaN, or none was finite. */
  invalid: boolean;
}

export interface ProcessingContext {
  /** Banned before `minNewTokens`. */
  endTokenIds?: readonly number[];
  /** A bit for each id that is not banned; undefined: none is, by this. */
  allowed?: Uint32Array | undefined;
  /** [V] what the caller's own processor made of the logits; default: the logits. */
  changed?: Float32Array;
}

/**
 * Bias and bans, then penalties; a ban (−inf) stays one, whatever follows:
 * - s += bias of the token; a bias of −inf bans it, and so does an id's missing bit in `allowed`
 * - noRepeatNgramSize n: bans each token that followed, anywhere in prompt and answer, the n − 1 tokens they end with
 *   (transformers' NoRepeatNGramLogitsProcessor)
 * - before minNewTokens: bans the end tokens
 * - once for each distinct token of prompt and answer: s / repetitionPenalty if s > 0, else s · repetitionPenalty
 *   (Keskar et al. 2019, "CTRL", as corrected in transformers' RepetitionPenaltyLogitsProcessor)
 * - for each token of the answer: s −= frequencyPenalty · (times it occurs) + presencePenalty (OpenAI API reference);
 *   these three see the last penaltyLastN tokens only
 * - DRY, see `repeatedLengths`: s −= multiplier · base^(L − allowed length) for L of at least the allowed length
 *
 * @param logits [V], the model's own
 */
export function processLogits(
  logits: Float32Array,
  settings: SamplingSettings,
  promptTokens: ArrayLike<number>,
  answerTokens: ArrayLike<number>,
  { endTokenIds = [], allowed, changed = logits }: ProcessingContext = {},
): ProcessedLogits {
  const scores = changed.map(cleanLogit);
  const change = (id: number, score: number): void => {
    // A finite score that leaves the range is kept apart from a ban.
    if (id < scores.length && scores[id] !== -Infinity) {
      scores[id] = score === -Infinity ? -Infinity : clamp(Math.fround(score));
    }
  };
  const history = [...Array.from(promptTokens), ...Array.from(answerTokens)];
  for (const [id, bias] of settings.logitBias) change(id, scoreOf(scores, id) + Math.fround(bias));
  if (allowed) scores.forEach((_, id) => void (isIn(allowed, id) || change(id, -Infinity)));
  for (const id of completedNgrams(history, settings.noRepeatNgramSize)) change(id, -Infinity);
  if (answerTokens.length < settings.minNewTokens) for (const id of endTokenIds) change(id, -Infinity);

  const first = Math.max(0, history.length - settings.penaltyLastN);
  const penalty = Math.fround(settings.repetitionPenalty);
  if (penalty !== 1) {
    for (const id of new Set(history.slice(first))) {
      const score = scoreOf(scores, id);
      change(id, clamp(score > 0 ? score / penalty : score * penalty));
    }
  }
  const counts = new Map<number, number>();
  for (const id of history.slice(Math.max(first, promptTokens.length))) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const [id, count] of counts) {
    const taken = Math.fround(Math.fround(settings.frequencyPenalty) * count) + Math.fround(settings.presencePenalty);
    change(id, clamp(scoreOf(scores, id) - Math.fround(taken)));
  }
  const base = Math.log2(settings.dryBase);
  for (const [id, length] of repeatedLengths(history, settings)) {
    const exponent = Math.min((length - settings.dryAllowedLength) * base, DRY_LARGEST_EXPONENT);
    change(id, clamp(scoreOf(scores, id) - Math.fround(settings.dryMultiplier) * 2 ** exponent));
  }
  return { scores, invalid: logits.some(isBroken) || !logits.some(Number.isFinite) };
}

/**
 * For each token that would go on repeating: how many tokens before one of its earlier places equal the last ones, the
 * most over all places, where that reaches the allowed length. Counting ends at a breaker, at the beginning of the
 * window, and DRY_LONGEST_REPEAT after the allowed length; a breaker itself is never penalized.
 *
 * Source: p-e-w 2024, "DRY: A modern repetition penalty" (text-generation-webui, pull request 5677).
 */
export function repeatedLengths(history: readonly number[], settings: SamplingSettings): Map<number, number> {
  const { dryMultiplier, dryAllowedLength, dryPenaltyLastN, dryBreakers } = settings;
  const lengths = new Map<number, number>();
  if (dryMultiplier === 0) return lengths;
  const first = Math.max(0, history.length - dryPenaltyLastN);
  for (let at = first + 1; at < history.length; at++) {
    const id = history[at] as number; // within the history
    if (dryBreakers.has(id)) continue;
    const length = matchedBefore(history, at, first, dryAllowedLength + DRY_LONGEST_REPEAT, dryBreakers);
    if (length >= dryAllowedLength) lengths.set(id, Math.max(length, lengths.get(id) ?? 0));
  }
  return lengths;
}

/** The tokens that would complete an n-gram that the history has already. */
function completedNgrams(history: readonly number[], size: number): Set<number> {
  if (size === 0) return new Set();
  return new Set(history.filter((_, at) => matchedBefore(history, at, 0, size - 1, NONE) === size - 1));
}
const NONE: ReadonlySet<number> = new Set();

/** How many tokens directly before `at`, none before `first`, equal the last ones of the history; `most` at most. */
function matchedBefore(
  history: readonly number[],
  at: number,
  first: number,
  most: number,
  breakers: ReadonlySet<number>,
): number {
  let count = 0;
  while (count < most && at - 1 - count >= first) {
    const id = history[at - 1 - count] as number; // within the history
    if (id !== history[history.length - 1 - count] || breakers.has(id)) break;
    count++;
  }
  return count;
}

function isIn(words: Uint32Array, id: number): boolean {
  return (((words[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1;
}

function clamp(score: number): number {
  return Math.max(-MAX_SCORE, Math.min(MAX_SCORE, score));
}

/** The score of an id; ids beyond the vocabulary have none, and `change` drops them. */
export function scoreOf(scores: Float32Array, id: number): number {
  return scores[id] ?? -Infinity;
}

/** Finite weights give +∞ by an overflow only. */
const isBroken = (logit: number) => Number.isNaN(logit) || logit === Infinity;
