/** Each parser that reads what a stranger wrote, as the program calls it. */
import { parse, tokenize } from "@huggingface/jinja";
import fc from "fast-check";
import { readSavedHeader } from "../../api/saved-conversation";
import { decodeGgml } from "../../formats/ggml-decode";
import { parseGgufHeader } from "../../formats/gguf";
import { parseJson } from "../../formats/read-json";
import { parseSafetensorsHeader, parseSafetensorsIndex } from "../../formats/safetensors";
import { ConfigReader } from "../../models/config-reader";
import { ggufConfig } from "../../models/gguf-config";
import { bindGguf } from "../../models/gguf-tensors";
import { readQuantization } from "../../models/quantization-config";
import { readModelConfig } from "../../models/registry";
import type { Constraint } from "../../structured/constraint";
import { grammarOf } from "../../structured/constraint-grammar";
import { renderWith } from "../../tokenizer/chat-template";
import { ggufTokenizer } from "../../tokenizer/gguf-tokenizer";
import { createTokenizer } from "../../tokenizer/load-tokenizer";
import { chatTemplateOf, templateTokens } from "../../tokenizer/read-template";
import { onigurumaPattern } from "../../tokenizer/text-pattern";
import type { ChatMessage } from "../../tokenizer/tokenizer";
import { joinSafetensors } from "../make-safetensors";
import { bytesOf, editedBytes, editedJson, jsonFiles, type Input } from "./edits";
import type { FuzzTarget } from "./runner";
import * as seeds from "./seeds";

/** What a user may write, long enough for a slow pattern to show. */
const TEXT = ` The  quick (brown) foxes' 3,141 jumps\r\n\tÀ la ǅungla ſK ab abab <|end|> <tool> ${"a".repeat(300)}${" ".repeat(300)}x 日本語 🙂\u0000\ufeff\u202e`;
const MESSAGES: readonly ChatMessage[] = [
  { role: "system", content: "Be kind." },
  { role: "user", content: " Once {{ upon }} a time\n" },
  { role: "assistant", content: "<think>x</think>y" },
];

const decoder = new TextDecoder();
const json = (input: Input): unknown => parseJson(input, "fuzz.json");

function readTokenizer(tokenizerJson: unknown, tokenizerConfig: unknown): void {
  const tokenizer = createTokenizer({ tokenizerJson, tokenizerConfig });
  const ids = tokenizer.encode(TEXT, { addSpecialTokens: true });
  tokenizer.decode(ids.subarray(0, 400));
}

function readGguf(bytes: Input): void {
  const header = parseGgufHeader(bytes, bytes.length);
  if ("neededBytes" in header) return;
  const { metadata, tensors } = header;
  const { config, generationConfig, pairing } = ggufConfig({
    metadata,
    shapeOf: (name) => tensors.get(name)?.shape,
    longRope: undefined,
    where: "fuzz.gguf",
  });
  const { spec } = readModelConfig(config, generationConfig, undefined, "fuzz.gguf");
  bindGguf(spec, (name) => tensors.has(name), { pairing, frequencyDivisors: undefined });
}

function readGgufTokenizer(bytes: Input): void {
  const header = parseGgufHeader(bytes, bytes.length);
  if ("neededBytes" in header) return;
  const files = ggufTokenizer(header.metadata, "fuzz.gguf");
  readTokenizer(files.tokenizerJson, files.tokenizerConfig);
}

const constrained = (constraint: Constraint): void => void grammarOf(constraint);
const text = (value: string): Input => bytesOf(value);
const words = (...list: string[]): string[] => list;

const JINJA = words(
  ...[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{%-",
    "-%}",
    " for x in ",
    " endfor ",
    " if ",
    " else ",
    " endif ",
    " set x = ",
    " macro f(a) ",
  ],
  ...[
    " endmacro ",
    "f()",
    "range(99999)",
    " * 99999 ",
    " ~ x",
    " | ",
    "join",
    "tojson",
    "sort",
    "indent(9999)",
    "replace('', x)",
    "['x'] * 999",
  ],
  ...[
    "messages",
    "x",
    "[0]",
    "[::-1]",
    ".constructor",
    "['__proto__']",
    ".split('')",
    " loop.",
    "namespace(a=1)",
    "(",
    ")",
    "[",
    "]",
    "'",
    '"',
    "-",
  ],
  ...[
    "**",
    "//",
    "%",
    "1e308",
    "99999999999",
    "{% break %}",
    "{% call f() %}",
    "{% endcall %}",
    "(**x)",
    "(*x)",
    "raise_exception(",
    "strftime_now(",
  ],
);
const REGEX = words(
  ...[
    "(",
    ")",
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?i:",
    "(?i)",
    "[",
    "]",
    "[^",
    "-",
    "{",
    "}",
    "{1,9999}",
    "{99}",
    "*",
    "+",
    "?",
    "|",
    "^",
    "$",
  ],
  ...[
    "\\p{L}",
    "\\P{N}",
    "\\s",
    "\\S",
    "\\w",
    "\\d",
    "\\x{10FFFF}",
    "\\u0041",
    "\\",
    "(a*)*",
    "(a|a)*",
    ".*",
    "\\1",
    "\\k<a>",
    "\\b",
    "&&",
    "🙂",
    "ſ",
  ],
);
const KINDS = [
  ...[
    "Sequence",
    "NFC",
    "Replace",
    "Strip",
    "Prepend",
    "Split",
    "ByteLevel",
    "Metaspace",
    "Digits",
    "Punctuation",
    "BPE",
    "Unigram",
  ],
  ...[
    "WordPiece",
    "Fuse",
    "ByteFallback",
    "TemplateProcessing",
    "Isolated",
    "Removed",
    "MergedWithNext",
    "Regex",
    "String",
  ],
];
const REPLACE = { type: "Replace", pattern: { Regex: "" }, content: "aaaa" };

export const TARGETS: readonly FuzzTarget[] = [
  {
    name: "safetensors",
    inputs: fc.oneof(
      editedBytes(seeds.SAFETENSORS, words('"', "{", "}", "[", "]", ",", ":", '"dtype":"F32"', '"a":', "[0,24]")),
      editedJson(seeds.SAFETENSORS_HEADERS, {
        values: ["F32", "BF16", "F4"],
        names: ["dtype", "shape", "data_offsets", "__metadata__"],
      }).map((header) => Uint8Array.from(joinSafetensors(header, [new Uint8Array(24)]))),
    ),
    read: (input) => void parseSafetensorsHeader(input, input.length),
  },
  {
    name: "safetensors-index",
    inputs: jsonFiles(
      [
        {
          metadata: { total_size: 1 },
          weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" },
        },
      ],
      {
        values: ["../a.safetensors", "https://a/b.safetensors"],
      },
    ),
    read: (input) => void parseSafetensorsIndex(json(input)),
  },
  { name: "gguf", inputs: editedBytes(seeds.GGUF, words("llama", "lfm2.", "general.alignment")), read: readGguf },
  {
    name: "gguf-tokenizer",
    inputs: editedBytes(seeds.GGUF, words("tokenizer.ggml.", "▁", "a b")),
    read: readGgufTokenizer,
  },
  {
    name: "config",
    inputs: jsonFiles(seeds.CONFIGS, {
      values: ["llama", "gelu", "linear", "yarn", "longrope", "full_attention", "sliding_attention"],
      names: [
        "model_type",
        "rope_scaling",
        "rope_parameters",
        "layer_types",
        "num_key_value_heads",
        "head_dim",
        "quantization_config",
      ],
    }),
    read: (input) => void readModelConfig(json(input), undefined),
  },
  {
    name: "generation-config",
    inputs: jsonFiles(seeds.GENERATION_CONFIGS),
    read: (input) => void readModelConfig(seeds.CONFIGS[0], json(input)),
  },
  {
    name: "quantization-config",
    inputs: jsonFiles(seeds.QUANTIZATION_CONFIGS, {
      values: ["gptq", "awq", "int", "float", "e4m3", "group"],
      names: ["bits", "group_size", "quant_method"],
    }),
    read: (input) => void readQuantization(ConfigReader.from({ quantization_config: json(input) }, "config.json")),
  },
  {
    name: "tokenizer",
    inputs: jsonFiles(seeds.TOKENIZERS, {
      values: [
        ...KINDS,
        { type: "NFKC" },
        { String: "a" },
        { Regex: "(a|a)*b" },
        { Regex: "\\s+$" },
        REPLACE,
        { type: "Sequence", normalizers: [REPLACE, REPLACE, REPLACE] },
      ],
      names: ["type", "normalizers", "pretokenizers", "decoders", "processors", "Regex", "String", "vocab", "merges"],
    }),
    read: (input) => {
      readTokenizer(json(input), undefined);
    },
  },
  {
    name: "tokenizer-config",
    inputs: jsonFiles(seeds.TOKENIZER_CONFIGS, {
      names: ["chat_template", "bos_token", "name", "template", "content"],
    }),
    read: (input) => {
      const value = json(input);
      const template = chatTemplateOf(undefined, value);
      const tokens = templateTokens(value);
      if (template !== undefined) renderWith({ parse, tokenize }, template, MESSAGES, tokens, () => new Date(0));
    },
  },
  {
    name: "chat-template",
    inputs: editedBytes(seeds.TEMPLATES, JINJA),
    read: (input) => {
      renderWith(
        { parse, tokenize },
        decoder.decode(input),
        MESSAGES,
        { bos_token: "<s>", tools: [{ a: "b" }] },
        () => new Date(0),
      );
    },
  },
  {
    name: "pattern",
    inputs: editedBytes(seeds.PATTERNS.map(text), REGEX),
    read: (input) => {
      Array.from(onigurumaPattern(decoder.decode(input)).matchesIn(TEXT));
    },
  },
  {
    name: "ggml-blocks",
    inputs: fc
      .tuple(fc.nat(255), fc.uint8Array({ minLength: 0, maxLength: 300 }))
      .map(([type, bytes]) => Uint8Array.from([type, ...bytes])),
    read: (input) => {
      const { type, block } = seeds.BLOCKS[(input[0] ?? 0) % seeds.BLOCKS.length] ?? {
        type: "F32" as const,
        block: { bytes: 4, elements: 1 },
      };
      const bytes = input.subarray(1);
      const count = Math.floor(bytes.length / block.bytes) * block.elements;
      decodeGgml(type, bytes, new Float32Array(count), count);
    },
  },
  {
    name: "saved-conversation",
    inputs: jsonFiles(seeds.CONVERSATIONS, {
      names: ["settings", "exchanges", "tokens", "common", "unseen", "role", "content"],
      values: ["slide", "user"],
    }),
    read: (input) => void readSavedHeader(input, 1000),
  },
  {
    name: "json-schema",
    inputs: jsonFiles(seeds.SCHEMAS, {
      values: [
        "object",
        "string",
        "#",
        "#/$defs/a",
        "^(a*)*$",
        { $ref: "#" },
        { type: "integer", minimum: 1, maximum: 1e15 },
      ],
      names: [
        "type",
        "properties",
        "anyOf",
        "oneOf",
        "allOf",
        "items",
        "$ref",
        "$defs",
        "pattern",
        "enum",
        "const",
        "minLength",
        "maxItems",
        "required",
      ],
    }),
    read: (input) => {
      const schema = json(input);
      // The API asks for an object, or true or false, before this.
      if (typeof schema === "object" && schema !== null) constrained({ kind: "json-schema", schema: schema });
    },
  },
  {
    name: "regex",
    inputs: editedBytes(seeds.REGEXES.map(text), REGEX),
    read: (input) => {
      constrained({ kind: "regex", source: decoder.decode(input), flags: "" });
    },
  },
  {
    name: "ebnf",
    inputs: editedBytes(
      seeds.EBNF.map(text),
      words("::=", "root", "(", ")", "{9999}", "{1,", "[", "]", '"', "\\", "|", "*", "#"),
    ),
    read: (input) => {
      constrained({ kind: "grammar", text: decoder.decode(input) });
    },
  },
];
