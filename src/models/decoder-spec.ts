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
  head: { /** The head's matrix is the embedding's. */ tied: boolean; bias: boolean };
  /** Ids that end a text, from config.json; generation_config.json may replace them (see `endTokenIds` in registry). */
  endTokenIds: readonly number[];
  /** Where each of the decoder's own tensors comes from in the checkpoint. */
  tensors: readonly TensorBinding[];
}

export interface LayerSpec {
  attentionNorm: NormSpec;
  attention: AttentionSpec;
  mlpNorm: NormSpec;
  mlp: MlpSpec;
}

export interface NormSpec {
  kind: "rms" | "layer";
  eps: number;
  /** LayerNorm's learned shift. */
  bias: boolean;
}

export interface AttentionSpec {
  headCount: number;
  keyValueHeadCount: number;
  headDim: number;
  /** Factor on q·k, usually 1/sqrt(headDim). */
  scale: number;
  rope: RopeSpec | undefined;
  /** Biases on the q, k, v projections, and on the output projection. */
  qkvBias: boolean;
  outputBias: boolean;
}

export interface RopeSpec {
  /** One per rotated pair, [rotaryWidth / 2], float64; scaling (llama3 …) already applied. */
  inverseFrequencies: readonly number[];
  /** half-split: (i, i + rotaryWidth/2) rotate together (Hugging Face); interleaved: (2i, 2i + 1). */
  pairing: "half-split" | "interleaved";
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
 * layers.N. attention_norm.weight/.bias · q|k|v.weight/.bias · output.weight/.bias
 *           mlp_norm.weight/.bias · gate|up|down.weight/.bias
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
  rows?: { first: number; of: number };
}
