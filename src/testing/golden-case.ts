/** What golden.json of a golden checkpoint holds; see golden/PROVENANCE.md. */
export const GOLDEN_MODELS = [
  "llama",
  "llama-rope3",
  "gpt2",
  "qwen2",
  "qwen3",
  "gemma3_text",
  "phi3",
  "olmo2",
  "gpt_neox",
  "mistral",
  "gemma2",
  "smollm3",
  "granite",
  "stablelm",
  "stablelm-parallel",
  "gpt_neo",
  "phi",
  "phi3-longrope",
  "lfm2",
  "lfm2-bias",
] as const;
export type GoldenModel = (typeof GOLDEN_MODELS)[number];

export interface GoldenCase {
  name: string;
  ids: number[];
  /** 24 arg-max ids after `ids`. */
  greedy_ids: number[];
  /** Smallest gap between the best and the second log-probability on that path. */
  greedy_min_margin: number;
  /** [V] natural logs of the next token's probabilities, from a float64 forward pass. */
  logprobs_f64: number[];
}
