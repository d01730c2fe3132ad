/**
 * Granite: Llama's layers with four factors: on embeddings, scores, what a block adds, and logits (a divisor there).
 *
 * Source: Granite Team 2024, "Granite 3.0 Language Models"; defaults as in transformers' `models/granite`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readGranite(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 2048 });
  const norm = readRmsNorm(config, 1e-6);
  const bias = config.boolean("attention_bias", false);
  const factor = (key: string) => config.number(key, { min: 1e-6, max: 1e6, fallback: 1 });
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, readRope(config, sizes), {
      scale: factor("attention_multiplier"),
      qkvBias: bias,
      outputBias: bias,
    }),
    mlpNorm: norm,
    mlp: readMlp(config, "gated", { bias: config.boolean("mlp_bias", false) }),
    residualScale: factor("residual_multiplier"),
  };
  const architecture = {
    modelType: "granite",
    layers: repeat(layer, sizes.layerCount),
    finalNorm: norm,
    tied: false,
    head: { scale: 1 / factor("logits_scaling") },
    embeddingScale: factor("embedding_multiplier"),
  };
  return decoderOf(config, sizes, architecture, LLAMA_NAMES);
}
