/**
 * A model is data: everything about a decoder-only transformer that changes its numbers.
 *
 * Each architecture file (one per `model_type`) turns a config.json into one `DecoderSpec`; `decoder.ts` walks it and
 * emits operations; the backends run those. Nothing here knows about checkpoints' files or about GPUs.
 */

export interface DecoderSpec {
  modelType: string;
  vocabSize: number;
  hiddenSize: number;
  /** Positions the model was made for. */
  contextLength: number;
  /** Factor on the token embedding (1 for most models). */
  embeddingScale: number;
  /** Learned absolute positions (GPT-2); undefined with RoPE. */
  learnedPositions: { length: number } | undefined;
  layers: readonly LayerSpec[];
  finalNorm: NormSpec;
  head: HeadSpec;
  /** Ids that end a text, from config.json; generation_config.json may replace them (see `endTokenIds` in registry). */
  endTokenIds: readonly number[];
  /** Where each of the decoder's own tensors comes from in the checkpoint. */
  tensors: readonly TensorBinding[];
}

export interface HeadSpec {
  /** The head's matrix is the embedding's. */
  tied: boolean;
  bias: boolean;
  /** Factor on the logits (Granite, Cohere); default 1. */
  scale?: number;
  /** logits = softcap · tanh(logits / softcap), after the factor (Gemma 2). */
  softcap?: number | undefined;
}

/**
 * A layer is two blocks: the mixer, in which a token sees those before it, and the MLP, in which each is alone.
 *
 * sequential:  x += mixer(norm(x));  x += mlp(norm(x))
 * parallel:    x += mixer(norm(x)) + mlp(norm(x)), both of the same x (GPT-NeoX, Phi)
 */
export interface LayerSpec {
  /** Before the block; undefined where the model has only a norm after it (OLMo 2). */
  mixerNorm: NormSpec | undefined;
  mixer: AttentionSpec | ConvolutionSpec;
  /** Of the block's result, before it is added (Gemma, OLMo 2); tensors mixer_post_norm. */
  mixerPostNorm?: NormSpec;
  /** "mixer_norm": the MLP reads the mixer's norm (Phi). */
  mlpNorm: NormSpec | "mixer_norm" | undefined;
  mlp: MlpSpec;
  /** Tensors mlp_post_norm. */
  mlpPostNorm?: NormSpec;
  /** Default sequential. */
  residual?: "sequential" | "parallel";
  /** Factor on what a block adds to the residual stream (Granite); default 1. */
  residualScale?: number;
}

export interface NormSpec {
  kind: "rms" | "layer";
  eps: number;
  /** LayerNorm's learned shift. */
  bias: boolean;
}

export interface AttentionSpec {
  kind: "attention";
  headCount: number;
  keyValueHeadCount: number;
  headDim: number;
  /** Factor on q·k, usually 1/sqrt(headDim). */
  scale: number;
  rope: RopeSpec | undefined;
  /**
   * Norm of q and k before RoPE: over each head (tensors q_norm, k_norm [headDim]), or over all heads at once
   * ([heads · headDim]).
   */
  queryKeyNorm?: NormSpec & { over: "head" | "all" };
  /** A position attends to the last `window` positions, itself included; undefined: to all. */
  window?: number | undefined;
  /** scores = softcap · tanh(scores / softcap), after the scale and before the softmax (Gemma 2). */
  softcap?: number | undefined;
  /** Biases on the q, k, v projections, and on the output projection. */
  qkvBias: boolean;
  outputBias: boolean;
}

/** A short convolution between two gates (LFM2): a token sees the last `taps` positions, its own included. */
export interface ConvolutionSpec {
  kind: "convolution";
  taps: number;
  /** On the three projections before it, on itself, and on the output projection. */
  bias: boolean;
}

export interface RopeSpec {
  /** One per rotated pair, [rotaryWidth / 2], float64; scaling (llama3 …) already applied. */
  inverseFrequencies: readonly number[];
  /** half-split: (i, i + rotaryWidth/2) rotate together (Hugging Face); interleaved: (2i, 2i + 1). */
  pairing: "half-split" | "interleaved";
  /** What the frequencies are where the KV cache holds more than `beyond` positions (LongRoPE); see `frequenciesFor`. */
  long?: { beyond: number; inverseFrequencies: readonly number[] };
  /** Factor on cos and sin (YaRN's and LongRoPE's attention factor); default 1. */
  magnitude?: number;
}

export type Activation = "silu" | "gelu" | "gelu_tanh";

export interface MlpSpec {
  /** gated: down(act(gate x) * up x); plain: down(act(up x)). */
  kind: "gated" | "plain";
  activation: Activation;
  intermediateSize: number;
  bias: boolean;
}

/**
 * The decoder's own names. All matrices are [outputs, inputs], row-major, whatever the checkpoint holds.
 * `layers.N.` stands before the names of a layer.
 *
 * token_embedding [V, D] · position_embedding [P, D] · final_norm.weight/.bias [D] · head.weight [V, D] · head.bias [V]
 * layers.N. mixer_norm.weight/.bias · mixer_post_norm.weight/.bias
 *           attention:    q|k|v.weight/.bias · q_norm|k_norm.weight/.bias · output.weight/.bias
 *           convolution:  input_gate|output_gate|convolved.weight/.bias · convolution.weight [taps, D], .bias [D] ·
 *                         convolution_output.weight/.bias
 *           mlp_norm.weight/.bias · gate|up|down.weight/.bias · mlp_post_norm.weight/.bias
 */
export type TensorName = string;

/** One decoder tensor and the part of a checkpoint tensor that holds it. */
export interface TensorBinding {
  name: TensorName;
  /** [rows, columns]; a vector is [1, columns]. */
  shape: readonly [rows: number, columns: number];
  /** Accepted checkpoint names, the usual one first (some exports drop or add a prefix). */
  from: readonly string[];
  /** The checkpoint holds [columns, rows] (GPT-2's Conv1D). */
  transpose: boolean;
  /**
   * First row of this tensor inside the checkpoint tensor (after transposing), for fused ones; and its whole row count.
   * For a vector, the elements count: [1, 64] with { first: 64, of: 192 } is elements 64 to 127 of a vector of 192.
   */
  rows?: {
    first: number;
    of: number;
    /** Rows come in blocks of `size`, one every `stride` rows (GPT-NeoX: q, k, v of each head in turn); default: all in one. */
    blocks?: { size: number; stride: number };
  };
  /** Added to each number of a vector while it loads (Gemma's norms hold weight − 1); default 0. */
  offset?: number;
}
