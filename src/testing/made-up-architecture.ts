/**
 * What a new architecture costs: this file, and no other. No published model is like it; it takes what others have one
 * at a time: norms before and after, a norm of each head of q and k, RoPE in interleaved pairs, a window on every other
 * layer, parallel blocks on the last, keys and values in one matrix, capped scores and scaled, capped logits.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes } from "../models/common-config";
import type { ConfigReader } from "../models/config-reader";
import type { DecoderSpec, LayerSpec } from "../models/decoder-spec";
import { readWindow } from "../models/layer-types";
import { ARCHITECTURES, readModelConfig } from "../models/registry";
import { readRope } from "../models/rope-config";
import { LLAMA_NAMES } from "../models/tensor-bindings";

export function readMadeUp(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 128 });
  const norm = readRmsNorm(config, 1e-6);
  const rope = { ...readRope(config, sizes, { rotaryFactor: 0.5 }), pairing: "interleaved" as const };
  const window = readWindow(config, 5);
  const mlp = readMlp(config, "gated", { bias: true, activation: ["hidden_act", "gelu"] });
  const attention = { queryKeyNorm: { ...norm, over: "head" as const }, softcap: 3, outputBias: true };
  const layers = Array.from({ length: sizes.layerCount }, (_, index): LayerSpec => ({
    mixerNorm: norm,
    mixer: attentionOf(sizes, rope, { ...attention, window: index % 2 === 0 ? window : undefined }),
    mixerPostNorm: norm,
    mlpNorm: norm,
    mlp,
    residual: index === sizes.layerCount - 1 ? "parallel" : "sequential",
    residualScale: config.number("residual_multiplier", { min: 0, max: 10, fallback: 0.7 }),
  }));
  const keys = sizes.keyValueHeadCount * sizes.headDim;
  const keyValue = (first: number) => ({ from: "self_attn.kv_proj", rows: { first, of: 2 * keys } });
  const names = {
    ...LLAMA_NAMES,
    layer: {
      ...LLAMA_NAMES.layer,
      k: keyValue(0),
      v: keyValue(keys),
      q_norm: "self_attn.q_norm",
      k_norm: "self_attn.k_norm",
      mixer_post_norm: "self_attn.o_norm",
    },
  };
  const head = { scale: 0.5, softcap: 12 };
  return decoderOf(config, sizes, { modelType: "made_up", layers, finalNorm: norm, tied: false, head }, names);
}

export const MADE_UP_CONFIG = {
  model_type: "made_up",
  vocab_size: 67,
  hidden_size: 36,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 12,
  intermediate_size: 52,
  eos_token_id: 0,
};

/** Its spec, through the registry's own reader and a table with one line more. */
export function madeUpSpec(changes: Readonly<Record<string, unknown>> = {}): DecoderSpec {
  return readModelConfig({ ...MADE_UP_CONFIG, ...changes }, undefined, { ...ARCHITECTURES, made_up: readMadeUp }).spec;
}
