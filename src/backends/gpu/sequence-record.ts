/** The GPU's record of one sequence, word by word as shaders/lib/sequence.wgsl declares it. */
import { RECORD_BYTES } from "../../kernels/kernel";
import type { BeginOptions, StepResult } from "../backend";

/** The first words are what a step reports. */
export const REPORT_BYTES = 32;
export const MAX_TOP_LOGPROBS = 20;
export const TOP_BYTES = MAX_TOP_LOGPROBS * 8;

const WORD = {
  position: 0,
  token: 1,
  count: 2,
  done: 3,
  invalid: 4,
  logprob: 5,
  rank: 6,
  entropy: 7,
  limit: 8,
  capacity: 9,
  seedLow: 10,
  seedHigh: 11,
  inverseTemperature: 12,
  topK: 13,
  topP: 14,
  minP: 15,
  repetition: 16,
  frequency: 17,
  presence: 18,
  topCount: 19,
  endCount: 20,
  typicalP: 21,
  topNSigma: 22,
  xtcProbability: 23,
  xtcThreshold: 24,
  minimum: 25,
  forcedCount: 26,
  ends: 32,
} as const;

/** Byte offset of the first word; the prefill sets `position` and `token` to the prompt's last. */
export const POSITION_OFFSET = WORD.position * 4;

/** Byte offset of `done`, and what stands there while a sequence waits for the next chunk (shaders/lib/sequence.wgsl). */
export const DONE_OFFSET = WORD.done * 4;
const PAUSED = 2;

/** @param report REPORT_BYTES */
export const isPaused = (report: ArrayBuffer) => new Uint32Array(report)[WORD.done] === PAUSED;

/** Beyond this an f32 product with a logit difference would overflow; colder than any difference f32 can hold. */
const COLDEST = 1e30;
/** Below this 1 / temperature is no normal f32, and 0 would mean greedy; hotter than any difference matters. */
const HOTTEST = 1e-37;
const MAX_U32 = 0xffffffff;

export function encodeRecord(
  { sampling, endTokenIds, maxNewTokens, answeredTokens }: BeginOptions,
  capacity: number,
): ArrayBuffer {
  const bytes = new ArrayBuffer(RECORD_BYTES);
  const words = new Uint32Array(bytes);
  const floats = new Float32Array(bytes);
  words[WORD.count] = answeredTokens?.length ?? 0;
  words[WORD.limit] = Math.min(maxNewTokens, MAX_U32);
  words[WORD.capacity] = capacity;
  words[WORD.seedLow] = sampling.seed[0];
  words[WORD.seedHigh] = sampling.seed[1];
  floats[WORD.inverseTemperature] =
    sampling.temperature === 0 ? 0 : Math.max(HOTTEST, Math.min(1 / sampling.temperature, COLDEST));
  words[WORD.topK] = Math.min(sampling.topK, MAX_U32);
  floats[WORD.topP] = sampling.topP;
  floats[WORD.minP] = sampling.minP;
  floats[WORD.repetition] = sampling.repetitionPenalty;
  floats[WORD.frequency] = sampling.frequencyPenalty;
  floats[WORD.presence] = sampling.presencePenalty;
  words[WORD.topCount] = sampling.topLogprobs;
  words[WORD.endCount] = endTokenIds.length;
  floats[WORD.typicalP] = sampling.typicalP;
  floats[WORD.topNSigma] = sampling.topNSigma;
  floats[WORD.xtcProbability] = sampling.xtcProbability;
  floats[WORD.xtcThreshold] = sampling.xtcThreshold;
  words[WORD.minimum] = Math.min(sampling.minNewTokens, MAX_U32);
  words[WORD.forcedCount] = sampling.forcedTokens.length;
  words.set(endTokenIds, WORD.ends);
  return bytes;
}

/**
 * @param report REPORT_BYTES, followed by TOP_BYTES if `topCount` > 0
 * @param wantsStatistics whether the step wrote them
 */
export function decodeReport(report: ArrayBuffer, topCount: number, wantsStatistics = false): StepResult {
  const words = new Uint32Array(report);
  const floats = new Float32Array(report);
  const top = Array.from({ length: topCount }, (_, index) => {
    const at = REPORT_BYTES / 4 + 2 * index;
    return { id: words[at] ?? 0, logprob: floats[at + 1] ?? 0 };
  });
  return {
    count: words[WORD.count] ?? 0,
    id: words[WORD.token] ?? 0,
    logprob: floats[WORD.logprob] ?? 0,
    done: words[WORD.done] === 1,
    invalid: words[WORD.invalid] === 1,
    top,
    statistics: wantsStatistics ? { rank: words[WORD.rank] ?? 0, entropy: floats[WORD.entropy] ?? 0 } : undefined,
  };
}
