/**
 * A decoder's tensors in a GGUF file. llama.cpp names them alike for all architectures, as the decoder does: one table
 * is enough, and what a Hugging Face checkpoint does to a tensor does not matter here.
 *
 * - Matrices are [outputs, inputs], never transposed (GPT-2).
 * - A fused matrix is all of q, then all of k, then all of v (GPT-NeoX's heads take turns in its checkpoints), or all
 *   gates, then all ups (Phi-3, under the name ffn_up).
 * - Norms hold the factor itself (Gemma's checkpoints hold one less).
 *
 * Source: llama.cpp, `gguf-py/gguf/constants.py` and the conversion of each architecture.
 */
import { WordloomError } from "../errors";
import type { DecoderSpec, LayerSpec, RopeSpec, TensorBinding } from "./decoder-spec";

const WHOLE: Readonly<Record<string, string>> = {
  token_embedding: "token_embd.weight",
  position_embedding: "position_embd.weight",
  "final_norm.weight": "output_norm.weight",
  "final_norm.bias": "output_norm.bias",
  "head.weight": "output.weight",
  "head.bias": "output.bias",
};

/** After "blk.N." */
const LAYER: Readonly<Record<string, string>> = {
  mixer_norm: "attn_norm",
  ...{ q: "attn_q", k: "attn_k", v: "attn_v", output: "attn_output" },
  ...{ q_norm: "attn_q_norm", k_norm: "attn_k_norm" },
  ...{ convolution: "shortconv.conv", convolution_output: "shortconv.out_proj" },
  mixer_post_norm: "post_attention_norm",
  mlp_norm: "ffn_norm",
  ...{ gate: "ffn_gate", up: "ffn_up", down: "ffn_down" },
  mlp_post_norm: "post_ffw_norm",
};

export interface GgufLayout {
  /** How the rows of q and k lie: llama.cpp reorders those of Llama and its kin, so that neighbours rotate together. */
  pairing: RopeSpec["pairing"];
  /** rope_freqs.weight: what each frequency is divided by, as the file's makers computed it; undefined without it. */
  frequencyDivisors: Float32Array | undefined;
}

/**
 * The same model with its tensors bound to a GGUF file's.
 *
 * @param has whether the file has a tensor of this name
 * @throws tensor-mismatch if there are not as many divisors as frequencies
 */
export function bindGguf(spec: DecoderSpec, has: (name: string) => boolean, layout: GgufLayout): DecoderSpec {
  return {
    ...spec,
    layers: spec.layers.map((layer) => ({ ...layer, mixer: mixerOf(layer.mixer, layout) })),
    tensors: spec.tensors.map((binding) => bind(binding, spec, has)),
  };
}

function mixerOf(mixer: LayerSpec["mixer"], layout: GgufLayout): LayerSpec["mixer"] {
  if (mixer.kind !== "attention" || mixer.rope === undefined) return mixer;
  return { ...mixer, rope: ropeOf(mixer.rope, layout) };
}

function ropeOf(rope: RopeSpec, { pairing, frequencyDivisors }: GgufLayout): RopeSpec {
  const { inverseFrequencies } = rope;
  if (frequencyDivisors === undefined) return { ...rope, pairing };
  if (frequencyDivisors.length !== inverseFrequencies.length) {
    const message = `rope_freqs.weight has ${frequencyDivisors.length} numbers for ${inverseFrequencies.length} frequencies`;
    throw new WordloomError("tensor-mismatch", message);
  }
  const divided = inverseFrequencies.map((frequency, pair) => frequency / (frequencyDivisors[pair] as number)); // as many
  return { ...rope, pairing, inverseFrequencies: divided };
}

function bind({ name, shape }: TensorBinding, spec: DecoderSpec, has: (name: string) => boolean): TensorBinding {
  const bound = (from: string, rows?: TensorBinding["rows"]): TensorBinding => ({
    name,
    shape,
    from: [from],
    transpose: name.endsWith(".convolution.weight"),
    ...(rows === undefined ? {} : { rows }),
  });
  // LFM2's final norm has the name of another architecture's norm of the embeddings.
  if (name === "final_norm.weight" && has("token_embd_norm.weight")) return bound("token_embd_norm.weight");
  const whole = WHOLE[name];
  if (whole !== undefined) return bound(whole);
  const [, index = "", module = "", piece = ""] = /^layers\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name) ?? [];
  const own = LAYER[module];
  const layer = spec.layers[Number(index)];
  const path = (tensor: string) => `blk.${index}.${tensor}.${piece}`;
  const gates = ["input_gate", "output_gate", "convolved"];
  if (gates.includes(module)) {
    const width = spec.hiddenSize;
    return bound(path("shortconv.in_proj"), { first: gates.indexOf(module) * width, of: gates.length * width });
  }
  if (own === undefined || layer === undefined) throw new WordloomError("internal", `GGUF has no name for ${name}`);
  if (!has(path(own)) || module === "up") {
    const fused = fusedRows(module, layer);
    if (fused !== undefined && has(path(fused.from)) && !has(path(fused.unless))) {
      return bound(path(fused.from), fused.rows);
    }
  }
  return bound(path(own));
}

/** Where a matrix lies in the one that holds it with its neighbours; `unless`: what is there where they are apart. */
function fusedRows(module: string, { mixer, mlp }: LayerSpec) {
  const half = (part: number) => ({
    from: "ffn_up",
    unless: "ffn_gate",
    rows: { first: part * mlp.intermediateSize, of: 2 * mlp.intermediateSize },
  });
  if (mixer.kind === "attention") {
    const [queries, keys] = [mixer.headCount * mixer.headDim, mixer.keyValueHeadCount * mixer.headDim];
    const qkv = (first: number) => ({ from: "attn_qkv", unless: "attn_q", rows: { first, of: queries + 2 * keys } });
    if (module === "q") return qkv(0);
    if (module === "k") return qkv(queries);
    if (module === "v") return qkv(queries + keys);
  }
  if (mlp.kind === "gated" && module === "gate") return half(0);
  if (mlp.kind === "gated" && module === "up") return half(1);
  return undefined;
}
