/** The page's ways to choose the next word, and what each sets. */
import type { GenerateOptions, GeneratorInfo } from "../generator";
import type { AllGenerateSettings } from "../word-loom/options";
import { given } from "./given";

/** Of one run, beside its sampling. */
export type RunSettings = Partial<Pick<GenerateOptions, "maxNewTokens" | "seed">> & { stop?: readonly string[] };

/** Everything that can be set of the choice of a word, by the names of `generate`'s options. */
export type Sampling = Partial<Pick<GenerateOptions, SamplingName>>;
export type SamplingName =
  | ("temperature" | "topK" | "topP" | "minP" | "typicalP")
  | ("repetitionPenalty" | "frequencyPenalty" | "presencePenalty" | "dryMultiplier");
export type Preset = "model" | "likeliest" | "calm" | "lively" | "own";

/** What they are called in the page's address, and in words. */
export const SAMPLING_NAMES: Readonly<Record<SamplingName, { address: string; words: string }>> = {
  temperature: { address: "temperature", words: "temperature" },
  topK: { address: "top-k", words: "top-k" },
  topP: { address: "top-p", words: "top-p" },
  minP: { address: "min-p", words: "min-p" },
  typicalP: { address: "typical-p", words: "typical-p" },
  repetitionPenalty: { address: "repetition-penalty", words: "repetition penalty" },
  frequencyPenalty: { address: "frequency-penalty", words: "frequency penalty" },
  presencePenalty: { address: "presence-penalty", words: "presence penalty" },
  dryMultiplier: { address: "dry-multiplier", words: "DRY" },
};

const NAMES = Object.keys(SAMPLING_NAMES) as SamplingName[]; // its own keys

/** What a preset sets. `own` is used for the preset of that name only. */
export function samplingOf(
  preset: Preset,
  suggested: GeneratorInfo["suggestedSampling"] | undefined,
  own: Sampling,
): Sampling {
  switch (preset) {
    case "own":
      return own;
    case "calm":
      return { temperature: 0.5, topP: 0.9 };
    case "lively":
      return { temperature: 1.1, minP: 0.05 };
    case "likeliest":
      return { temperature: 0 };
    case "model": {
      const sampling = samplingAmong(suggested ?? {});
      return isSet(sampling) ? sampling : { temperature: 0 };
    }
  }
}

/** The sampling among all that can be set of a run. */
export function samplingAmong(settings: object): Sampling {
  return given(Object.fromEntries(NAMES.map((name) => [name, (settings as Sampling)[name]])));
}

/** As the element has them. */
export function elementSettings(sampling: Sampling, run: RunSettings): AllGenerateSettings {
  const { temperature, topK, topP, minP, repetitionPenalty, ...moreOptions } = sampling;
  const { maxNewTokens, seed, stop: stopStrings } = run;
  return { maxNewTokens, seed, stopStrings, temperature, topK, topP, minP, repetitionPenalty, moreOptions };
}

export function isSet(sampling: Sampling): boolean {
  return NAMES.some((name) => sampling[name] !== undefined);
}

/** "temperature 0.8, top-p 0.95" */
export function describeSampling(sampling: Sampling): string {
  return NAMES.filter((name) => sampling[name] !== undefined)
    .map((name) => `${SAMPLING_NAMES[name].words} ${sampling[name]}`)
    .join(", ");
}
