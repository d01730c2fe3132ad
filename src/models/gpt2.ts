/**
 * GPT-2: LayerNorm with bias before attention and MLP, learned positions, biases everywhere, a plain GELU MLP.
 *
 * Its checkpoints hold matrices as [inputs, outputs] (Conv1D) and q, k, v in one.
 * Source: Radford et al. 2019; tensor names and defaults as in transformers' `models/gpt2`.
 */
import { attentionOf, decoderOf, readLayerNorm, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { ACTIVATIONS, SIZE_LIMITS } from "./sizes";
import type { CheckpointNames } from "./tensor-bindings";

export function readGpt2(config: ConfigReader): DecoderSpec {
  const hiddenSize = config.integer("n_embd", SIZE_LIMITS.hiddenSize);
  const headCount = config.integer("n_head", SIZE_LIMITS.headCount);
  if (hiddenSize % headCount !== 0) {
    throw config.invalid("n_head", headCount, `it does not divide n_embd, ${hiddenSize}`);
  }
  const contextLength = config.integer("n_positions", { ...SIZE_LIMITS.contextLength, fallback: 1024 });
  const layerCount = config.integer("n_layer", SIZE_LIMITS.layerCount);
  const headDim = hiddenSize / headCount;
  const sizes = { hiddenSize, headCount, keyValueHeadCount: headCount, headDim, layerCount, contextLength };
  const norm = readLayerNorm(config, "layer_norm_epsilon");
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, undefined, { qkvBias: true, outputBias: true }),
    mlpNorm: norm,
    mlp: {
      kind: "plain",
      activation: config.choice("activation_function", ACTIVATIONS, "gelu_new"),
      intermediateSize: config.integer("n_inner", { ...SIZE_LIMITS.intermediateSize, fallback: 4 * hiddenSize }),
      bias: true,
    },
  };
  config.only("scale_attn_weights", true);
  config.only("scale_attn_by_inverse_layer_idx", false);
  config.only("reorder_and_upcast_attn", false);
  config.only("add_cross_attention", false);
  const architecture = {
    modelType: "gpt2",
    layers: repeat(layer, layerCount),
    finalNorm: norm,
    tied: true,
    learnedPositions: contextLength,
  };
  return decoderOf(config, sizes, architecture, checkpointNames(hiddenSize));
}

function checkpointNames(hiddenSize: number): CheckpointNames {
  const conv1d = (from: string) => ({ from, transpose: true });
  const fused = (part: number) => ({
    ...conv1d("attn.c_attn"),
    rows: { first: part * hiddenSize, of: 3 * hiddenSize },
  });
  return {
    prefix: "transformer.",
    token_embedding: "wte",
    position_embedding: "wpe",
    layers: "h",
    layer: {
      mixer_norm: "ln_1",
      q: fused(0),
      k: fused(1),
      v: fused(2),
      output: conv1d("attn.c_proj"),
      mlp_norm: "ln_2",
      up: conv1d("mlp.c_fc"),
      down: conv1d("mlp.c_proj"),
    },
    final_norm: "ln_f",
    head: ["lm_head"],
  };
}
