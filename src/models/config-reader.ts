/**
 * Reads a config.json and remembers what was read, so that nothing that changes the numbers is passed over.
 *
 * Null means "not set", as in transformers. A reader for an architecture asks for each key it understands; `finish`
 * then refuses every key that is set, was not asked for, and is not on the list of keys that change nothing.
 */
import { WordloomError } from "../errors";

/** Keys that never change what a forward pass computes: names, training settings, task heads, generation defaults. */
const HARMLESS = new Set(
  `_attn_implementation _flash_attn_2_enabled _from_model_config _name_or_path _num_labels
  architectures attention_dropout attn_implementation attn_pdrop auto_map bad_words_ids begin_suppress_tokens
  bos_token_id cache_implementation chunk_size_feed_forward classifier_dropout decoder_start_token_id diversity_penalty do_sample dtype early_stopping
  embd_pdrop embed_dropout encoder_no_repeat_ngram_size exponential_decay_length_penalty finetuning_task forced_bos_token_id
  forced_eos_token_id gradient_checkpointing hidden_dropout id2label initializer_range is_decoder is_llama_config
  label2id language length_penalty max_length max_new_tokens min_length model_type n_ctx name
  no_repeat_ngram_size num_beam_groups num_beams num_labels num_return_sequences output_attentions
  output_hidden_states output_router_logits output_scores pad_token_id prefix problem_type pruned_heads
  remove_invalid_values repetition_penalty resid_pdrop return_dict return_dict_in_generate resid_dropout sep_token_id
  summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj suppress_tokens
  task_specific_params temperature tf_legacy_loss tokenizer_class top_k top_p torch_dtype torchscript
  transformers.js_config transformers_version typical_p unk_token_id unsloth_fixed unsloth_version use_bfloat16
  use_cache`.split(/\s+/),
);

export interface NumberRange {
  min: number;
  max: number;
  /** Used where the key is absent or null; without it the key is required. */
  fallback?: number;
}

export class ConfigReader {
  private readonly read = new Set<string>();

  /** @param where the file, and the path inside it, for messages: "config.json", "config.json: rope_scaling" */
  private constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    private readonly where: string,
  ) {}

  /** @throws config-invalid if `config` is not a JSON object */
  static from(config: unknown, where: string): ConfigReader {
    if (typeof config !== "object" || config === null || Array.isArray(config)) {
      throw new WordloomError("config-invalid", `${where} is ${describe(config)}; an object is expected`);
    }
    return new ConfigReader(config as Record<string, unknown>, where); // any non-array object is a record of unknowns
  }

  /**
   * The value of `key` as it is, undefined where it is absent or null; counts as read. For shapes that one architecture
   * alone has; the others have a method below.
   */
  take(key: string): unknown {
    this.read.add(key);
    return Object.hasOwn(this.values, key) ? (this.values[key] ?? undefined) : undefined;
  }

  isSet(key: string): boolean {
    return this.take(key) !== undefined;
  }

  /** Not even null: transformers then takes the architecture's own default, which null would switch off. */
  isAbsent(key: string): boolean {
    return !Object.hasOwn(this.values, key);
  }

  integer(key: string, range: NumberRange): number {
    const value = this.number(key, range);
    if (!Number.isInteger(value)) throw this.invalid(key, value, "a whole number is expected");
    return value;
  }

  /** A finite number in [min, max]. */
  number(key: string, { min, max, fallback }: NumberRange): number {
    const value = this.take(key) ?? fallback;
    if (value === undefined) throw new WordloomError("config-invalid", `${this.where} has no ${key}`);
    if (typeof value !== "number" || !(value >= min && value <= max)) {
      throw this.invalid(key, value, `a number from ${min} to ${max} is expected`);
    }
    return value;
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.take(key) ?? fallback;
    if (typeof value !== "boolean") throw this.invalid(key, value, "true or false is expected");
    return value;
  }

  string(key: string, fallback?: string): string {
    const value = this.take(key) ?? fallback;
    if (value === undefined) throw new WordloomError("config-invalid", `${this.where} has no ${key}`);
    if (typeof value !== "string") throw this.invalid(key, value, "a string is expected");
    return value;
  }

  /** What `table` holds for the string under `key`. @throws config-unsupported for a string that is not in it */
  choice<T>(key: string, table: Readonly<Record<string, T>>, fallback: string): T {
    const name = this.string(key, fallback);
    if (!Object.hasOwn(table, name)) throw this.unsupported(key, name, `supported: ${Object.keys(table).join(", ")}`);
    return table[name] as T; // own property, checked above
  }

  /** For a key that is understood at one value only (transformers' default). @throws config-unsupported for others */
  only(key: string, accepted: string | number | boolean): void {
    const value = this.take(key);
    if (value !== undefined && value !== accepted) throw this.unsupported(key, value, `supported: ${accepted}`);
  }

  /**
   * A list with one entry for each of `length` layers or pairs; undefined where not set.
   *
   * @param isEntry what an entry may be; others are unsupported by name
   */
  list<T>(key: string, length: number, isEntry: (value: unknown) => value is T): T[] | undefined {
    const value = this.take(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.invalid(key, value, "a list is expected");
    if (value.length !== length) throw this.invalid(key, value, `${value.length} entries; ${length} are expected`);
    return value.map((entry: unknown) => {
      if (!isEntry(entry)) throw this.unsupported(key, entry, "this entry is not known here");
      return entry;
    });
  }

  /** For a list that says the same of every layer. @throws config-unsupported if an entry differs from `accepted` */
  onlyEvery(key: string, accepted: string): void {
    const value = this.take(key);
    if (value === undefined) return;
    if (!Array.isArray(value)) throw this.invalid(key, value, "a list is expected");
    const other: unknown = value.find((entry) => entry !== accepted);
    if (other !== undefined) throw this.unsupported(key, other, `supported: ${accepted} in every layer`);
  }

  /** Token ids given as a number or as a list of numbers; undefined where not set. */
  tokenIds(key: string): number[] | undefined {
    const value = this.take(key);
    if (value === undefined) return undefined;
    const ids: unknown[] = Array.isArray(value) ? value : [value];
    return ids.map((id) => {
      if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= 2 ** 32) {
        throw this.invalid(key, id, "token ids are expected");
      }
      return id;
    });
  }

  /** The object under `key`, to be read and finished on its own; undefined where not set. */
  object(key: string): ConfigReader | undefined {
    const value = this.take(key);
    return value === undefined ? undefined : ConfigReader.from(value, `${this.where}: ${key}`);
  }

  /** @throws config-unsupported naming the first key that is set, was not read, and may change the numbers */
  finish(): void {
    for (const [key, value] of Object.entries(this.values)) {
      if (value === null || value === undefined || this.read.has(key) || HARMLESS.has(key)) continue;
      throw this.unsupported(key, value, "this key is not known here");
    }
  }

  /** An error for a key whose value cannot be right. */
  invalid(key: string, value: unknown, why: string): WordloomError {
    return new WordloomError("config-invalid", `${this.where}: ${key} is ${describe(value)}; ${why}`);
  }

  /** An error for a key whose value says something that is not supported. */
  unsupported(key: string, value: unknown, why: string): WordloomError {
    return new WordloomError("config-unsupported", `${this.where}: ${key} is ${describe(value)}; ${why}`);
  }
}

/** A value as JSON, cut to one line's length; NaN and the infinities by their names, which JSON lacks. */
function describe(value: unknown): string {
  if (isLong(value)) return `a list of ${value.length}`;
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "undefined");
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Millions of entries are not spelled out to be cut again. */
function isLong(value: unknown): value is ArrayLike<unknown> {
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  return isList && (value as ArrayLike<unknown>).length > 1000; // both have a length
}
