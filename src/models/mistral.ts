/**
 * Mistral: Llama's layers, with a sliding window where the file names one (version 0.1; later ones have null).
 *
 * Source: Jiang et al. 2023, "Mistral 7B"; defaults as in transformers' `models/mistral`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readWindow } from "./layer-types";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readMistral(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 4096 * 32, keyValueHeadCount: 8 });
  const norm = readRmsNorm(config, 1e-6);
  const window = readWindow(config, 4096);
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, readRope(config, sizes), { window }),
    mlpNorm: norm,
    mlp: readMlp(config, "gated", { bias: false }),
  };
  config.only("attention_bias", false);
  config.onlyEvery("layer_types", window === undefined ? "full_attention" : "sliding_attention");
  const layers = repeat(layer, sizes.layerCount);
  return decoderOf(config, sizes, { modelType: "mistral", layers, finalNorm: norm, tied: false }, LLAMA_NAMES);
}
