/** From a model folder's JSON files to a `DecoderSpec`: one line per supported `model_type`. */
import { WordloomError } from "../errors";
import { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { readGemma2 } from "./gemma2";
import { readGemma3Text } from "./gemma3_text";
import { readGpt2 } from "./gpt2";
import { readGptNeo } from "./gpt_neo";
import { readGptNeox } from "./gpt_neox";
import { readGranite } from "./granite";
import { readLfm2 } from "./lfm2";
import { readLlama } from "./llama";
import { readMistral } from "./mistral";
import { readOlmo2 } from "./olmo2";
import { readPhi } from "./phi";
import { readPhi3 } from "./phi3";
import { readQuantization, type Quantization } from "./quantization-config";
import { readQwen2 } from "./qwen2";
import { readQwen3 } from "./qwen3";
import { readSmollm3 } from "./smollm3";
import { readStablelm } from "./stablelm";
import { unsupportedReason } from "./unsupported";

/** Reads an architecture's config.json, all keys but `model_type`. */
export type ReadArchitecture = (config: ConfigReader) => DecoderSpec;

export const ARCHITECTURES: Readonly<Record<string, ReadArchitecture>> = {
  gemma2: readGemma2,
  gemma3_text: readGemma3Text,
  gpt2: readGpt2,
  gpt_neo: readGptNeo,
  gpt_neox: readGptNeox,
  granite: readGranite,
  lfm2: readLfm2,
  llama: readLlama,
  mistral: readMistral,
  olmo2: readOlmo2,
  phi: readPhi,
  phi3: readPhi3,
  qwen2: readQwen2,
  qwen3: readQwen3,
  smollm3: readSmollm3,
  stablelm: readStablelm,
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
  /** How the checkpoint's matrices are quantized; undefined where config.json says nothing of that. */
  quantization: Quantization | undefined;
  /** From generation_config.json where it lists any (an empty list counts), else from config.json; may be empty. */
  endTokenIds: readonly number[];
}

/**
 * @param config the parsed config.json
 * @param generationConfig the parsed generation_config.json; undefined where the folder has none. Only its end tokens
 *   and its suggested sampling are used
 * @param architectures readers by `model_type`; a table with further ones reads models that are not in this project
 * @param file where the config comes from, for messages
 * @throws model-unsupported for a model_type that is not listed; config-unsupported for a setting that would change the
 *   numbers and is not understood; config-invalid for values that cannot be right
 */
export function readModelConfig(
  config: unknown,
  generationConfig: unknown,
  architectures: Readonly<Record<string, ReadArchitecture>> = ARCHITECTURES,
  file = "config.json",
): ModelConfig {
  const reader = ConfigReader.from(config, file);
  const modelType = reader.string("model_type");
  const readArchitecture = Object.hasOwn(architectures, modelType) ? architectures[modelType] : undefined;
  if (readArchitecture === undefined) {
    const reason = unsupportedReason(modelType);
    const named = JSON.stringify(modelType) + (reason === undefined ? "" : `, and ${reason}`);
    const supported = Object.keys(architectures).join(", ");
    throw new WordloomError("model-unsupported", `model_type is ${named}; supported: ${supported}`);
  }
  reader.only("is_encoder_decoder", false);
  const spec = readArchitecture(reader);
  const quantization = readQuantization(reader);
  reader.finish();
  if (generationConfig === undefined) {
    return { spec, quantization, suggestedSampling: undefined, endTokenIds: spec.endTokenIds };
  }
  const generation = ConfigReader.from(generationConfig, file === "config.json" ? "generation_config.json" : file);
  return {
    spec,
    quantization,
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
