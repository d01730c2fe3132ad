/**
 * Largest sizes believed in a config.json, far above any published model: a number beyond them is a damaged file, and
 * would otherwise show up as an absurd allocation.
 */
export const SIZE_LIMITS = {
  vocabSize: { min: 1, max: 2 ** 22 },
  hiddenSize: { min: 1, max: 2 ** 16 },
  intermediateSize: { min: 1, max: 2 ** 18 },
  layerCount: { min: 1, max: 1024 },
  headCount: { min: 1, max: 1024 },
  headDim: { min: 1, max: 1024 },
  /** Positions that a short convolution sees. */
  taps: { min: 1, max: 64 },
  contextLength: { min: 1, max: 2 ** 24 },
  /** Added inside a square root; 0 would divide by zero on a zero row. */
  normEps: { min: 1e-20, max: 0.1 },
} as const;

/** transformers' names of activation functions (`ACT2FN`). */
export const ACTIVATIONS = {
  silu: "silu",
  swish: "silu",
  gelu: "gelu",
  gelu_new: "gelu_tanh",
  gelu_pytorch_tanh: "gelu_tanh",
} as const;
