/**
 * Llama: RMS norms before attention and MLP, grouped-query attention with RoPE, SwiGLU.
 *
 * Also SmolLM2, TinyLlama and others that say `model_type: "llama"`.
 * Source: Touvron et al. 2023, "LLaMA"; tensor names and defaults as in transformers' `models/llama`.
 */
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec, NormSpec, TensorBinding } from "./decoder-spec";
import { readInverseFrequencies } from "./rope-config";
import { ACTIVATIONS, SIZE_LIMITS } from "./sizes";
import { matrix, vector, withAndWithout } from "./tensor-bindings";

export function readLlama(config: ConfigReader): DecoderSpec {
  const hiddenSize = config.integer("hidden_size", SIZE_LIMITS.hiddenSize);
  const headCount = config.integer("num_attention_heads", SIZE_LIMITS.headCount);
  const keyValueHeadCount = config.integer("num_key_value_heads", { ...SIZE_LIMITS.headCount, fallback: headCount });
  if (headCount % keyValueHeadCount !== 0) {
    throw config.invalid(
      "num_key_value_heads",
      keyValueHeadCount,
      `it does not divide num_attention_heads, ${headCount}`,
    );
  }
  const headDim = readHeadDim(config, hiddenSize, headCount);
  const attentionBias = config.boolean("attention_bias", false);
  const norm: NormSpec = {
    kind: "rms",
    eps: config.number("rms_norm_eps", { ...SIZE_LIMITS.normEps, fallback: 1e-6 }),
    bias: false,
  };
  const layer: LayerSpec = {
    attentionNorm: norm,
    attention: {
      headCount,
      keyValueHeadCount,
      headDim,
      scale: 1 / Math.sqrt(headDim),
      rope: { inverseFrequencies: readInverseFrequencies(config, headDim, 10000), pairing: "half-split" },
      qkvBias: attentionBias,
      outputBias: attentionBias,
    },
    mlpNorm: norm,
    mlp: {
      kind: "gated",
      activation: config.choice("hidden_act", ACTIVATIONS, "silu"),
      intermediateSize: config.integer("intermediate_size", SIZE_LIMITS.intermediateSize),
      bias: config.boolean("mlp_bias", false),
    },
  };
  config.only("pretraining_tp", 1);
  config.only("rope_interleaved", false);
  config.onlyEvery("layer_types", "full_attention");
  const layers = Array<LayerSpec>(config.integer("num_hidden_layers", SIZE_LIMITS.layerCount)).fill(layer);
  const vocabSize = config.integer("vocab_size", SIZE_LIMITS.vocabSize);
  const tied = config.boolean("tie_word_embeddings", false);
  return {
    modelType: "llama",
    vocabSize,
    hiddenSize,
    contextLength: config.integer("max_position_embeddings", { ...SIZE_LIMITS.contextLength, fallback: 2048 }),
    embeddingScale: 1,
    learnedPositions: undefined,
    layers,
    finalNorm: norm,
    head: { tied, bias: false },
    endTokenIds: config.tokenIds("eos_token_id") ?? [],
    tensors: [
      matrix("token_embedding", vocabSize, hiddenSize, withAndWithout("model.", "embed_tokens.weight")),
      ...layers.flatMap((spec, index) => layerTensors(spec, index, hiddenSize)),
      vector("final_norm.weight", hiddenSize, withAndWithout("model.", "norm.weight")),
      ...(tied ? [] : [matrix("head.weight", vocabSize, hiddenSize, ["lm_head.weight"])]),
    ],
  };
}

function readHeadDim(config: ConfigReader, hiddenSize: number, headCount: number): number {
  if (!config.isSet("head_dim") && hiddenSize % headCount !== 0) {
    throw config.invalid("num_attention_heads", headCount, `it does not divide hidden_size, ${hiddenSize}`);
  }
  const headDim = config.integer("head_dim", { ...SIZE_LIMITS.headDim, fallback: hiddenSize / headCount });
  if (headDim % 2 !== 0) throw config.invalid("head_dim", headDim, "rotary embedding needs an even number");
  return headDim;
}

function layerTensors({ attention, mlp }: LayerSpec, index: number, hiddenSize: number): TensorBinding[] {
  const queryWidth = attention.headCount * attention.headDim;
  const keyValueWidth = attention.keyValueHeadCount * attention.headDim;
  const linear = (name: string, rows: number, columns: number, bias: boolean, source: string): TensorBinding[] => {
    const from = (part: string) => withAndWithout("model.", `layers.${index}.${source}.${part}`);
    const weight = matrix(`layers.${index}.${name}.weight`, rows, columns, from("weight"));
    return bias ? [weight, vector(`layers.${index}.${name}.bias`, rows, from("bias"))] : [weight];
  };
  const norm = (name: string, source: string): TensorBinding => {
    const from = withAndWithout("model.", `layers.${index}.${source}.weight`);
    return vector(`layers.${index}.${name}.weight`, hiddenSize, from);
  };
  return [
    norm("attention_norm", "input_layernorm"),
    ...linear("q", queryWidth, hiddenSize, attention.qkvBias, "self_attn.q_proj"),
    ...linear("k", keyValueWidth, hiddenSize, attention.qkvBias, "self_attn.k_proj"),
    ...linear("v", keyValueWidth, hiddenSize, attention.qkvBias, "self_attn.v_proj"),
    ...linear("output", hiddenSize, queryWidth, attention.outputBias, "self_attn.o_proj"),
    norm("mlp_norm", "post_attention_layernorm"),
    ...linear("gate", mlp.intermediateSize, hiddenSize, mlp.bias, "mlp.gate_proj"),
    ...linear("up", mlp.intermediateSize, hiddenSize, mlp.bias, "mlp.up_proj"),
    ...linear("down", hiddenSize, mlp.intermediateSize, mlp.bias, "mlp.down_proj"),
  ];
}
