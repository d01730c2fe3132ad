/** Sampling settings for tests: greedy, with nothing switched on, and what a test changes. */
import { GREEDY, type SamplingSettings } from "../backends/backend";

export function samplingSettings(changes: Partial<SamplingSettings> = {}): SamplingSettings {
  return { ...GREEDY, seed: [1, 0], ...changes };
}
