/** Sampling settings for tests: greedy, with nothing switched on, and what a test changes. */
import type { SamplingSettings } from "../backends/backend";

export function samplingSettings(changes: Partial<SamplingSettings> = {}): SamplingSettings {
  return {
    temperature: 0,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: new Map(),
    seed: [1, 0],
    topLogprobs: 0,
    ...changes,
  };
}
