// GGUF v3 writer for arch "llama" (tied embeddings: no output.weight). Quantised files are "pure":
// every matrix, the embedding included, has the named type; norms stay f32.
import { Out } from "./files.mjs";
import { tensorList, tensorData } from "./weights.mjs";
import { toF16, q8_0, q4_0, q4Blocks } from "./quant.mjs";
import { buildTokenizer } from "./tokenizer.mjs";

const TYPES = { F32: [0, 0, 1, 4], F16: [1, 1, 1, 2], Q4_0: [2, 2, 32, 18], Q8_0: [8, 7, 32, 34] }; // ggml type, file type, block, bytes
const U32 = 4,
  F32T = 6,
  BOOL = 7,
  STR = 8,
  ARR = 9,
  I32 = 5;

const u32 = (v) => {
  const b = Buffer.alloc(4);
  b.writeUInt32LE(v);
  return b;
};
const u64 = (v) => {
  const b = Buffer.alloc(8);
  b.writeBigUInt64LE(BigInt(v));
  return b;
};
const str = (v) => {
  const b = Buffer.from(v);
  return Buffer.concat([u64(b.length), b]);
};
const f32 = (v) => {
  const b = Buffer.alloc(4);
  b.writeFloatLE(v);
  return b;
};
const i32s = (a) => Buffer.from(Int32Array.from(a).buffer);

const kv = {
  u32: (k, v) => Buffer.concat([str(k), u32(U32), u32(v)]),
  f32: (k, v) => Buffer.concat([str(k), u32(F32T), f32(v)]),
  bool: (k, v) => Buffer.concat([str(k), u32(BOOL), Buffer.from([v ? 1 : 0])]),
  str: (k, v) => Buffer.concat([str(k), u32(STR), str(v)]),
  strs: (k, a) => Buffer.concat([str(k), u32(ARR), u32(STR), u64(a.length), ...a.map(str)]),
  i32s: (k, a) => Buffer.concat([str(k), u32(ARR), u32(I32), u64(a.length), i32s(a)]),
};

const NAMES = {
  input_layernorm: "attn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  post_attention_layernorm: "ffn_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};
function ggufName(name) {
  if (name === "model.embed_tokens.weight") return "token_embd.weight";
  if (name === "model.norm.weight") return "output_norm.weight";
  const [, i, rest] = name.match(/^model\.layers\.(\d+)\.(.*)\.weight$/);
  return `blk.${i}.${NAMES[rest]}.weight`;
}

// llama.cpp's rotary pairs neighbours (2i, 2i+1); HF pairs halves (i, i + d/2): reorder Q/K rows per head.
function permuteRows(a, heads, headDim, cols) {
  const out = new Float32Array(a.length),
    half = headDim / 2;
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < half; i++)
      for (let j = 0; j < 2; j++) {
        const src = (h * headDim + j * half + i) * cols,
          dst = (h * headDim + 2 * i + j) * cols;
        out.set(a.subarray(src, src + cols), dst);
      }
  return out;
}

export function writeGguf(s, file, type) {
  const [, fileType] = TYPES[type];
  const { tokens, merges, nSpecial } = buildTokenizer(s.vocab);
  const meta = [
    kv.str("general.architecture", "llama"),
    kv.str("general.name", `random ${s.name}`),
    kv.u32("general.file_type", fileType),
    kv.u32("general.quantization_version", 2),
    kv.u32("llama.context_length", s.maxPos),
    kv.u32("llama.embedding_length", s.hidden),
    kv.u32("llama.block_count", s.layers),
    kv.u32("llama.feed_forward_length", s.ffn),
    kv.u32("llama.attention.head_count", s.heads),
    kv.u32("llama.attention.head_count_kv", s.kvHeads),
    kv.f32("llama.attention.layer_norm_rms_epsilon", s.eps),
    kv.f32("llama.rope.freq_base", s.ropeTheta),
    kv.u32("llama.rope.dimension_count", s.headDim),
    kv.u32("llama.vocab_size", s.vocab),
    kv.str("tokenizer.ggml.model", "gpt2"),
    kv.str("tokenizer.ggml.pre", "gpt-2"),
    kv.strs("tokenizer.ggml.tokens", tokens),
    kv.i32s(
      "tokenizer.ggml.token_type",
      tokens.map((_, i) => (i < nSpecial ? 3 : 1)),
    ),
    kv.strs(
      "tokenizer.ggml.merges",
      merges.map(([a, b]) => `${a} ${b}`),
    ),
    kv.u32("tokenizer.ggml.bos_token_id", 0),
    kv.u32("tokenizer.ggml.eos_token_id", 0),
    kv.bool("tokenizer.ggml.add_bos_token", false),
  ];
  const ALIGN = 32,
    infos = [];
  let off = 0;
  const tensors = tensorList(s).map((t) => {
    const ty = t.shape.length === 1 ? "F32" : type,
      [id, , block, bytes] = TYPES[ty];
    const size = (t.shape.reduce((a, b) => a * b, 1) / block) * bytes;
    const dims = [...t.shape].reverse();
    infos.push(Buffer.concat([str(ggufName(t.name)), u32(dims.length), ...dims.map(u64), u32(id), u64(off)]));
    off = Math.ceil((off + size) / ALIGN) * ALIGN;
    return { ...t, ty };
  });
  const out = new Out(file);
  out.write(Buffer.concat([Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(meta.length), ...meta, ...infos]));
  out.pad(ALIGN);
  for (const t of tensors) {
    let a = tensorData(s, t);
    if (t.name.includes("q_proj")) a = permuteRows(a, s.heads, s.headDim, s.hidden);
    if (t.name.includes("k_proj")) a = permuteRows(a, s.kvHeads, s.headDim, s.hidden);
    out.write({ F32: (x) => x, F16: toF16, Q8_0: q8_0, Q4_0: (x) => q4_0(q4Blocks(x)) }[t.ty](a));
    out.pad(ALIGN);
  }
  out.close();
}
