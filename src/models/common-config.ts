/**
 * What the config.json files of most architectures say in the same words. Each architecture's file says the rest, and
 * which defaults its own class in transformers has.
 */
import type { ConfigReader } from "./config-reader";
import type { AttentionSpec, DecoderSpec, HeadSpec, LayerSpec, MlpSpec, NormSpec, RopeSpec } from "./decoder-spec";
import { ACTIVATIONS, SIZE_LIMITS } from "./sizes";
import { bindTensors, type CheckpointNames } from "./tensor-bindings";

/** Numbers that fix the shapes of a decoder's tensors. */
export interface Sizes {
  hiddenSize: number;
  layerCount: number;
  headCount: number;
  keyValueHeadCount: number;
  headDim: number;
  contextLength: number;
}

/** @param defaults keyValueHeadCount: where the key is absent; else, as where it is null, as many as heads */
export function readSizes(
  config: ConfigReader,
  defaults: { contextLength: number; keyValueHeadCount?: number; headDim?: number },
): Sizes {
  const hiddenSize = config.integer("hidden_size", SIZE_LIMITS.hiddenSize);
  const headCount = config.integer("num_attention_heads", SIZE_LIMITS.headCount);
  const absent = config.isAbsent("num_key_value_heads") ? defaults.keyValueHeadCount : undefined;
  const fallback = absent ?? headCount;
  const keyValueHeadCount = config.integer("num_key_value_heads", { ...SIZE_LIMITS.headCount, fallback });
  if (headCount % keyValueHeadCount !== 0) {
    const why = `it does not divide num_attention_heads, ${headCount}`;
    throw config.invalid("num_key_value_heads", keyValueHeadCount, why);
  }
  return {
    hiddenSize,
    layerCount: config.integer("num_hidden_layers", SIZE_LIMITS.layerCount),
    headCount,
    keyValueHeadCount,
    headDim: readHeadDim(config, hiddenSize, headCount, defaults.headDim),
    contextLength: config.integer("max_position_embeddings", {
      ...SIZE_LIMITS.contextLength,
      fallback: defaults.contextLength,
    }),
  };
}

function readHeadDim(config: ConfigReader, hiddenSize: number, headCount: number, fallback?: number): number {
  const divided = fallback === undefined && !config.isSet("head_dim");
  if (divided && hiddenSize % headCount !== 0) {
    throw config.invalid("num_attention_heads", headCount, `it does not divide hidden_size, ${hiddenSize}`);
  }
  return config.integer("head_dim", { ...SIZE_LIMITS.headDim, fallback: fallback ?? hiddenSize / headCount });
}

export function readRmsNorm(config: ConfigReader, fallback: number): NormSpec {
  return { kind: "rms", eps: config.number("rms_norm_eps", { ...SIZE_LIMITS.normEps, fallback }), bias: false };
}

export function readLayerNorm(config: ConfigReader, key = "layer_norm_eps"): NormSpec {
  return { kind: "layer", eps: config.number(key, { ...SIZE_LIMITS.normEps, fallback: 1e-5 }), bias: true };
}

/** @param activation the key of the activation's name, and its default */
export function readMlp(
  config: ConfigReader,
  kind: MlpSpec["kind"],
  { bias, activation: [key, fallback] = ["hidden_act", "silu"] }: { bias: boolean; activation?: [string, string] },
): MlpSpec {
  return {
    kind,
    activation: config.choice(key, ACTIVATIONS, fallback),
    intermediateSize: config.integer("intermediate_size", SIZE_LIMITS.intermediateSize),
    bias,
  };
}

/** Grouped-query attention of these sizes, scaled by 1/sqrt(headDim), to all positions, without biases. */
export function attentionOf(
  { headCount, keyValueHeadCount, headDim }: Sizes,
  rope: RopeSpec | undefined,
  further: Partial<AttentionSpec> = {},
): AttentionSpec {
  const scale = 1 / Math.sqrt(headDim);
  return {
    kind: "attention",
    headCount,
    keyValueHeadCount,
    headDim,
    scale,
    rope,
    qkvBias: false,
    outputBias: false,
    ...further,
  };
}

/** What an architecture's file says beside sizes and keys that all have. */
export interface Architecture {
  modelType: string;
  layers: readonly LayerSpec[];
  finalNorm: NormSpec;
  /** Where config.json does not say whether the head's matrix is the embedding's. */
  tied: boolean;
  head?: Partial<Omit<HeadSpec, "tied">>;
  embeddingScale?: number;
  learnedPositions?: number;
}

/** Reads the vocabulary's size, the tying of the head and the end tokens, and binds the tensors. */
export function decoderOf(
  config: ConfigReader,
  { hiddenSize, contextLength }: Pick<Sizes, "hiddenSize" | "contextLength">,
  architecture: Architecture,
  names: CheckpointNames,
): DecoderSpec {
  const { modelType, layers, finalNorm, embeddingScale = 1, learnedPositions } = architecture;
  const spec = {
    modelType,
    vocabSize: config.integer("vocab_size", SIZE_LIMITS.vocabSize),
    hiddenSize,
    contextLength,
    embeddingScale,
    learnedPositions: learnedPositions === undefined ? undefined : { length: learnedPositions },
    layers,
    finalNorm,
    head: { bias: false, ...architecture.head, tied: config.boolean("tie_word_embeddings", architecture.tied) },
    endTokenIds: config.tokenIds("eos_token_id") ?? [],
  };
  return { ...spec, tensors: bindTensors(spec, names) };
}

/** `count` layers that are all the same. */
export function repeat(layer: LayerSpec, count: number): LayerSpec[] {
  return Array<LayerSpec>(count).fill(layer);
}
