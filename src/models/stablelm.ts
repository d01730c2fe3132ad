/**
 * StableLM: LayerNorms, a gated SiLU MLP, a quarter of each head turns; parallel blocks share one norm.
 *
 * Source: Bellagente et al. 2024, "Stable LM 2 1.6B"; defaults as in transformers' `models/stablelm`.
 */
import { attentionOf, decoderOf, readLayerNorm, readMlp, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readStablelm(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 4096, keyValueHeadCount: 32 });
  const rope = readRope(config, sizes, { rotaryFactor: 0.25 });
  const norm = readLayerNorm(config);
  const parallel = config.boolean("use_parallel_residual", false);
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, rope, { qkvBias: config.boolean("use_qkv_bias", false) }),
    mlpNorm: parallel ? "mixer_norm" : norm,
    mlp: readMlp(config, "gated", { bias: false }),
    residual: parallel ? "parallel" : "sequential",
  };
  config.only("rotary_scaling_factor", 1); // of the first files
  config.only("qk_layernorm", false); // a norm of its own for each head, in the 12B model
  const layers = repeat(layer, sizes.layerCount);
  return decoderOf(config, sizes, { modelType: "stablelm", layers, finalNorm: norm, tied: false }, LLAMA_NAMES);
}
