/**
 * Qwen2 (and 2.5): Llama's layers, with biases on q, k and v alone, and a window on the upper layers where asked for.
 *
 * Source: Yang et al. 2024, "Qwen2 Technical Report"; defaults as in transformers' `models/qwen2`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { readQwenWindows } from "./layer-types";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readQwen2(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 32768, keyValueHeadCount: 32 });
  const norm = readRmsNorm(config, 1e-6);
  const rope = readRope(config, sizes);
  const mlp = readMlp(config, "gated", { bias: false });
  const layers = readQwenWindows(config, sizes.layerCount).map((window) => ({
    mixerNorm: norm,
    mixer: attentionOf(sizes, rope, { window, qkvBias: true }),
    mlpNorm: norm,
    mlp,
  }));
  config.only("use_mrope", false);
  return decoderOf(config, sizes, { modelType: "qwen2", layers, finalNorm: norm, tied: false }, LLAMA_NAMES);
}
