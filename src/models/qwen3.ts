/**
 * Qwen3: Llama's layers, with an RMS norm over each head of q and k before RoPE; heads need not fill the hidden size.
 *
 * Source: Yang et al. 2025, "Qwen3 Technical Report"; defaults as in transformers' `models/qwen3`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { readQwenWindows } from "./layer-types";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readQwen3(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 32768, keyValueHeadCount: 32, headDim: 128 });
  const norm = readRmsNorm(config, 1e-6);
  const rope = readRope(config, sizes);
  const bias = config.boolean("attention_bias", false);
  const mlp = readMlp(config, "gated", { bias: false });
  const layers = readQwenWindows(config, sizes.layerCount).map((window) => ({
    mixerNorm: norm,
    mixer: attentionOf(sizes, rope, {
      window,
      queryKeyNorm: { ...norm, over: "head" },
      qkvBias: bias,
      outputBias: bias,
    }),
    mlpNorm: norm,
    mlp,
  }));
  const names = {
    ...LLAMA_NAMES,
    layer: { ...LLAMA_NAMES.layer, q_norm: "self_attn.q_norm", k_norm: "self_attn.k_norm" },
  };
  return decoderOf(config, sizes, { modelType: "qwen3", layers, finalNorm: norm, tied: false }, names);
}
