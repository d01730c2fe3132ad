/**
 * OLMo 2: no norm before a block, one after it; RMS norms over the whole width of q and of k.
 *
 * Source: OLMo team 2024, "2 OLMo 2 Furious"; defaults as in transformers' `models/olmo2`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readOlmo2(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 2048 });
  const norm = readRmsNorm(config, 1e-5);
  const bias = config.boolean("attention_bias", false);
  const layer: LayerSpec = {
    mixerNorm: undefined,
    mixer: attentionOf(sizes, readRope(config, sizes), {
      queryKeyNorm: { ...norm, over: "all" },
      qkvBias: bias,
      outputBias: bias,
    }),
    mixerPostNorm: norm,
    mlpNorm: undefined,
    mlp: readMlp(config, "gated", { bias: false }),
    mlpPostNorm: norm,
  };
  const names = {
    ...LLAMA_NAMES,
    layer: {
      ...LLAMA_NAMES.layer,
      q_norm: "self_attn.q_norm",
      k_norm: "self_attn.k_norm",
      mixer_post_norm: "post_attention_layernorm",
      mlp_post_norm: "post_feedforward_layernorm",
    },
  };
  const layers = repeat(layer, sizes.layerCount);
  return decoderOf(config, sizes, { modelType: "olmo2", layers, finalNorm: norm, tied: false }, names);
}
