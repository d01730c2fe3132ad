// ONNX decoder-with-past in the layout that ONNX Runtime's fused LLM operators expect:
// GroupQueryAttention with its own rotary, (Skip)SimplifiedLayerNormalization, MatMulNBits for q4.
// "num_logits_to_keep" limits the LM head to the last position during prefill.
import { Out, bytesOf, transpose } from "./files.mjs";
import { tensorData } from "./weights.mjs";
import { q4Blocks, q4Dequant, f16ToF32 } from "./quant.mjs";

// ---- protobuf: a message is an array of Buffers (possibly large), so nothing big is copied twice.
function varint(v) {
  let n = BigInt.asUintN(64, BigInt(v));
  const out = [];
  do {
    let b = Number(n & 127n);
    n >>= 7n;
    if (n) b |= 128;
    out.push(b);
  } while (n);
  return Buffer.from(out);
}
const size = (parts) => parts.reduce((a, b) => a + b.length, 0);
const vint = (f, v) => [varint(f << 3), varint(v)];
const blob = (f, parts) => {
  const p = Array.isArray(parts) ? parts : [bytesOf(parts)];
  return [varint((f << 3) | 2), varint(size(p)), ...p];
};
const text = (f, v) => blob(f, Buffer.from(v));
const flt = (f, v) => {
  const b = Buffer.alloc(4);
  b.writeFloatLE(v);
  return [varint((f << 3) | 5), b];
};

const FLOAT = 1,
  UINT8 = 2,
  INT32 = 6,
  INT64 = 7;
const attr = {
  i: (n, v) => [...text(1, n), ...vint(3, v), ...vint(20, 2)],
  f: (n, v) => [...text(1, n), ...flt(2, v), ...vint(20, 1)],
};
function tensor(name, type, dims, data) {
  return [...dims.flatMap((d) => vint(1, d)), ...vint(2, type), ...text(8, name), ...blob(9, data)];
}
function valueInfo(name, type, dims) {
  const shape = dims.flatMap((d) => blob(1, typeof d === "string" ? text(2, d) : vint(1, d)));
  return [...text(1, name), ...blob(2, blob(1, [...vint(1, type), ...blob(2, shape)]))];
}

class Graph {
  constructor() {
    this.nodes = [];
    this.inits = [];
    this.inputs = [];
    this.outputs = [];
  }
  node(op, inputs, outputs, attrs = [], domain = "") {
    const n = [
      ...inputs.flatMap((x) => text(1, x)),
      ...outputs.flatMap((x) => text(2, x)),
      ...text(3, `/${outputs[0]}/${op}`),
      ...text(4, op),
      ...attrs.flatMap((a) => blob(5, a)),
      ...(domain ? text(7, domain) : []),
    ];
    this.nodes.push(...blob(1, n));
    return outputs[0];
  }
  init(name, type, dims, data) {
    this.inits.push(...blob(5, tensor(name, type, dims, data)));
    return name;
  }
  i64(name, dims, values) {
    return this.init(name, INT64, dims, Buffer.from(BigInt64Array.from(values.map(BigInt)).buffer));
  }
  parts() {
    return [
      ...this.nodes,
      ...text(2, "main_graph"),
      ...this.inits,
      ...this.inputs.flatMap((v) => blob(11, v)),
      ...this.outputs.flatMap((v) => blob(12, v)),
    ];
  }
}

export function writeOnnx(s, file, { q4 = false, packedQkv = true, accuracyLevel = 0 } = {}) {
  const g = new Graph(),
    MS = "com.microsoft";
  const W = (name, shape) => tensorData(s, { name, shape });
  const kvDim = s.kvHeads * s.headDim,
    L = (i) => `model.layers.${i}.`;

  // x[.., K] times the HF-layout weights (rows = outputs); several matrices are stacked into one.
  function matmul(x, out, mats) {
    const K = mats[0].shape[1],
      N = mats.reduce((a, m) => a + m.shape[0], 0);
    const w = new Float32Array(N * K);
    let o = 0;
    for (const m of mats) {
      w.set(m.data ?? W(m.name, m.shape), o);
      o += m.shape[0] * K;
    }
    if (!q4) return g.node("MatMul", [x, g.init(`${out}.weight`, FLOAT, [K, N], transpose(w, N, K))], [out]);
    const { q, d16 } = q4Blocks(w),
      packed = new Uint8Array(q.length / 2);
    for (let i = 0; i < packed.length; i++) packed[i] = q[2 * i] | (q[2 * i + 1] << 4);
    const b = g.init(`${out}.weight_Q4`, UINT8, [N, K / 32, 16], packed);
    const sc = g.init(`${out}.scales`, FLOAT, [N * (K / 32)], Float32Array.from(d16, f16ToF32));
    const attrs = [attr.i("K", K), attr.i("N", N), attr.i("bits", 4), attr.i("block_size", 32)];
    if (accuracyLevel) attrs.push(attr.i("accuracy_level", accuracyLevel));
    return g.node("MatMulNBits", [x, b, sc], [out], attrs, MS);
  }
  const eps = attr.f("epsilon", s.eps);
  const normAttrs = [attr.i("axis", -1), eps, attr.i("stash_type", 1)];

  g.inputs.push(valueInfo("input_ids", INT64, ["batch_size", "sequence_length"]));
  g.inputs.push(valueInfo("attention_mask", INT64, ["batch_size", "total_sequence_length"]));
  g.inputs.push(valueInfo("num_logits_to_keep", INT64, []));
  g.outputs.push(valueInfo("logits", FLOAT, ["batch_size", "num_logits", s.vocab]));

  // Sequence lengths for GroupQueryAttention, from the attention mask.
  const ax1 = g.i64("const.one", [1], [1]);
  g.node("ReduceSum", ["attention_mask", ax1], ["mask.sum"], [attr.i("keepdims", 0)]);
  g.node("Sub", ["mask.sum", ax1], ["mask.last"]);
  g.node("Cast", ["mask.last"], ["seqlens_k"], [attr.i("to", INT32)]);
  g.node("Shape", ["attention_mask"], ["mask.shape"]);
  g.node("Gather", ["mask.shape", g.i64("const.index1", [], [1])], ["mask.total"], [attr.i("axis", 0)]);
  g.node("Cast", ["mask.total"], ["total_seq_len"], [attr.i("to", INT32)]);

  const half = s.headDim / 2,
    cos = new Float32Array(s.maxPos * half),
    sin = new Float32Array(s.maxPos * half);
  for (let p = 0; p < s.maxPos; p++)
    for (let i = 0; i < half; i++) {
      const a = p * s.ropeTheta ** ((-2 * i) / s.headDim);
      cos[p * half + i] = Math.cos(a);
      sin[p * half + i] = Math.sin(a);
    }
  g.init("cos_cache", FLOAT, [s.maxPos, half], cos);
  g.init("sin_cache", FLOAT, [s.maxPos, half], sin);

  const embed = W("model.embed_tokens.weight", [s.vocab, s.hidden]);
  g.init("model.embed_tokens.weight", FLOAT, [s.vocab, s.hidden], q4 ? q4Dequant(q4Blocks(embed)) : embed);
  let res = g.node("Gather", ["model.embed_tokens.weight", "input_ids"], ["embed"], [attr.i("axis", 0)]);
  const normWeight = (name) => g.init(name, FLOAT, [s.hidden], W(name, [s.hidden]));
  let x = g.node(
    "SimplifiedLayerNormalization",
    [res, normWeight(L(0) + "input_layernorm.weight")],
    ["l0.norm1"],
    normAttrs,
  );
  // The fused op adds the residual: outputs are (normalised, -, -, sum).
  const skipNorm = (a, b, name, out, last) => {
    g.node(
      "SkipSimplifiedLayerNormalization",
      [a, b, normWeight(name)],
      last ? [out] : [out, "", "", `${out}.sum`],
      [eps],
      MS,
    );
    return [out, `${out}.sum`];
  };
  for (let i = 0; i < s.layers; i++) {
    const p = L(i),
      o = `l${i}.`;
    const q = { name: p + "self_attn.q_proj.weight", shape: [s.hidden, s.hidden] };
    const k = { name: p + "self_attn.k_proj.weight", shape: [kvDim, s.hidden] };
    const v = { name: p + "self_attn.v_proj.weight", shape: [kvDim, s.hidden] };
    const qkv = packedQkv
      ? [matmul(x, o + "qkv", [q, k, v]), "", ""]
      : [matmul(x, o + "q", [q]), matmul(x, o + "k", [k]), matmul(x, o + "v", [v])];
    for (const t of ["key", "value"]) {
      g.inputs.push(
        valueInfo(`past_key_values.${i}.${t}`, FLOAT, ["batch_size", s.kvHeads, "past_sequence_length", s.headDim]),
      );
      g.outputs.push(
        valueInfo(`present.${i}.${t}`, FLOAT, ["batch_size", s.kvHeads, "total_sequence_length", s.headDim]),
      );
    }
    const att = g.node(
      "GroupQueryAttention",
      [
        ...qkv,
        `past_key_values.${i}.key`,
        `past_key_values.${i}.value`,
        "seqlens_k",
        "total_seq_len",
        "cos_cache",
        "sin_cache",
      ],
      [o + "att", `present.${i}.key`, `present.${i}.value`],
      [
        attr.i("num_heads", s.heads),
        attr.i("kv_num_heads", s.kvHeads),
        attr.f("scale", 1 / Math.sqrt(s.headDim)),
        attr.i("do_rotary", 1),
        attr.i("rotary_interleaved", 0),
      ],
      MS,
    );
    const proj = matmul(att, o + "o", [{ name: p + "self_attn.o_proj.weight", shape: [s.hidden, s.hidden] }]);
    [x, res] = skipNorm(res, proj, p + "post_attention_layernorm.weight", o + "norm2");
    const gate = matmul(x, o + "gate", [{ name: p + "mlp.gate_proj.weight", shape: [s.ffn, s.hidden] }]);
    const up = matmul(x, o + "up", [{ name: p + "mlp.up_proj.weight", shape: [s.ffn, s.hidden] }]);
    g.node("Sigmoid", [gate], [o + "sig"]);
    g.node("Mul", [gate, o + "sig"], [o + "silu"]);
    g.node("Mul", [o + "silu", up], [o + "act"]);
    const down = matmul(o + "act", o + "down", [{ name: p + "mlp.down_proj.weight", shape: [s.hidden, s.ffn] }]);
    const last = i === s.layers - 1;
    [x, res] = skipNorm(
      res,
      down,
      last ? "model.norm.weight" : L(i + 1) + "input_layernorm.weight",
      last ? "final" : `l${i + 1}.norm1`,
      last,
    );
  }
  g.node("Neg", ["num_logits_to_keep"], ["keep.neg"]);
  g.node("Unsqueeze", ["keep.neg", g.i64("const.axis0", [1], [0])], ["keep.start"]);
  g.node("Slice", [x, "keep.start", g.i64("const.max", [1], [2n ** 62n]), ax1], ["final.kept"]);
  matmul("final.kept", "logits", [{ data: embed, shape: [s.vocab, s.hidden] }]);

  const opset = (domain, v) => blob(8, [...text(1, domain), ...vint(2, v)]);
  const out = new Out(file);
  const graph = g.parts();
  for (const b of [
    ...vint(1, 9),
    ...text(2, "peer-bench"),
    varint((7 << 3) | 2),
    varint(size(graph)),
    ...graph,
    ...opset("", 18),
    ...opset(MS, 1),
  ])
    out.write(b);
  out.close();
}
