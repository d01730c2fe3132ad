/**
 * Phi-3 (and Phi-4-mini): Llama's layers, with q, k and v in one matrix, gate and up in another, LongRoPE for the long
 * variants.
 *
 * Source: Abdin et al. 2024, "Phi-3 Technical Report"; defaults as in transformers' `models/phi3`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readWindow } from "./layer-types";
import { readRope } from "./rope-config";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readPhi3(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 4096 });
  const norm = readRmsNorm(config, 1e-5);
  const mlp = readMlp(config, "gated", { bias: false });
  const rope = readRope(config, sizes, { rotaryFactor: 1, originalContextLength: 4096 });
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, rope, { window: readWindow(config, undefined) }),
    mlpNorm: norm,
    mlp,
  };
  for (const key of ["attention_bias", "mlp_bias", "lm_head_bias"]) config.only(key, false);
  for (const key of ["full_attn_mod", "interpolate_factor"]) config.only(key, 1); // in Phi-4-mini's file
  const queries = sizes.headCount * sizes.headDim;
  const keys = sizes.keyValueHeadCount * sizes.headDim;
  const qkv = (first: number) => ({ from: "self_attn.qkv_proj", rows: { first, of: queries + 2 * keys } });
  const half = (part: number) => ({
    from: "mlp.gate_up_proj",
    rows: { first: part * mlp.intermediateSize, of: 2 * mlp.intermediateSize },
  });
  const names = {
    ...LLAMA_NAMES,
    layer: {
      ...LLAMA_NAMES.layer,
      q: qkv(0),
      k: qkv(queries),
      v: qkv(queries + keys),
      gate: half(0),
      up: half(1),
    },
  };
  const layers = repeat(layer, sizes.layerCount);
  return decoderOf(config, sizes, { modelType: "phi3", layers, finalNorm: norm, tied: false }, names);
}
