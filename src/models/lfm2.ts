/**
 * LFM2: layers of short convolutions, and here and there one of attention with an RMS norm over each head of q and k.
 *
 * Source: Liquid AI 2025, "LFM2 Technical Report"; defaults as in transformers' `models/lfm2`.
 */
import { attentionOf, decoderOf, readSizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { ConvolutionSpec, DecoderSpec, MlpSpec, NormSpec } from "./decoder-spec";
import { readRope } from "./rope-config";
import { SIZE_LIMITS } from "./sizes";
import type { CheckpointNames } from "./tensor-bindings";

export function readLfm2(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 128_000, keyValueHeadCount: 8 });
  const { hiddenSize, headCount, layerCount } = sizes;
  const norm: NormSpec = {
    kind: "rms",
    eps: config.number("norm_eps", { ...SIZE_LIMITS.normEps, fallback: 1e-5 }),
    bias: false,
  };
  const rope = readRope(config, sizes, { theta: readTheta(config) });
  const attention = attentionOf(sizes, rope, { queryKeyNorm: { ...norm, over: "head" } });
  const convolution: ConvolutionSpec = {
    kind: "convolution",
    taps: config.integer("conv_L_cache", { ...SIZE_LIMITS.taps, fallback: 3 }),
    bias: config.boolean("conv_bias", false),
  };
  const mlp = readAdjustedMlp(config);
  const layers = readAttending(config, layerCount).map((attends) => ({
    mixerNorm: norm,
    mixer: attends ? attention : convolution,
    mlpNorm: norm,
    mlp,
  }));
  // The same again, in the published files.
  config.only("block_dim", hiddenSize);
  config.only("conv_dim", hiddenSize);
  config.only("conv_dim_out", hiddenSize);
  config.only("num_heads", headCount);
  config.only("block_norm_eps", norm.eps);
  config.only("block_use_swiglu", true);
  config.only("use_pos_enc", true);
  // How training began.
  for (const key of ["block_mlp_init_scale", "block_out_init_scale"]) config.isSet(key);
  for (const key of ["block_use_xavier_init", "conv_use_xavier_init"]) config.isSet(key);
  const tied = config.boolean("tie_embedding", true); // the first files' name
  if (config.isSet("tie_embedding")) config.only("tie_word_embeddings", tied);
  return decoderOf(config, sizes, { modelType: "lfm2", layers, finalNorm: norm, tied }, namesOf(hiddenSize));
}

/** `theta` is the first files' name. */
function readTheta(config: ConfigReader): number {
  if (!config.isSet("theta")) return 1e6;
  const theta = config.number("theta", { min: 1, max: 1e12 });
  config.only("rope_theta", theta);
  return theta;
}

/** `block_ff_dim`, the first files' name, counts before `intermediate_size`; two thirds of it are the MLP's, rounded up. */
function readAdjustedMlp(config: ConfigReader): MlpSpec {
  const size = config.integer("block_ff_dim", {
    ...SIZE_LIMITS.intermediateSize,
    ...(config.isSet("intermediate_size")
      ? { fallback: config.integer("intermediate_size", SIZE_LIMITS.intermediateSize) }
      : {}),
  });
  const multipleOf = config.integer("block_multiple_of", { ...SIZE_LIMITS.intermediateSize, fallback: 256 });
  const range = { min: 1e-3, max: 1e3 };
  const factor = config.isAbsent("block_ffn_dim_multiplier")
    ? 1
    : config.isSet("block_ffn_dim_multiplier") && config.number("block_ffn_dim_multiplier", range);
  const mlp: MlpSpec = { kind: "gated", activation: "silu", intermediateSize: size, bias: false };
  if (!config.boolean("block_auto_adjust_ff_dim", true)) return mlp;
  const part = Math.trunc((2 * size) / 3);
  if (factor === false) return { ...mlp, intermediateSize: part }; // null: neither a factor nor rounding
  return { ...mlp, intermediateSize: multipleOf * Math.ceil(Math.trunc(factor * part) / multipleOf) };
}

/** Which layers have attention: `layer_types`, or the first files' `full_attn_idxs`; without either, all. */
function readAttending(config: ConfigReader, layerCount: number): boolean[] {
  const isType = (type: unknown): type is "conv" | "full_attention" => type === "conv" || type === "full_attention";
  const types = config.list("layer_types", layerCount, isType)?.map((type) => type === "full_attention");
  const indexes = config.take("full_attn_idxs");
  if (indexes === undefined) return types ?? Array<boolean>(layerCount).fill(true);
  const isLayer = (index: unknown) => Number.isInteger(index) && Number(index) >= 0 && Number(index) < layerCount;
  if (!Array.isArray(indexes) || !indexes.every(isLayer)) {
    throw config.invalid("full_attn_idxs", indexes, `a list of layers, 0 to ${layerCount - 1}, is expected`);
  }
  const attending = Array.from({ length: layerCount }, (_, layer) => indexes.includes(layer));
  if (types !== undefined && String(types) !== String(attending)) {
    throw config.invalid("full_attn_idxs", indexes, "layer_types is set, too, and says something else");
  }
  return attending;
}

function namesOf(hiddenSize: number): CheckpointNames {
  const part = (index: number) => ({
    from: "conv.in_proj",
    rows: { first: index * hiddenSize, of: 3 * hiddenSize },
  });
  return {
    prefix: "model.",
    token_embedding: "embed_tokens",
    layers: "layers",
    layer: {
      mixer_norm: "operator_norm",
      ...{ q: "self_attn.q_proj", k: "self_attn.k_proj", v: "self_attn.v_proj", output: "self_attn.out_proj" },
      ...{ q_norm: "self_attn.q_layernorm", k_norm: "self_attn.k_layernorm" },
      ...{ input_gate: part(0), output_gate: part(1), convolved: part(2) },
      convolution: { from: "conv.conv", transpose: true }, // [hidden size, 1, taps]
      convolution_output: "conv.out_proj",
      mlp_norm: "ffn_norm",
      ...{ gate: "feed_forward.w1", up: "feed_forward.w3", down: "feed_forward.w2" },
    },
    final_norm: "embedding_norm",
    head: ["lm_head"],
  };
}
