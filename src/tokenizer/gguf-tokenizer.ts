/**
 * A GGUF file's metadata as tokenizer.json and tokenizer_config.json, so that there is one tokenizer (load-tokenizer.ts).
 *
 * Two kinds: "gpt2", a byte-level BPE with merges, and "llama", SentencePiece's BPE, whose merges follow from the scores
 * of its pieces, as transformers' conversion of SentencePiece models has it: every way to cut a piece into two pieces is
 * a merge, the best pieces first.
 *
 * Source: llama.cpp, `gguf-py/gguf/constants.py` and `src/llama-vocab.cpp`; transformers, `convert_slow_tokenizer.py`.
 */
import { WordloomError } from "../errors";
import type { GgufValue } from "../formats/gguf";
import { GGUF_PRE_TOKENIZERS } from "./gguf-pre-tokenizers";
import type { TokenizerFiles } from "./load-tokenizer";

/** Of tokenizer.ggml.token_type; 1 is an ordinary piece. */
const UNKNOWN = 2;
const CONTROL = 3;
const USER_DEFINED = 4;
const UNUSED = 5;
const BYTE = 6;

type Metadata = ReadonlyMap<string, GgufValue>;

/**
 * @param where the file, for messages
 * @throws tokenizer-unsupported for a kind or a pre-tokenizer that is not known, with its name, and where one of the
 *   lists is missing, with its key; file-invalid for values of a wrong type or length
 */
export function ggufTokenizer(metadata: Metadata, where: string): TokenizerFiles {
  const fields = new Fields(metadata, where);
  const model = fields.text("model");
  if (model !== "llama" && model !== "gpt2") {
    throw unsupported(where, `tokenizer.ggml.model is ${JSON.stringify(model)}; supported: llama, gpt2`);
  }
  const vocabulary = readVocabulary(fields);
  const parts = model === "llama" ? sentencePiece(fields, vocabulary) : byteLevel(fields, vocabulary);
  const { addBos, ...json } = parts;
  return {
    tokenizerJson: {
      ...json,
      added_tokens: addedTokens(vocabulary),
      post_processor: frame(fields, vocabulary, addBos),
    },
    tokenizerConfig: tokenizerConfig(fields, vocabulary),
  };
}

interface Vocabulary {
  pieces: readonly string[];
  typeOf(id: number): number;
  /** Without pieces of type "unused", which nothing may become. */
  ids: Record<string, number>;
}

function readVocabulary(fields: Fields): Vocabulary {
  const pieces = fields.texts("tokens");
  if (pieces === undefined) throw fields.missing("tokens");
  const types = fields.numbers("token_type", pieces.length);
  const typeOf = (id: number) => types?.[id] ?? 1;
  const ids = Object.create(null) as Record<string, number>; // "__proto__" may be a piece
  pieces.forEach((piece, id) => {
    if (typeOf(id) !== UNUSED) ids[piece] ??= id;
  });
  return { pieces, typeOf, ids };
}

function addedTokens({ pieces, typeOf }: Vocabulary) {
  return pieces.flatMap((content, id) => {
    const type = typeOf(id);
    if (content === "" || (type !== UNKNOWN && type !== CONTROL && type !== USER_DEFINED)) return [];
    return [{ id, content, special: type !== USER_DEFINED, normalized: false }];
  });
}

function byteLevel(fields: Fields, { ids }: Vocabulary) {
  const name = fields.text("pre");
  const pre = Object.hasOwn(GGUF_PRE_TOKENIZERS, name) ? GGUF_PRE_TOKENIZERS[name] : undefined;
  if (pre === undefined) {
    const supported = Object.keys(GGUF_PRE_TOKENIZERS).join(", ");
    throw unsupported(fields.where, `tokenizer.ggml.pre is ${JSON.stringify(name)}; supported: ${supported}`);
  }
  const merges = fields.texts("merges");
  if (merges === undefined) throw fields.missing("merges");
  return {
    addBos: pre.addBos,
    normalizer: pre.normalizer,
    pre_tokenizer: pre.pre_tokenizer,
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
    model: { type: "BPE", vocab: ids, merges, ignore_merges: pre.ignoreMerges },
  };
}

function sentencePiece(fields: Fields, vocabulary: Vocabulary) {
  const scores = fields.numbers("scores", vocabulary.pieces.length);
  if (scores === undefined) throw fields.missing("scores");
  if (fields.flag("remove_extra_whitespaces", false)) {
    throw unsupported(fields.where, "tokenizer.ggml.remove_extra_whitespaces is true, which is not supported");
  }
  const prefixed = fields.flag("add_space_prefix", true);
  const spaces = { type: "Replace", pattern: { String: " " }, content: "▁" };
  const unknown = vocabulary.pieces[fields.id("unknown", vocabulary) ?? 0];
  return {
    addBos: true,
    normalizer: prefixed ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, spaces] } : spaces,
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...(prefixed ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: "BPE",
      vocab: vocabulary.ids,
      merges: mergesOf(vocabulary, scores, fields.where),
      byte_fallback: true,
      fuse_unk: true,
      unk_token: unknown,
    },
  };
}

/** Ways to cut all pieces in two; Gemma's 262,144 pieces have 1.9 million, and each is looked up. */
const MAX_CUTS = 2 ** 24;
/** Of a piece that is cut, in UTF-16 units; the longest in use are 96 blanks. */
const MAX_CUT_LENGTH = 1024;

/** Pairs of pieces, in the order in which they are merged: by score, then the longest left half, then the longest right. */
function mergesOf({ pieces, typeOf, ids }: Vocabulary, scores: ArrayLike<number>, where: string): [string, string][] {
  let cuts = 0;
  const isText = (id: number | undefined) =>
    id !== undefined && typeOf(id) !== CONTROL && typeOf(id) !== UNKNOWN && typeOf(id) !== BYTE;
  const merges: { left: string; right: string; score: number }[] = [];
  pieces.forEach((piece, id) => {
    if (ids[piece] !== id || !isText(id)) return;
    cuts += piece.length;
    if (piece.length > MAX_CUT_LENGTH || cuts > MAX_CUTS) {
      const most = `at most ${MAX_CUT_LENGTH} characters, and ${MAX_CUTS} together, are read`;
      throw unsupported(where, `piece ${id} of ${piece.length} characters, after ${cuts} before it: ${most}`);
    }
    for (let at = 1; at < piece.length; at++) {
      const unit = piece.charCodeAt(at);
      if (unit >= 0xdc00 && unit < 0xe000) continue; // characters are never cut in two
      const left = piece.slice(0, at);
      const right = piece.slice(at);
      if (!isText(ids[left]) || !isText(ids[right])) continue;
      merges.push({ left, right, score: scores[id] ?? 0 }); // as many scores as pieces
    }
  });
  // What is equal stays in the order of ids.
  merges.sort((a, b) => b.score - a.score || b.left.length - a.left.length || b.right.length - a.right.length);
  return merges.map(({ left, right }) => [left, right]);
}

/** What the tokenizer itself puts around a text. */
function frame(fields: Fields, vocabulary: Vocabulary, addBos: boolean): unknown {
  const special = (kind: string, added: boolean) => {
    if (!added) return [];
    const id = fields.id(kind, vocabulary);
    return id === undefined ? [] : [{ name: kind, id }];
  };
  const before = special("bos", fields.flag("add_bos_token", addBos));
  const after = special("eos", fields.flag("add_eos_token", false));
  const entry = ({ name }: { name: string }) => ({ SpecialToken: { id: name, type_id: 0 } });
  return {
    type: "TemplateProcessing",
    single: [...before.map(entry), { Sequence: { id: "A", type_id: 0 } }, ...after.map(entry)],
    special_tokens: Object.fromEntries([...before, ...after].map(({ name, id }) => [name, { id: name, ids: [id] }])),
  };
}

/** GGUF's names of special tokens → transformers'. */
const SPECIAL_TOKENS = { bos: "bos_token", eos: "eos_token", unknown: "unk_token", padding: "pad_token" } as const;

function tokenizerConfig(fields: Fields, vocabulary: Vocabulary): Record<string, unknown> {
  const tokens = Object.entries(SPECIAL_TOKENS).flatMap(([kind, name]) => {
    const id = fields.id(kind, vocabulary);
    return id === undefined ? [] : [[name, vocabulary.pieces[id]] as const];
  });
  const template = fields.chatTemplate();
  return { ...Object.fromEntries(tokens), ...(template === undefined ? {} : { chat_template: template }) };
}

/** The keys that begin with "tokenizer.ggml.", by type. */
class Fields {
  constructor(
    private readonly metadata: Metadata,
    readonly where: string,
  ) {}

  text(key: string): string {
    const value = this.#get(key);
    if (value === undefined) throw this.missing(key);
    if (typeof value !== "string") throw this.#invalid(key, "a text");
    return value;
  }

  texts(key: string): readonly string[] | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    // The parser makes lists of one type only; an empty one may be of any.
    if (!Array.isArray(value) || (value.length > 0 && typeof value[0] !== "string")) throw this.#invalid(key, "texts");
    return value as readonly string[];
  }

  /** As many as there are pieces. */
  numbers(key: string, count: number): ArrayLike<number> | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    if (!ArrayBuffer.isView(value)) throw this.#invalid(key, "numbers");
    const list = value as Float32Array; // GGUF has no other views than lists of numbers
    if (list.length !== count) throw this.#invalid(key, `${count} numbers, not ${list.length}`);
    if (!list.every(Number.isFinite)) throw this.#invalid(key, "finite numbers");
    return list;
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.#get(key) ?? fallback;
    if (typeof value !== "boolean") throw this.#invalid(key, "true or false");
    return value;
  }

  /** The id under `KIND_token_id`; undefined where the file names none. */
  id(kind: string, { pieces }: Vocabulary): number | undefined {
    const key = `${kind}_token_id`;
    const value = this.#get(key);
    if (value === undefined) return undefined;
    // Some converters write the largest number where there is no such token.
    if (value === 0xffffffff) return undefined;
    if (typeof value !== "number" || pieces[value] === undefined) throw this.#invalid(key, `below ${pieces.length}`);
    return value;
  }

  chatTemplate(): string | undefined {
    const value = this.metadata.get("tokenizer.chat_template");
    if (value === undefined || typeof value === "string") return value;
    throw new WordloomError("file-invalid", `${this.where}: tokenizer.chat_template should be a text`);
  }

  /** Without this key the right ids cannot be known. */
  missing(key: string): WordloomError {
    return new WordloomError("tokenizer-unsupported", `${this.where} has no tokenizer.ggml.${key}`, {
      remedy: "Choose a GGUF file made with a current llama.cpp; older ones leave out what tells words apart.",
    });
  }

  #get(key: string): GgufValue | undefined {
    return this.metadata.get(`tokenizer.ggml.${key}`);
  }

  #invalid(key: string, expected: string): WordloomError {
    return new WordloomError("file-invalid", `${this.where}: tokenizer.ggml.${key} should be ${expected}`);
  }
}

function unsupported(where: string, message: string): WordloomError {
  return new WordloomError("tokenizer-unsupported", `${where}: ${message}`);
}
