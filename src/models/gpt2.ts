/**
 * GPT-2: LayerNorm with bias before attention and MLP, learned positions, biases everywhere, a plain GELU MLP.
 *
 * Its checkpoints hold matrices as [inputs, outputs] (Conv1D) and q, k, v in one.
 * Source: Radford et al. 2019; tensor names and defaults as in transformers' `models/gpt2`.
 */
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec, NormSpec, TensorBinding } from "./decoder-spec";
import { ACTIVATIONS, SIZE_LIMITS } from "./sizes";
import { matrix, transposed, vector, withAndWithout } from "./tensor-bindings";

export function readGpt2(config: ConfigReader): DecoderSpec {
  const hiddenSize = config.integer("n_embd", SIZE_LIMITS.hiddenSize);
  const headCount = config.integer("n_head", SIZE_LIMITS.headCount);
  if (hiddenSize % headCount !== 0) {
    throw config.invalid("n_head", headCount, `it does not divide n_embd, ${hiddenSize}`);
  }
  const headDim = hiddenSize / headCount;
  const norm: NormSpec = {
    kind: "layer",
    eps: config.number("layer_norm_epsilon", { ...SIZE_LIMITS.normEps, fallback: 1e-5 }),
    bias: true,
  };
  const layer: LayerSpec = {
    attentionNorm: norm,
    attention: {
      headCount,
      keyValueHeadCount: headCount,
      headDim,
      scale: 1 / Math.sqrt(headDim),
      rope: undefined,
      qkvBias: true,
      outputBias: true,
    },
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
  const layers = Array<LayerSpec>(config.integer("n_layer", SIZE_LIMITS.layerCount)).fill(layer);
  const vocabSize = config.integer("vocab_size", SIZE_LIMITS.vocabSize);
  const contextLength = config.integer("n_positions", { ...SIZE_LIMITS.contextLength, fallback: 1024 });
  const tied = config.boolean("tie_word_embeddings", true);
  return {
    modelType: "gpt2",
    vocabSize,
    hiddenSize,
    contextLength,
    embeddingScale: 1,
    learnedPositions: { length: contextLength },
    layers,
    finalNorm: norm,
    head: { tied, bias: false },
    endTokenIds: config.tokenIds("eos_token_id") ?? [],
    tensors: [
      matrix("token_embedding", vocabSize, hiddenSize, withAndWithout("transformer.", "wte.weight")),
      matrix("position_embedding", contextLength, hiddenSize, withAndWithout("transformer.", "wpe.weight")),
      ...layers.flatMap((spec, index) => layerTensors(spec, index, hiddenSize)),
      vector("final_norm.weight", hiddenSize, withAndWithout("transformer.", "ln_f.weight")),
      vector("final_norm.bias", hiddenSize, withAndWithout("transformer.", "ln_f.bias")),
      ...(tied ? [] : [matrix("head.weight", vocabSize, hiddenSize, ["lm_head.weight"])]),
    ],
  };
}

function layerTensors({ mlp }: LayerSpec, index: number, hiddenSize: number): TensorBinding[] {
  /** A Conv1D; `part` of `parts` equal row blocks of a fused one. */
  const linear = (
    name: string,
    rows: number,
    columns: number,
    source: string,
    part = 0,
    parts = 1,
  ): TensorBinding[] => {
    const from = (piece: string) => withAndWithout("transformer.", `h.${index}.${source}.${piece}`);
    const fused = parts === 1 ? {} : { rows: { first: part * rows, of: parts * rows } };
    return [
      transposed(`layers.${index}.${name}.weight`, rows, columns, from("weight"), fused),
      vector(`layers.${index}.${name}.bias`, rows, from("bias"), fused),
    ];
  };
  const norm = (name: string, source: string): TensorBinding[] =>
    ["weight", "bias"].map((piece) => {
      const from = withAndWithout("transformer.", `h.${index}.${source}.${piece}`);
      return vector(`layers.${index}.${name}.${piece}`, hiddenSize, from);
    });
  return [
    ...norm("attention_norm", "ln_1"),
    ...["q", "k", "v"].flatMap((name, part) => linear(name, hiddenSize, hiddenSize, "attn.c_attn", part, 3)),
    ...linear("output", hiddenSize, hiddenSize, "attn.c_proj"),
    ...norm("mlp_norm", "ln_2"),
    ...linear("up", mlp.intermediateSize, hiddenSize, "mlp.c_fc"),
    ...linear("down", hiddenSize, mlp.intermediateSize, "mlp.c_proj"),
  ];
}
