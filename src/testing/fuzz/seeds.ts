/** Small files of each format, as published ones are made, for fuzzing to begin with. */
import { readFileSync } from "node:fs";
import { DECODED_TYPES, blockSize } from "../../formats/ggml-types";
import { GGUF_PRE_TOKENIZERS } from "../../tokenizer/gguf-pre-tokenizers";
import { spellBytes } from "../../tokenizer/byte-alphabet";
import { GOLDEN_MODELS, goldenFolder, readFolderJson } from "../golden-models";
import { JSON_SCHEMAS } from "../json-schemas";
import { f32Tensor, makeGguf, type MadeValue } from "../make-gguf";
import { makeSafetensors } from "../make-safetensors";
import { PACKED_MODELS, packedModel, packedVectors } from "../packed-fixtures";
import { bytesOf, type Input } from "./edits";

export const SAFETENSORS: readonly Uint8Array[] = [
  makeSafetensors([{ name: "a", shape: [2, 3], values: [1, 2, 3, 4, 5, 6] }], { format: "pt" }),
  makeSafetensors([
    { name: "model.embed_tokens.weight", dtype: "BF16", shape: [4, 2], values: Array<number>(8).fill(1) },
    { name: "empty", shape: [0], values: [] },
    { name: "scalar", dtype: "F16", shape: [], values: [1] },
  ]),
];

/** The headers alone, as JSON. */
export const SAFETENSORS_HEADERS = SAFETENSORS.map((bytes) => {
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  return JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as unknown;
});

const pieces = ["<unk>", "<s>", "</s>", "<0x0A>", "▁", "a", "b", "ab", "▁ab", "abab"];
const ggufTokenizer: readonly (readonly [string, MadeValue])[] = [
  ["tokenizer.ggml.model", ["string", "llama"]],
  ["tokenizer.ggml.tokens", ["array", ["string", pieces]]],
  ["tokenizer.ggml.scores", ["array", ["f32", pieces.map((_, i) => -i)]]],
  ["tokenizer.ggml.token_type", ["array", ["i32", [2, 3, 3, 6, 1, 1, 1, 1, 1, 1]]]],
  ["tokenizer.ggml.bos_token_id", ["u32", 1]],
  ["tokenizer.ggml.eos_token_id", ["u32", 2]],
  ["tokenizer.ggml.unknown_token_id", ["u32", 0]],
  ["tokenizer.ggml.add_bos_token", ["bool", true]],
  ["tokenizer.chat_template", ["string", "{% for m in messages %}{{ m.content }}{% endfor %}"]],
];
const byteLevel: readonly (readonly [string, MadeValue])[] = [
  ["tokenizer.ggml.model", ["string", "gpt2"]],
  ["tokenizer.ggml.pre", ["string", "llama-bpe"]],
  ["tokenizer.ggml.tokens", ["array", ["string", ["a", "b", "ab", "Ġ", "Ġa", "<|end|>"]]]],
  ["tokenizer.ggml.token_type", ["array", ["i32", [1, 1, 1, 1, 1, 3]]]],
  ["tokenizer.ggml.merges", ["array", ["string", ["a b", "Ġ a"]]]],
  ["tokenizer.ggml.eos_token_id", ["u32", 5]],
];
const sizes = (name: string): readonly (readonly [string, MadeValue])[] => [
  ["general.architecture", ["string", name]],
  ["general.name", ["string", "fuzz"]],
  [`${name}.context_length`, ["u32", 64]],
  [`${name}.embedding_length`, ["u32", 16]],
  [`${name}.block_count`, ["u32", 2]],
  [`${name}.feed_forward_length`, ["u32", 24]],
  [`${name}.attention.head_count`, ["u32", 4]],
  [`${name}.attention.head_count_kv`, name === "lfm2" ? ["array", ["i32", [0, 2]]] : ["u32", 2]],
  [`${name}.attention.layer_norm_rms_epsilon`, ["f32", 1e-5]],
  [`${name}.rope.freq_base`, ["f32", 10000]],
  [`${name}.rope.dimension_count`, ["u32", 4]],
];

export const GGUF: readonly Uint8Array[] = [
  makeGguf({
    metadata: [...sizes("llama"), ...ggufTokenizer],
    tensors: [f32Tensor("token_embd.weight", [10, 16], Array<number>(160).fill(0))],
  }),
  makeGguf({
    version: 2,
    metadata: [...sizes("qwen2"), ...byteLevel],
    tensors: [f32Tensor("a", [2], [1, 2]), f32Tensor("b", [1], [3])],
  }),
  makeGguf({
    metadata: [
      ...sizes("gemma3"),
      ["gemma3.attention.sliding_window", ["u32", 32]],
      ["x.list", ["array", ["array", [["u8", [1, 2]]]]] as unknown as MadeValue], // a list of lists
      ...ggufTokenizer,
    ],
  }),
  makeGguf({ metadata: [...sizes("lfm2"), ["lfm2.shortconv.l_cache", ["u32", 3]], ...byteLevel] }),
];

/** In the three spellings of its history; what has weights only is left out. */
export const CONFIGS: readonly Record<string, unknown>[] = GOLDEN_MODELS.flatMap((model) =>
  ["config.json", "config.early.json", "config.v5.json"].map((file) => readFolderJson(goldenFolder(model), file)),
);
export const GENERATION_CONFIGS: readonly unknown[] = [
  readFolderJson(goldenFolder("llama"), "generation_config.json"),
  {
    do_sample: true,
    temperature: 0.7,
    top_k: 20,
    top_p: 0.8,
    min_p: 0,
    repetition_penalty: 1.05,
    eos_token_id: [1, 2],
  },
];
export const QUANTIZATION_CONFIGS: readonly unknown[] = [
  ...PACKED_MODELS.map(
    (name) => packedModel(name).config["quantization_config"] ?? packedModel(name).config["quantization"],
  ),
  ...[...packedVectors().values()].map(({ config }) => config),
];

const byteVocab = Object.fromEntries(
  Array.from({ length: 64 }, (_, i) => [spellBytes(String.fromCharCode(32 + i)), i]),
);
const bpe = { type: "BPE", dropout: null, unk_token: null, byte_fallback: false, fuse_unk: false };
const tokenizer = (parts: Record<string, unknown>) => ({
  version: "1.0",
  added_tokens: [
    { id: 90, content: "<|end|>", special: true, normalized: false, single_word: false, lstrip: false, rstrip: true },
    { id: 91, content: " <tool>", special: false, normalized: true, single_word: true, lstrip: true, rstrip: false },
  ],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
  ...parts,
});
export const TOKENIZERS: readonly unknown[] = [
  ...["llama3", "gpt-4o", "smollm", "default"].map((name) =>
    tokenizer({
      ...GGUF_PRE_TOKENIZERS[name],
      decoder: { type: "ByteLevel" },
      model: { ...bpe, vocab: { ...byteVocab, AB: 70, ABAB: 71 }, merges: ["A B", ["AB", "AB"]] },
    }),
  ),
  tokenizer({
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      special_tokens: { "<s>": { id: "<s>", ids: [1] } },
    },
    model: {
      ...bpe,
      unk_token: "<unk>",
      fuse_unk: true,
      byte_fallback: true,
      vocab: Object.fromEntries(pieces.map((piece, i) => [piece, i])),
      merges: ["a b", "▁ ab", "ab ab"],
    },
  }),
  tokenizer({
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "NFKC" },
        { type: "Strip", strip_left: true, strip_right: true },
        { type: "Replace", pattern: { Regex: " {2,}" }, content: " " },
        { type: "Lowercase" },
      ],
    },
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always" },
    model: { type: "Unigram", unk_id: 0, byte_fallback: false, vocab: pieces.map((piece, i) => [piece, -i]) },
  }),
  tokenizer({
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "BertPreTokenizer" },
        { type: "Digits", individual_digits: true },
        { type: "Split", pattern: { Regex: "(?i:'s|ab)+|\\s+(?!\\S)" }, behavior: "MergedWithNext", invert: false },
        { type: "Punctuation", behavior: "Contiguous" },
        { type: "CharDelimiterSplit", delimiter: "-" },
      ],
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    post_processor: { type: "BertProcessing", sep: ["</s>", 2], cls: ["<s>", 1] },
    model: {
      type: "WordPiece",
      unk_token: "<unk>",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: { "<unk>": 0, "<s>": 1, "</s>": 2, a: 3, "##b": 4, ab: 5 },
    },
  }),
];
export const TOKENIZER_CONFIGS: readonly unknown[] = [
  readFolderJson(goldenFolder("llama"), "tokenizer_config.json"),
  {
    bos_token: { content: "<s>", __type: "AddedToken" },
    eos_token: "</s>",
    chat_template: [
      { name: "default", template: "{{ messages[0].content }}" },
      { name: "tool_use", template: "" },
    ],
  },
  { bos_token: null, chat_template: "{{ bos_token }}{% for m in messages %}{{ m.role }}{% endfor %}" },
];

interface Templates {
  templates: readonly { template: string }[];
}
const folder = new URL("../tokenizer-golden/", import.meta.url);
const published = JSON.parse(readFileSync(new URL("templates.json", folder), "utf8")) as Partial<Templates>; // our own file
export const TEMPLATES: readonly Input[] = [
  ...readFileSync(new URL("snippets.jinja", folder), "utf8")
    .split("\n")
    .filter((line) => line !== ""),
  ...(published.templates ?? []).map(({ template }) => template).filter((template) => template.length < 3000),
].map(bytesOf);

export const BLOCKS = DECODED_TYPES.map((type) => ({ type, block: blockSize(type) }));

export const SCHEMAS: readonly unknown[] = Object.values(JSON_SCHEMAS);
export const REGEXES: readonly string[] = [
  "^(?:[a-z]{2,5}|\\d+)(-[A-F0-9]{4})?$",
  '[^\\s"]+@\\w+\\.(com|org)',
  "(a|b)*c{3,}?\\u{1F600}",
  "\\x41[\\x30-\\x39]{1,3}",
];
export const PATTERNS: readonly string[] = [
  "(?i:'s|'t|'re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "(?<=a)(b|c)*?[^x-z]{2,3}$",
  "[\\p{Lu}\\p{M}]*[\\p{Ll}\\p{M}]+(?i:k)?|.^\\h\\x{4E00}",
];
export const EBNF: readonly string[] = ['root ::= "a" [a-z]{2,4} (item | "x")* \nitem ::= "b" | root # end'];

export const CONVERSATIONS: readonly unknown[] = [
  {
    settings: {
      chat: { tools: [{ name: "f", description: "d", parameters: { type: "object" } }], templateOptions: { a: 1 } },
      fullContext: "slide",
      sinks: 4,
      keepAborted: false,
    },
    head: [{ role: "system", content: "Be kind." }],
    exchanges: [
      {
        sent: [{ role: "user", content: "Once" }],
        answer: { role: "assistant", content: "upon" },
        unseen: 0,
        common: 2,
        tokens: [],
      },
      {
        sent: [{ role: "user", content: [{ type: "text", text: "a" }] }],
        answer: null,
        unseen: 1,
        common: 0,
        tokens: [1, 2, 3],
      },
    ],
    owner: { id: "x", name: "y" },
    positions: 3,
  },
  {
    settings: { chat: {}, fullContext: "error", sinks: 4, keepAborted: true },
    head: [],
    exchanges: [],
    owner: null,
    positions: 0,
  },
];
