/**
 * A Llama checkpoint whose next-token logits are whatever a table says, so that any answer can be forced through the
 * public API. It is made in memory, as the files of a model folder.
 *
 * One layer whose projections are all zero, identity embeddings, norm weights 1: the last hidden state is the unit
 * vector of the last id, scaled by the final norm to 1/f with f = sqrt(1/hidden + eps), and the head is the table
 * times f. So the logits after a last id t are column t of the table, whatever came before.
 */
import type { ModelFiles } from "../storage/model-files";
import { makeSafetensors, type TensorToWrite } from "./make-safetensors";
import { memoryFiles } from "./memory-files";

const RMS_NORM_EPS = 1e-6;

export interface ScriptedCheckpoint {
  /** Texts of the first ids, spelled in the GPT-2 byte alphabet; the rest are `F12`, `F13`, … Ids 0 and 1 are special. */
  pieces: readonly string[];
  /** Ids; 0 ends an answer. */
  size: number;
  /** A multiple of 4; default `size`. Where it is smaller, ids that are equal modulo `hidden` share one column. */
  hidden?: number;
  /** The logit of `next` after a last id `last` (0 ≤ last < hidden). */
  table: (last: number, next: number) => number;
  contextLength?: number;
  chatTemplate?: string;
  /** Added tokens by id, and whether they are special; default: ids 0 and 1, both special. */
  added?: ReadonlyMap<number, boolean>;
}

/** The table of a chain: id k is followed by k + 1, and the last piece by the end, id 0. */
export function chain(pieceCount: number): (last: number, next: number) => number {
  return (last, next) => (next === (last >= pieceCount - 1 ? 0 : last + 1) ? 8 : -4);
}

/** config.json, tokenizer.json and model.safetensors (F32). */
export function scriptedCheckpoint(script: ScriptedCheckpoint): Map<string, Uint8Array<ArrayBuffer>> {
  const { size } = script;
  const hidden = script.hidden ?? size;
  const config = {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    vocab_size: size,
    hidden_size: hidden,
    intermediate_size: hidden,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    num_key_value_heads: 2,
    head_dim: hidden / 2,
    hidden_act: "silu",
    max_position_embeddings: script.contextLength ?? 512,
    rms_norm_eps: RMS_NORM_EPS,
    rope_theta: 10000,
    tie_word_embeddings: false,
    attention_bias: false,
    mlp_bias: false,
    bos_token_id: 1,
    eos_token_id: 0,
    torch_dtype: "float32",
  };
  return new Map([
    ["config.json", jsonBytes(config)],
    ["tokenizer.json", jsonBytes(scriptedTokenizer(script))],
    ...(script.chatTemplate === undefined
      ? []
      : ([["tokenizer_config.json", jsonBytes({ chat_template: script.chatTemplate })]] as const)),
    ["model.safetensors", new Uint8Array(makeSafetensors(tensorsOf(size, hidden, script.table)))],
  ]);
}

/** The files as File objects, as if dropped on the page. */
export function filesOf(files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): File[] {
  return [...files].map(([name, bytes]) => new File([bytes], name));
}

/** The files as a source, without File objects; its chunks are of an odd size, as a network delivers them. */
export function modelFilesOf(files: ReadonlyMap<string, Uint8Array>): ModelFiles {
  return memoryFiles(Object.fromEntries(files), { chunkBytes: 65_521 });
}

const FIRST_TWO = new Map([
  [0, true],
  [1, true],
]);

function scriptedTokenizer({ pieces, size, added = FIRST_TWO }: ScriptedCheckpoint): unknown {
  const vocab: Record<string, number> = {};
  for (let id = 0; id < size; id++) vocab[pieces[id] ?? `F${id}`] = id;
  const addedToken = ([id, special]: [number, boolean]) => ({
    id,
    content: pieces[id] ?? `F${id}`,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special,
  });
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [...added].map(addedToken),
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges: [],
    },
  };
}

function tensorsOf(size: number, hidden: number, table: ScriptedCheckpoint["table"]): TensorToWrite[] {
  const embedding = new Float32Array(size * hidden);
  for (let id = 0; id < size; id++) embedding[id * hidden + (id % hidden)] = 1;
  const scale = Math.sqrt(1 / hidden + RMS_NORM_EPS);
  const head = new Float32Array(size * hidden);
  for (let next = 0; next < size; next++) {
    for (let last = 0; last < hidden; last++) head[next * hidden + last] = table(last, next) * scale;
  }
  const zero = (name: string): TensorToWrite => ({
    name: `model.layers.0.${name}.weight`,
    shape: [hidden, hidden],
    values: new Float32Array(hidden * hidden),
  });
  const ones = (name: string): TensorToWrite => ({ name, shape: [hidden], values: new Float32Array(hidden).fill(1) });
  return [
    { name: "model.embed_tokens.weight", shape: [size, hidden], values: embedding },
    ...["q_proj", "k_proj", "v_proj", "o_proj"].map((name) => zero(`self_attn.${name}`)),
    ...["gate_proj", "up_proj", "down_proj"].map((name) => zero(`mlp.${name}`)),
    ones("model.layers.0.input_layernorm.weight"),
    ones("model.layers.0.post_attention_layernorm.weight"),
    ones("model.norm.weight"),
    { name: "lm_head.weight", shape: [size, hidden], values: head },
  ];
}

function jsonBytes(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
