// Hugging Face folder: config.json, generation_config.json, tokenizer files, model.safetensors.
import fs from "node:fs";
import path from "node:path";
import { Out } from "./files.mjs";
import { tensorList, tensorData } from "./weights.mjs";
import { toBf16 } from "./quant.mjs";
import { hfTokenizerFiles } from "./tokenizer.mjs";

export function hfConfig(s) {
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    attention_bias: false,
    attention_dropout: 0.0,
    bos_token_id: 0,
    eos_token_id: 0,
    hidden_act: "silu",
    hidden_size: s.hidden,
    head_dim: s.headDim,
    initializer_range: s.std,
    intermediate_size: s.ffn,
    max_position_embeddings: s.maxPos,
    mlp_bias: false,
    num_attention_heads: s.heads,
    num_hidden_layers: s.layers,
    num_key_value_heads: s.kvHeads,
    pretraining_tp: 1,
    rms_norm_eps: s.eps,
    rope_interleaved: false,
    rope_scaling: null,
    rope_theta: s.ropeTheta,
    tie_word_embeddings: true,
    torch_dtype: s.dtype === "bf16" ? "bfloat16" : "float32",
    use_cache: true,
    vocab_size: s.vocab,
  };
}

export function writeHf(s, dir) {
  fs.mkdirSync(dir, { recursive: true });
  const json = (name, value) => fs.writeFileSync(path.join(dir, name), JSON.stringify(value));
  json("config.json", hfConfig(s));
  json("generation_config.json", { bos_token_id: 0, eos_token_id: 0, do_sample: false });
  for (const [name, value] of Object.entries(hfTokenizerFiles(s))) json(name, value);
  const tensors = tensorList(s),
    size = s.dtype === "bf16" ? 2 : 4,
    header = { __metadata__: { format: "pt" } };
  let off = 0;
  for (const t of tensors) {
    const bytes = t.shape.reduce((a, b) => a * b, 1) * size;
    header[t.name] = { dtype: s.dtype === "bf16" ? "BF16" : "F32", shape: t.shape, data_offsets: [off, off + bytes] };
    off += bytes;
  }
  let head = JSON.stringify(header);
  head += " ".repeat((8 - (Buffer.byteLength(head) % 8)) % 8);
  const out = new Out(path.join(dir, "model.safetensors"));
  const len = Buffer.alloc(8);
  len.writeBigUInt64LE(BigInt(Buffer.byteLength(head)));
  out.write(len);
  out.write(Buffer.from(head));
  for (const t of tensors) {
    const data = tensorData(s, t);
    out.write(s.dtype === "bf16" ? toBf16(data) : data);
  }
  out.close();
}
