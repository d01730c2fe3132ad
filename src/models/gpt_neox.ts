/**
 * GPT-NeoX (Pythia): attention and MLP read the same x, each through a LayerNorm of its own; a quarter of each head turns.
 *
 * Its checkpoints hold q, k and v of each head in turn, in one matrix.
 * Source: Black et al. 2022, "GPT-NeoX-20B"; defaults as in transformers' `models/gpt_neox`.
 */
import { attentionOf, decoderOf, readLayerNorm, readMlp, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readRope } from "./rope-config";
import type { CheckpointNames } from "./tensor-bindings";

export function readGptNeox(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 2048 });
  const rope = readRope(config, sizes, { rotaryFactor: 0.25, keys: ["rotary_emb_base", "rotary_pct"] });
  const norm = readLayerNorm(config);
  const bias = config.boolean("attention_bias", true);
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, rope, { qkvBias: bias, outputBias: bias }),
    mlpNorm: norm,
    mlp: readMlp(config, "plain", { bias: true, activation: ["hidden_act", "gelu"] }),
    residual: config.boolean("use_parallel_residual", true) ? "parallel" : "sequential",
  };
  const layers = repeat(layer, sizes.layerCount);
  const architecture = { modelType: "gpt_neox", layers, finalNorm: norm, tied: false };
  return decoderOf(config, sizes, architecture, checkpointNames(sizes.headCount, sizes.headDim));
}

function checkpointNames(headCount: number, headDim: number): CheckpointNames {
  const ofEachHead = (part: number) => ({
    from: "attention.query_key_value",
    rows: { first: part * headDim, of: 3 * headCount * headDim, blocks: { size: headDim, stride: 3 * headDim } },
  });
  return {
    prefix: "gpt_neox.",
    token_embedding: "embed_in",
    layers: "layers",
    layer: {
      mixer_norm: "input_layernorm",
      q: ofEachHead(0),
      k: ofEachHead(1),
      v: ofEachHead(2),
      output: "attention.dense",
      mlp_norm: "post_attention_layernorm",
      up: "mlp.dense_h_to_4h",
      down: "mlp.dense_4h_to_h",
    },
    final_norm: "final_layer_norm",
    head: ["embed_out", "lm_head"],
  };
}
