/** The page's three ways to choose the next word, and what each sets. */
import type { GeneratorInfo } from "../generator";
import type { GenerateSettings } from "../word-loom/options";

export type Sampling = Pick<GenerateSettings, "temperature" | "topK" | "topP" | "minP" | "repetitionPenalty">;
export type Preset = "model" | "likeliest" | "own";

const NONE: Sampling = {
  temperature: undefined,
  topK: undefined,
  topP: undefined,
  minP: undefined,
  repetitionPenalty: undefined,
};

/** What a preset sets. `own` is used for the preset of that name only. */
export function samplingOf(
  preset: Preset,
  suggested: GeneratorInfo["suggestedSampling"] | undefined,
  own: Sampling,
): Sampling {
  if (preset === "own") return own;
  if (preset === "likeliest" || !suggested) return { ...NONE, temperature: 0 };
  const sampling = { ...NONE, ...suggested };
  return isSet(sampling) ? sampling : { ...NONE, temperature: 0 };
}

/** The sampling among all that can be set of a run. */
export function samplingAmong(settings: GenerateSettings): Sampling {
  const { temperature, topK, topP, minP, repetitionPenalty } = settings;
  return { temperature, topK, topP, minP, repetitionPenalty };
}

export function isSet(sampling: Sampling): boolean {
  return Object.values(sampling).some((value) => value !== undefined);
}

/** "temperature 0.8, top-p 0.95" */
export function describeSampling(sampling: Sampling): string {
  const parts: [string, number | undefined][] = [
    ["temperature", sampling.temperature],
    ["top-k", sampling.topK],
    ["top-p", sampling.topP],
    ["min-p", sampling.minP],
    ["repetition penalty", sampling.repetitionPenalty],
  ];
  return parts
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}
