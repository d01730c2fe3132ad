/** The GPU's copy of prompt and answer, word by word as shaders/lib/history.wgsl declares it, and what lies beside it. */
import { HISTORY_HEADER_BYTES } from "../../kernels/sampling";
import { DRY_LONGEST_REPEAT, type BeginOptions, type SamplingSettings } from "../backend";

const WORD = {
  promptLength: 0,
  penaltyLastN: 1,
  ngramSize: 2,
  dryMultiplier: 3,
  dryBaseLog2: 4,
  dryAllowed: 5,
  dryLongest: 6,
  dryLastN: 7,
  tokens: HISTORY_HEADER_BYTES / 4,
} as const;

const MAX_U32 = 0xffffffff;

export const HISTORY_TOKEN_BYTES = 4;

/** A token at each position, and the one that no position is left for. */
export const historyBytes = (capacity: number) => HISTORY_HEADER_BYTES + HISTORY_TOKEN_BYTES * (capacity + 1);

/** Whether anything looks at the tokens in their order, or changes from one token to the next. */
export function looksBack(sampling: SamplingSettings): boolean {
  const { penaltyLastN, dryMultiplier, noRepeatNgramSize, minNewTokens, forcedTokens } = sampling;
  return (
    (penaltyLastN !== Infinity && hasPenalty(sampling)) ||
    dryMultiplier !== 0 ||
    noRepeatNgramSize !== 0 ||
    minNewTokens !== 0 ||
    forcedTokens.length > 0
  );
}

export function hasPenalty({ repetitionPenalty, frequencyPenalty, presencePenalty }: SamplingSettings): boolean {
  return repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0;
}

/**
 * The prompt, and after it what the answer is forced to begin with, as far as there are positions; over that what of it
 * is there already.
 */
export function encodeHistory({ sampling, promptTokens, answeredTokens }: BeginOptions, capacity: number): ArrayBuffer {
  const bytes = new ArrayBuffer(historyBytes(capacity));
  const words = new Uint32Array(bytes);
  const floats = new Float32Array(bytes);
  words[WORD.promptLength] = promptTokens.length;
  words[WORD.penaltyLastN] = Math.min(sampling.penaltyLastN, MAX_U32);
  words[WORD.ngramSize] = Math.min(sampling.noRepeatNgramSize, MAX_U32);
  floats[WORD.dryMultiplier] = sampling.dryMultiplier;
  floats[WORD.dryBaseLog2] = Math.log2(sampling.dryBase);
  words[WORD.dryAllowed] = Math.min(sampling.dryAllowedLength, MAX_U32);
  words[WORD.dryLongest] = Math.min(sampling.dryAllowedLength + DRY_LONGEST_REPEAT, MAX_U32);
  words[WORD.dryLastN] = Math.min(sampling.dryPenaltyLastN, MAX_U32);
  words.set(promptTokens, WORD.tokens);
  const room = capacity + 1 - promptTokens.length;
  words.set(sampling.forcedTokens.slice(0, room), WORD.tokens + promptTokens.length);
  if (answeredTokens) words.set(answeredTokens.subarray(0, room), WORD.tokens + promptTokens.length);
  return bytes;
}

/** [ceil(V / 32)] a bit for each id. */
export function encodeBreakers({ dryBreakers }: SamplingSettings, vocabSize: number): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(vocabSize / 32));
  for (const id of dryBreakers) if (id < vocabSize) words[id >>> 5] = (words[id >>> 5] ?? 0) | (1 << (id & 31));
  return words;
}
