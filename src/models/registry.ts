/** From a model folder's JSON files to a `DecoderSpec`: one line per supported `model_type`. */
import { WordloomError } from "../errors";
import { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { readGpt2 } from "./gpt2";
import { readLlama } from "./llama";

const ARCHITECTURES: Readonly<Record<string, (config: ConfigReader) => DecoderSpec>> = {
  gpt2: readGpt2,
  llama: readLlama,
};

/** The sampling that a model's makers suggest; only what their generation_config.json says. */
export interface SuggestedSampling {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repetitionPenalty?: number;
}

export interface ModelConfig {
  spec: DecoderSpec;
  /** Undefined where the files suggest none, or greedy decoding. */
  suggestedSampling: SuggestedSampling | undefined;
  /** From generation_config.json where it lists any (an empty list counts), else from config.json; may be empty. */
  endTokenIds: readonly number[];
}

/**
 * @param config the parsed config.json
 * @param generationConfig the parsed generation_config.json; undefined where the folder has none. Only its end tokens
 *   and its suggested sampling are used
 * @throws model-unsupported for a model_type that is not listed; config-unsupported for a setting that would change the
 *   numbers and is not understood; config-invalid for values that cannot be right
 */
export function readModelConfig(config: unknown, generationConfig: unknown): ModelConfig {
  const reader = ConfigReader.from(config, "config.json");
  const modelType = reader.string("model_type");
  const readArchitecture = Object.hasOwn(ARCHITECTURES, modelType) ? ARCHITECTURES[modelType] : undefined;
  if (readArchitecture === undefined) {
    const supported = Object.keys(ARCHITECTURES).join(", ");
    throw new WordloomError("model-unsupported", `model_type is ${JSON.stringify(modelType)}; supported: ${supported}`);
  }
  reader.only("is_encoder_decoder", false);
  const spec = readArchitecture(reader);
  reader.finish();
  if (generationConfig === undefined) return { spec, suggestedSampling: undefined, endTokenIds: spec.endTokenIds };
  const generation = ConfigReader.from(generationConfig, "generation_config.json");
  return {
    spec,
    suggestedSampling: readSuggestedSampling(generation),
    endTokenIds: generation.tokenIds("eos_token_id") ?? spec.endTokenIds,
  };
}

function readSuggestedSampling(generation: ConfigReader): SuggestedSampling | undefined {
  if (!generation.boolean("do_sample", true)) return undefined;
  const suggested: SuggestedSampling = {};
  const take = (name: keyof SuggestedSampling, key: string, min: number, max: number): void => {
    if (generation.isSet(key)) suggested[name] = generation.number(key, { min, max });
  };
  take("temperature", "temperature", 0, 100);
  take("topK", "top_k", 0, 2 ** 32 - 1);
  take("topP", "top_p", 0, 1);
  take("minP", "min_p", 0, 1);
  take("repetitionPenalty", "repetition_penalty", 0.01, 100);
  return Object.keys(suggested).length === 0 ? undefined : suggested;
}
