/** A small random llama as a GGUF file in ggml's K types, mixed as llama.cpp's Q4_K_M and Q5_K_M mix them. */
import { convertToGguf } from "./convert-to-gguf";
import { kBlocks, K_TYPES, type KType } from "./ggml-k";
import { editGguf } from "./edit-gguf";
import type { MadeValue } from "./make-gguf";
import { normalValues, seededRandom } from "./random";

const [HIDDEN, INTERMEDIATE, VOCABULARY, LAYERS, KEYS] = [256, 512, 67, 2, 128] as const;

const CONFIG = {
  model_type: "llama",
  hidden_size: HIDDEN,
  intermediate_size: INTERMEDIATE,
  vocab_size: VOCABULARY,
  num_hidden_layers: LAYERS,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-5,
};

/** In the first layer v and down have finer blocks than the rest, and its q, k and v are of two types. */
export const MIXTURE = (name: string): KType => {
  if (/^(output|blk\.0\.attn_v|blk\.0\.ffn_down)\.weight$/.test(name)) return "Q6_K";
  return /^blk\.1\.(attn_v|ffn_gate|ffn_up)\.weight$/.test(name) ? "Q5_K" : "Q4_K";
};

/** @param typeOf of a matrix by its name in the file; "F32": as it is */
export function kModelGguf(typeOf: (name: string) => KType | "F32"): Uint8Array<ArrayBuffer> {
  const random = seededRandom(7);
  const matrix = (rows: number, columns: number) => ({
    shape: [rows, columns],
    values: normalValues(random, rows * columns, 1.2 / Math.sqrt(columns)),
  });
  const norm = () => ({ shape: [HIDDEN], values: normalValues(random, HIDDEN, 0.2, 1) });
  const layer = (index: number) => {
    const parts = {
      "self_attn.q_proj": matrix(HIDDEN, HIDDEN),
      "self_attn.k_proj": matrix(KEYS, HIDDEN),
      "self_attn.v_proj": matrix(KEYS, HIDDEN),
      "self_attn.o_proj": matrix(HIDDEN, HIDDEN),
      "mlp.gate_proj": matrix(INTERMEDIATE, HIDDEN),
      "mlp.up_proj": matrix(INTERMEDIATE, HIDDEN),
      "mlp.down_proj": matrix(HIDDEN, INTERMEDIATE),
      input_layernorm: norm(),
      post_attention_layernorm: norm(),
    };
    return Object.entries(parts).map(([name, tensor]) => [`model.layers.${index}.${name}.weight`, tensor] as const);
  };
  const checkpoint = new Map([
    ["model.embed_tokens.weight", matrix(VOCABULARY, HIDDEN)],
    ...Array.from({ length: LAYERS }, (_, index) => layer(index)).flat(),
    ["model.norm.weight", norm()],
    ["lm_head.weight", matrix(VOCABULARY, HIDDEN)],
  ]);
  const pieces = Array.from({ length: VOCABULARY }, (_, id) => `piece${id}`);
  const merges: MadeValue = ["array", ["string", ["p i"]]];
  const plain = convertToGguf(CONFIG, checkpoint, { pieces: [...pieces.slice(0, -3), "p", "i", "pi"] });
  return editGguf(plain, { "tokenizer.ggml.merges": merges }, (tensors) =>
    tensors.map((tensor) => {
      const type = tensor.shape.length === 2 ? typeOf(tensor.name) : "F32";
      if (type === "F32") return tensor;
      return { ...tensor, type: K_TYPES[type], bytes: kBlocks(type, floatsOf(tensor.bytes)) };
    }),
  );
}

const floatsOf = (bytes: Uint8Array) => new Float32Array(bytes.slice().buffer);
