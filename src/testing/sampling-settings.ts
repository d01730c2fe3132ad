/** Sampling settings for tests: greedy, with nothing switched on, and what a test changes. */
import type { SamplingSettings } from "../backends/backend";

export function samplingSettings(changes: Partial<SamplingSettings> = {}): SamplingSettings {
  return {
    temperature: 0,
    topNSigma: 0,
    topK: 0,
    typicalP: 1,
    topP: 1,
    minP: 0,
    xtcProbability: 0,
    xtcThreshold: 0.1,
    repetitionPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    penaltyLastN: Infinity,
    dryMultiplier: 0,
    dryBase: 1.75,
    dryAllowedLength: 2,
    dryPenaltyLastN: Infinity,
    dryBreakers: new Set(),
    noRepeatNgramSize: 0,
    minNewTokens: 0,
    forcedTokens: [],
    logitBias: new Map(),
    seed: [1, 0],
    topLogprobs: 0,
    tokenStatistics: false,
    ...changes,
  };
}
