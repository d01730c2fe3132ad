// The checkpoint itself: a list of HF-named Llama tensors, each generated on demand from its name.
import { Rng } from "./rng.mjs";
import { bannedIds } from "./tokenizer.mjs";

export function tensorList(s) {
  const kv = s.kvHeads * s.headDim;
  const t = [["model.embed_tokens.weight", [s.vocab, s.hidden]]];
  for (let i = 0; i < s.layers; i++) {
    const p = `model.layers.${i}.`;
    t.push(
      [p + "input_layernorm.weight", [s.hidden]],
      [p + "self_attn.q_proj.weight", [s.hidden, s.hidden]],
      [p + "self_attn.k_proj.weight", [kv, s.hidden]],
      [p + "self_attn.v_proj.weight", [kv, s.hidden]],
      [p + "self_attn.o_proj.weight", [s.hidden, s.hidden]],
      [p + "post_attention_layernorm.weight", [s.hidden]],
      [p + "mlp.gate_proj.weight", [s.ffn, s.hidden]],
      [p + "mlp.up_proj.weight", [s.ffn, s.hidden]],
      [p + "mlp.down_proj.weight", [s.hidden, s.ffn]],
    );
  }
  t.push(["model.norm.weight", [s.hidden]]);
  return t.map(([name, shape]) => ({ name, shape }));
}

const f32 = new Float32Array(1),
  u32 = new Uint32Array(f32.buffer);
export function toBf16Bits(x) {
  f32[0] = x;
  const u = u32[0];
  return (u + 0x7fff + ((u >>> 16) & 1)) >>> 16;
}

function roundBf16(a) {
  const u = new Uint32Array(a.buffer, a.byteOffset, a.length);
  for (let i = 0; i < u.length; i++) u[i] = ((u[i] + 0x7fff + ((u[i] >>> 16) & 1)) & 0xffff0000) >>> 0;
  return a;
}

// Float32Array of the tensor's values, already rounded to the checkpoint's dtype.
export function tensorData(s, { name, shape }) {
  const out = new Float32Array(shape.reduce((a, b) => a * b, 1));
  const norm = name.endsWith("norm.weight");
  new Rng(s.seed, `${s.name}/${name}`).fillNormal(out, norm ? 1 : 0, norm ? 0.1 : s.std);
  if (name === "model.embed_tokens.weight") {
    // Zero rows give logit 0, which never beats the maximum over the vocabulary: end-of-text and
    // tokens that are not printable ASCII are never generated, so every engine runs the full length
    // and every generated token is complete text.
    for (const id of bannedIds(s.vocab)) out.fill(0, id * s.hidden, (id + 1) * s.hidden);
  }
  return s.dtype === "bf16" ? roundBf16(out) : out;
}
