/**
 * A GGUF file's metadata in the words of config.json, so that the same readers make the model (registry.ts).
 *
 * An architecture is a line in `ARCHITECTURES`: its model_type, how the rows of q and k lie, and what it says beside the
 * keys that all have. As in config.json, a key that nobody asked for is refused.
 *
 * Source: llama.cpp, `gguf-py/gguf/constants.py`, `src/llama-arch.cpp` and the conversion of each architecture.
 */
import { WordloomError } from "../errors";
import { ConfigReader } from "./config-reader";
import type { RopeSpec } from "./decoder-spec";
import { SIZE_LIMITS } from "./sizes";

export interface GgufFacts {
  metadata: ReadonlyMap<string, unknown>;
  /** Rows first; undefined if the file has no such tensor. */
  shapeOf(name: string): readonly number[] | undefined;
  /** rope_factors_long.weight and rope_factors_short.weight, where the file has them. */
  longRope: { long: Float32Array; short: Float32Array } | undefined;
  /** The file, for messages. */
  where: string;
}

export interface GgufConfig {
  /** As config.json says it. */
  config: Record<string, unknown>;
  /** As generation_config.json says it: end tokens, and sampling where the file suggests any. */
  generationConfig: Record<string, unknown>;
  pairing: RopeSpec["pairing"];
}

/** What an architecture's line reads from. */
interface Source {
  /** Of this architecture's own keys, whose names begin with its name. */
  integer: (key: string, fallback?: number) => number;
  number: (key: string, fallback?: number) => number;
  boolean: (key: string, fallback: boolean) => boolean;
  isSet: (key: string) => boolean;
  has: (tensor: string) => boolean;
  headDim: number;
  layerCount: number;
  /** Which layers have attention, where the others are short convolutions. */
  attending: readonly boolean[];
  /** As an object of rope_parameters. */
  rope: Record<string, unknown>;
}

interface Architecture {
  modelType: string | ((source: Omit<Source, "rope">) => string);
  pairing: RopeSpec["pairing"];
  /** Default: "rms_norm_eps", from attention.layer_norm_rms_epsilon. */
  layerNorm?: boolean;
  /** Layers that have 0 key/value heads are short convolutions. */
  convolutions?: boolean;
  further?: (source: Source) => Record<string, unknown>;
}

const KEY_VALUE_HEADS = "attention.head_count_kv";
const QKV_BIAS = "blk.0.attn_q.bias";
const ORIGINAL_LENGTH = "rope.scaling.original_context_length";

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  llama: {
    // The same name for Mistral, which its window tells apart where it has one.
    modelType: ({ isSet }) => (isSet("attention.sliding_window") ? "mistral" : "llama"),
    pairing: "interleaved",
    further: ({ has, isSet, integer }) => ({
      ...(has(QKV_BIAS) ? { attention_bias: true } : {}),
      ...(has("blk.0.ffn_gate.bias") ? { mlp_bias: true } : {}),
      ...(isSet("attention.sliding_window") ? { sliding_window: integer("attention.sliding_window") } : {}),
    }),
  },
  qwen2: { modelType: "qwen2", pairing: "half-split" },
  qwen3: { modelType: "qwen3", pairing: "half-split" },
  gemma2: {
    modelType: "gemma2",
    pairing: "half-split",
    further: (source) => ({
      ...gemma(source, 46),
      attn_logit_softcapping: source.number("attn_logit_softcapping", 50),
      final_logit_softcapping: source.number("final_logit_softcapping", 30),
    }),
  },
  gemma3: {
    modelType: "gemma3_text",
    pairing: "half-split",
    further: (source) => ({
      ...gemma(source, 62),
      rope_parameters: {
        full_attention: source.rope,
        sliding_attention: { rope_theta: source.number("rope.freq_base_swa", 10000) },
      },
      ...(source.isSet("final_logit_softcapping")
        ? { final_logit_softcapping: source.number("final_logit_softcapping") }
        : {}),
    }),
  },
  phi3: {
    modelType: "phi3",
    pairing: "half-split",
    further: ({ isSet, integer }) => ({
      sliding_window: isSet("attention.sliding_window") ? integer("attention.sliding_window") : null,
      // Its config.json has this key outside of the rope's own object.
      ...(isSet(ORIGINAL_LENGTH) ? { original_max_position_embeddings: integer(ORIGINAL_LENGTH) } : {}),
    }),
  },
  olmo2: { modelType: "olmo2", pairing: "half-split" },
  gpt2: { modelType: "gpt2", pairing: "half-split", layerNorm: true },
  gptneox: {
    modelType: "gpt_neox",
    pairing: "half-split",
    layerNorm: true,
    further: ({ boolean, integer }) => {
      const heads = integer("attention.head_count");
      return {
        hidden_act: "gelu",
        use_parallel_residual: boolean("use_parallel_residual", true),
        // Its config.json has no such key; another number is left in, and refused.
        ...(integer(KEY_VALUE_HEADS, heads) === heads ? { num_key_value_heads: undefined } : {}),
      };
    },
  },
  phi2: { modelType: "phi", pairing: "half-split", layerNorm: true, further: () => ({ hidden_act: "gelu_new" }) },
  stablelm: {
    modelType: "stablelm",
    pairing: "half-split",
    layerNorm: true,
    further: ({ has, boolean }) => ({
      use_qkv_bias: has(QKV_BIAS),
      use_parallel_residual: boolean("use_parallel_residual", false),
      qk_layernorm: has("blk.0.attn_q_norm.weight"),
    }),
  },
  granite: {
    modelType: "granite",
    pairing: "interleaved",
    further: ({ number, headDim }) => ({
      embedding_multiplier: number("embedding_scale", 1),
      residual_multiplier: number("residual_scale", 1),
      attention_multiplier: number("attention.scale", 1 / Math.sqrt(headDim)),
      logits_scaling: number("logit_scale", 1),
    }),
  },
  lfm2: {
    modelType: "lfm2",
    pairing: "half-split",
    convolutions: true,
    further: ({ integer, number, has, attending }) => ({
      rms_norm_eps: undefined,
      norm_eps: number("attention.layer_norm_rms_epsilon"),
      layer_types: attending.map((attends) => (attends ? "full_attention" : "conv")),
      conv_L_cache: integer("shortconv.l_cache"),
      conv_bias: has(`blk.${attending.indexOf(false)}.shortconv.conv.bias`),
      block_auto_adjust_ff_dim: false, // done by the conversion
    }),
  },
  // Which layers go without RoPE is not in the file; llama.cpp has it in its code.
  smollm3: { modelType: "smollm3", pairing: "interleaved", further: () => ({ no_rope_layer_interval: 4 }) },
};

/** @param layersOf27b of the size whose query scale comes from hidden size and heads; it is not in the file */
function gemma({ integer, headDim, layerCount }: Source, layersOf27b: number): Record<string, unknown> {
  const queryWidth = integer("embedding_length") / integer("attention.head_count");
  return {
    hidden_activation: "gelu_pytorch_tanh",
    query_pre_attn_scalar: layerCount === layersOf27b ? queryWidth : headDim,
    sliding_window: integer("attention.sliding_window"),
  };
}

/** Control tokens that end a turn, in files whose metadata names none; chat models of all families have one of them. */
const TURN_ENDS = new Set(["<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>"]);

/**
 * @throws model-unsupported for an architecture that is not listed, and for experts; config-invalid and
 *   config-unsupported as for config.json, with the key's name
 */
export function ggufConfig(facts: GgufFacts): GgufConfig {
  const { metadata, shapeOf, where } = facts;
  const name = metadata.get("general.architecture");
  const known = typeof name === "string" && Object.hasOwn(ARCHITECTURES, name) ? ARCHITECTURES[name] : undefined;
  if (typeof name !== "string" || known === undefined) {
    const supported = Object.keys(ARCHITECTURES).join(", ");
    const message = `${where}: general.architecture is ${JSON.stringify(name)}; supported: ${supported}`;
    throw new WordloomError("model-unsupported", message);
  }
  const own = [...metadata].filter(([key]) => key.startsWith(`${name}.`)).map(([key, value]) => [key, same(value)]);
  const reader = ConfigReader.from(Object.fromEntries(own), where);
  const at = (key: string) => `${name}.${key}`;
  const whole = (key: string, fallback?: number) => reader.integer(at(key), { ...COUNT, ...orNot(fallback) });
  const expertCount = whole("expert_count", 0);
  if (expertCount > 0) {
    throw new WordloomError("model-unsupported", `${where}: a mixture of ${expertCount} experts is not supported`);
  }
  whole("expert_used_count", 0);
  const headCount = whole("attention.head_count");
  const headDim = whole("attention.key_length", whole("embedding_length") / headCount);
  reader.only(at("attention.value_length"), headDim);
  const layerCount = reader.integer(at("block_count"), SIZE_LIMITS.layerCount);
  const keyValueHeads = known.convolutions ? keyValueHeadsOf(reader, at(KEY_VALUE_HEADS), layerCount) : [];
  const source: Omit<Source, "rope"> = {
    integer: whole,
    number: (key, fallback) => reader.number(at(key), { min: -1e9, max: 1e12, ...orNot(fallback) }),
    boolean: (key, fallback) => reader.boolean(at(key), fallback),
    isSet: (key) => reader.isSet(at(key)),
    has: (tensor) => shapeOf(tensor) !== undefined,
    headDim,
    layerCount,
    attending: keyValueHeads.map((count) => count > 0),
  };
  const modelType = typeof known.modelType === "string" ? known.modelType : known.modelType(source);
  const learned = source.has("position_embd.weight"); // positions, instead of RoPE
  const rope = learned ? {} : ropeOf(source, reader, facts, at);
  const config = {
    model_type: modelType,
    vocab_size: shapeOf("token_embd.weight")?.[0] ?? 0, // without that tensor, planning says that it is missing
    tie_word_embeddings: !source.has("output.weight"),
    ...(modelType === "gpt2"
      ? gpt2Sizes(source)
      : { ...sizesOf(source, headCount, keyValueHeads), ...normEps(source, known) }),
    ...(learned ? {} : { rope_parameters: rope }),
    ...known.further?.({ ...source, rope }),
  };
  // Said by other keys or by the tensors themselves, or never changing a number.
  for (const key of ["vocab_size", "tensor_data_layout", "rope.scaling.finetuned"]) reader.isSet(at(key));
  reader.only(at("attention.causal"), true);
  reader.finish();
  return { config, generationConfig: generationOf(metadata), pairing: known.pairing };
}

/** Of each layer; 0 where it has no attention. */
function keyValueHeadsOf(reader: ConfigReader, key: string, layerCount: number): number[] {
  const stated = reader.take(key);
  if (!Array.isArray(stated)) return Array<number>(layerCount).fill(reader.integer(key, COUNT));
  const counts = stated as number[]; // what GGUF's lists of numbers are
  const most = counts.length === layerCount ? Math.max(...counts) : 0; // no list of millions as arguments
  if (counts.length !== layerCount || counts.some((count) => count !== 0 && count !== most)) {
    throw reader.invalid(key, counts, `${layerCount} entries are expected, 0 or all the same`);
  }
  return counts;
}

const COUNT = { min: 0, max: 2 ** 24 };

function orNot(fallback: number | undefined): { fallback?: number } {
  return fallback === undefined ? {} : { fallback };
}

/** Of a list that says something of each layer; a longer one is left as it is, and refused by who reads it. */
const MAX_LIST_BYTES = 8 * SIZE_LIMITS.layerCount.max;

/** A list that says the same of every layer, as some converters write it, is that one value. */
function same(value: unknown): unknown {
  if (!ArrayBuffer.isView(value) || value.byteLength > MAX_LIST_BYTES) return value;
  const numbers = Array.from(value as Int32Array); // GGUF has no other views than lists of numbers
  return numbers.length > 0 && numbers.every((each) => each === numbers[0]) ? numbers[0] : numbers;
}

function sizesOf(
  { integer, isSet, headDim, layerCount }: Omit<Source, "rope">,
  headCount: number,
  keyValueHeads: readonly number[],
): Record<string, unknown> {
  return {
    hidden_size: integer("embedding_length"),
    intermediate_size: integer("feed_forward_length"),
    num_hidden_layers: layerCount,
    num_attention_heads: headCount,
    num_key_value_heads: keyValueHeads.length > 0 ? Math.max(...keyValueHeads) : integer(KEY_VALUE_HEADS, headCount),
    ...(isSet("attention.key_length") ? { head_dim: headDim } : {}),
    max_position_embeddings: integer("context_length"),
  };
}

function gpt2Sizes({ integer, number, layerCount }: Omit<Source, "rope">): Record<string, unknown> {
  return {
    n_embd: integer("embedding_length"),
    n_inner: integer("feed_forward_length"),
    n_layer: layerCount,
    n_head: integer("attention.head_count"),
    n_positions: integer("context_length"),
    layer_norm_epsilon: number("attention.layer_norm_epsilon"),
  };
}

function normEps({ number }: Omit<Source, "rope">, { layerNorm = false }: Architecture): Record<string, unknown> {
  return layerNorm
    ? { layer_norm_eps: number("attention.layer_norm_epsilon") }
    : { rms_norm_eps: number("attention.layer_norm_rms_epsilon") };
}

/** As an object of rope_parameters, in the words of transformers 5. */
function ropeOf(
  { integer, number, isSet, headDim }: Omit<Source, "rope">,
  reader: ConfigReader,
  { longRope }: GgufFacts,
  at: (key: string) => string,
): Record<string, unknown> {
  const rope = {
    rope_theta: number("rope.freq_base", 10000),
    partial_rotary_factor: shareOf(integer("rope.dimension_count", headDim), headDim),
  };
  const factor = number("rope.scaling.factor", number("rope.scale_linear", 1));
  const original = isSet(ORIGINAL_LENGTH) ? { original_max_position_embeddings: integer(ORIGINAL_LENGTH) } : {};
  if (longRope !== undefined) {
    reader.only(at("rope.scaling.type"), "longrope");
    number("rope.scaling.attn_factor", 1); // follows from the two context lengths, as transformers computes it
    const factors = { long_factor: [...longRope.long], short_factor: [...longRope.short] };
    return { ...rope, ...original, ...factors, rope_type: "longrope" };
  }
  const type = reader.string(at("rope.scaling.type"), "linear");
  if (type === "none" || (type === "linear" && factor === 1)) return { ...rope, rope_type: "default" };
  if (type === "linear") return { ...rope, rope_type: "linear", factor };
  reader.only(at("rope.scaling.type"), "yarn"); // refuses what else there is
  return { ...rope, ...original, rope_type: "yarn", factor, ...yarnOf(number, isSet) };
}

/** A share that gives `part` again when it is multiplied with `whole` and rounded down. */
function shareOf(part: number, whole: number): number {
  const share = part / whole;
  return Math.floor(whole * share) === part ? share : share * (1 + Number.EPSILON);
}

/** GGUF's names of YaRN's settings → those of rope_scaling. */
const YARN = { beta_fast: "beta_fast", beta_slow: "beta_slow", attn_factor: "attention_factor" } as const;

function yarnOf(number: Source["number"], isSet: Source["isSet"]): Record<string, number> {
  const set = Object.entries(YARN).flatMap(([key, name]) => {
    const spellings = [`rope.scaling.${key}`, `rope.scaling.yarn_${key}`].filter(isSet);
    return spellings.map((spelling) => [name, number(spelling)] as const);
  });
  return Object.fromEntries(set);
}

function generationOf(metadata: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const ends = new Set<unknown>();
  for (const kind of ["eos", "eot", "eom"]) {
    const id = metadata.get(`tokenizer.ggml.${kind}_token_id`);
    // Some converters write the largest number where there is no such token.
    if (id !== undefined && id !== 0xffffffff) ends.add(id);
  }
  if (metadata.has("tokenizer.chat_template") && !metadata.has("tokenizer.ggml.eot_token_id")) {
    const tokens = metadata.get("tokenizer.ggml.tokens");
    if (Array.isArray(tokens)) tokens.forEach((token, id) => TURN_ENDS.has(token as string) && ends.add(id)); // texts
  }
  const sampling = Object.entries(SAMPLING).flatMap(([key, name]) => {
    const value = metadata.get(`general.sampling.${key}`);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { eos_token_id: [...ends], do_sample: sampling.length > 0, ...Object.fromEntries(sampling) };
}

const SAMPLING = {
  temp: "temperature",
  top_k: "top_k",
  top_p: "top_p",
  min_p: "min_p",
  penalty_repeat: "repetition_penalty",
} as const;
