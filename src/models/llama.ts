/**
 * Llama: RMS norms before attention and MLP, grouped-query attention with RoPE, SwiGLU.
 *
 * Also SmolLM2, TinyLlama and others that say `model_type: "llama"`.
 * Source: Touvron et al. 2023, "LLaMA"; tensor names and defaults as in transformers' `models/llama`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readLlama(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 2048 });
  const bias = config.boolean("attention_bias", false);
  const norm = readRmsNorm(config, 1e-6);
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, readRope(config, sizes), { qkvBias: bias, outputBias: bias }),
    mlpNorm: norm,
    mlp: readMlp(config, "gated", { bias: config.boolean("mlp_bias", false) }),
  };
  config.only("pretraining_tp", 1);
  config.only("rope_interleaved", false);
  config.onlyEvery("layer_types", "full_attention");
  const layers = repeat(layer, sizes.layerCount);
  return decoderOf(config, sizes, { modelType: "llama", layers, finalNorm: norm, tied: false }, LLAMA_NAMES);
}
