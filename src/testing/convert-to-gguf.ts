/**
 * A float32 Hugging Face checkpoint as the GGUF file that llama.cpp's conversion would write, for architectures of which
 * we have no file that llama.cpp has read. Written from llama.cpp's `convert_hf_to_gguf.py`; it shares no code with the
 * reading of GGUF files.
 */
import type { CheckpointTensor } from "./checkpoint";
import { f32Tensor, makeGguf, type MadeTensor, type MadeValue } from "./make-gguf";

type Config = Readonly<Record<string, unknown>>;

/** After "model.", and "layers.N." → "blk.N."; without ".weight" and ".bias". */
const NAMES: Readonly<Record<string, string>> = {
  embed_tokens: "token_embd",
  norm: "output_norm",
  final_layernorm: "output_norm",
  lm_head: "output",
  input_layernorm: "attn_norm",
  post_attention_layernorm: "ffn_norm",
  pre_feedforward_layernorm: "ffn_norm",
  post_feedforward_layernorm: "post_ffw_norm",
  ...{ "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v" },
  ...{ "self_attn.o_proj": "attn_output", "self_attn.dense": "attn_output", "self_attn.qkv_proj": "attn_qkv" },
  ...{ "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down" },
  ...{ "self_attn.out_proj": "attn_output", operator_norm: "attn_norm", ffn_norm: "ffn_norm" },
  ...{ "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm" },
  ...{ "feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down" },
  ...{ "conv.in_proj": "shortconv.in_proj", "conv.conv": "shortconv.conv", "conv.out_proj": "shortconv.out_proj" },
  embedding_norm: "token_embd_norm",
  ...{ "mlp.gate_up_proj": "ffn_up", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down" },
};

const PERMUTED = ["llama", "granite", "smollm3"];
const ARCHITECTURES: Readonly<Record<string, string>> = { mistral: "llama", phi: "phi2" };

export function convertToGguf(
  config: Config,
  checkpoint: ReadonlyMap<string, CheckpointTensor>,
  tokenizer: { pieces: readonly string[] },
): Uint8Array<ArrayBuffer> {
  const type = String(config["model_type"]);
  const architecture = ARCHITECTURES[type] ?? type;
  const number = (key: string) => Number(config[key]);
  const heads = number("num_attention_heads");
  const keyValueHeads = Number(config["num_key_value_heads"] ?? heads);
  const headDim = Number(config["head_dim"] ?? number("hidden_size") / heads);
  const at = (key: string, value: MadeValue) => [`${architecture}.${key}`, value] as const;
  const set = (key: string, name: string, kind: "u32" | "f32" | "bool") =>
    config[name] === undefined || config[name] === null ? [] : [at(key, [kind, config[name]])];
  const partial = Math.floor(headDim * Number(config["partial_rotary_factor"] ?? 1));
  const isGemma = type.startsWith("gemma");
  const metadata: (readonly [string, MadeValue])[] = [
    ["general.architecture", ["string", architecture]],
    ...set("context_length", "max_position_embeddings", "u32"),
    ...set("embedding_length", "hidden_size", "u32"),
    ...set("block_count", "num_hidden_layers", "u32"),
    at("feed_forward_length", ["u32", feedForwardLength(config)]),
    ...set("attention.head_count", "num_attention_heads", "u32"),
    at("attention.head_count_kv", keyValueHeadsOf(config, keyValueHeads)),
    ...set("shortconv.l_cache", "conv_L_cache", "u32"),
    ...set("attention.layer_norm_rms_epsilon", "rms_norm_eps", "f32"),
    ...set("attention.layer_norm_rms_epsilon", "norm_eps", "f32"),
    ...set("attention.layer_norm_epsilon", "layer_norm_eps", "f32"),
    ...set("rope.freq_base", "rope_theta", "f32"),
    at("rope.dimension_count", ["u32", partial]),
    ...(config["head_dim"] === undefined
      ? []
      : [at("attention.key_length", ["u32", headDim]), at("attention.value_length", ["u32", headDim])]),
    ...set("attention.sliding_window", "sliding_window", "u32"),
    ...set("attn_logit_softcapping", "attn_logit_softcapping", "f32"),
    ...set("final_logit_softcapping", "final_logit_softcapping", "f32"),
    ...set("attention.scale", "attention_multiplier", "f32"),
    ...set("embedding_scale", "embedding_multiplier", "f32"),
    ...set("residual_scale", "residual_multiplier", "f32"),
    ...set("logit_scale", "logits_scaling", "f32"),
    ...set("use_parallel_residual", "use_parallel_residual", "bool"),
    ...set("rope.scaling.original_context_length", "original_max_position_embeddings", "u32"),
    ["tokenizer.ggml.model", ["string", "gpt2"]],
    ["tokenizer.ggml.pre", ["string", "gpt-2"]],
    ["tokenizer.ggml.tokens", ["array", ["string", tokenizer.pieces]]],
    ["tokenizer.ggml.merges", ["array", ["string", []]]],
    ["tokenizer.ggml.eos_token_id", ["u32", 0]],
  ];
  const tensors: MadeTensor[] = [...checkpoint].map(([name, { shape, values }]) => {
    const [, index, module = "", piece = ""] = /^(?:model\.)?(?:layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name) ?? [];
    const own = isGemma && module === "post_attention_layernorm" ? "post_attention_norm" : NAMES[module];
    if (own === undefined) throw new Error(`${name} has no name in GGUF`);
    const path = `${index === undefined ? "" : `blk.${index}.`}${own}.${piece}`;
    const isNorm = own.endsWith("_norm");
    if (isGemma && isNorm)
      return f32Tensor(
        path,
        shape,
        values.map((value) => value + 1),
      );
    if (own === "shortconv.conv") return f32Tensor(path, [shape[0] ?? 0, shape[2] ?? 0], values);
    const rotated = own === "attn_q" ? heads : own === "attn_k" ? keyValueHeads : undefined;
    if (rotated === undefined || !PERMUTED.includes(architecture)) return f32Tensor(path, shape, values);
    return f32Tensor(path, shape, permuted(values, rotated, shape[0] ?? 0));
  });
  const scaling = config["rope_scaling"] as Record<string, number[]> | null | undefined; // of the golden configs
  for (const kind of ["long", "short"]) {
    const factors = scaling?.[`${kind}_factor`];
    if (factors !== undefined) tensors.push(f32Tensor(`rope_factors_${kind}.weight`, [factors.length], factors));
  }
  return makeGguf({ metadata, tensors });
}

/** A number, or for LFM2 one a layer: 0 where it is a convolution. */
function keyValueHeadsOf(config: Config, count: number): MadeValue {
  const types = config["layer_types"] as string[] | undefined; // of the golden configs
  if (config["model_type"] !== "lfm2" || types === undefined) return ["u32", count];
  return ["array", ["i32", types.map((type) => (type === "conv" ? 0 : count))]];
}

/** LFM2's is computed once, in the conversion. */
function feedForwardLength(config: Config): number {
  const size = Number(config["intermediate_size"]);
  if (config["block_auto_adjust_ff_dim"] !== true) return size;
  const [multiplier, multiple] = [Number(config["block_ffn_dim_multiplier"]), Number(config["block_multiple_of"])];
  return multiple * Math.ceil(Math.floor(multiplier * Math.floor((2 * size) / 3)) / multiple);
}

/** Rows of each head from two halves, (i, i + half), to neighbours, (2i, 2i + 1): `LlamaModel.permute`. */
function permuted(values: Float32Array, heads: number, rows: number): Float32Array {
  const columns = values.length / rows;
  const headDim = rows / heads;
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / headDim);
    const inHead = row % headDim;
    const from = head * headDim + (inHead % 2) * (headDim / 2) + Math.floor(inHead / 2);
    result.set(values.subarray(from * columns, (from + 1) * columns), row * columns);
  }
  return result;
}
