import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { GgufValue } from "../formats/gguf";
import { caseOf } from "../testing/cases/case-file";
import { editGguf, headerOf } from "../testing/edit-gguf";
import { GGUF_GOLDEN } from "../testing/gguf-run";
import { goldenFolder, readFolderJson } from "../testing/golden-models";
import type { MadeValue } from "../testing/make-gguf";
import { sharedDataOrWarn } from "../testing/shared-data";
import { generateTexts } from "../testing/tokenizer-golden/generated-texts";
import { readPublished, type Published } from "../testing/tokenizer-golden/published";
import { ggufTokenizer } from "./gguf-tokenizer";
import { createTokenizer } from "./load-tokenizer";
import type { Tokenizer } from "./tokenizer";

const tokenizerOf = (metadata: ReadonlyMap<string, GgufValue>): Tokenizer =>
  createTokenizer(ggufTokenizer(metadata, "x.gguf"));
const encode = (tokenizer: Tokenizer, text: string, addSpecialTokens = false) => [
  ...tokenizer.encode(text, { addSpecialTokens }),
];

interface TokenizerJson {
  model: { vocab: Record<string, number>; merges: (string | [string, string])[] };
  added_tokens: { id: number; content: string; special: boolean }[];
}

/**
 * What llama.cpp's conversion makes of a tokenizer.json. SentencePiece's scores fall with each piece; the runs of blanks
 * share one.
 */
function converted(
  { model, added_tokens }: TokenizerJson,
  kind: "gpt2" | "llama",
  pre: string,
  blanks: number,
): Map<string, GgufValue> {
  const pieces: string[] = [];
  for (const [piece, id] of Object.entries(model.vocab)) pieces[id] = piece;
  for (const { id, content } of added_tokens) pieces[id] = content;
  const types = Int32Array.from(pieces, (piece) => (/^<0x[0-9A-F]{2}>$/.test(piece) && kind === "llama" ? 6 : 1));
  for (const { id, special } of added_tokens) types[id] = special ? 3 : 4;
  return new Map<string, GgufValue>([
    ["tokenizer.ggml.model", kind],
    ["tokenizer.ggml.pre", pre],
    ["tokenizer.ggml.tokens", Array.from(pieces, (piece, id) => piece ?? `[PAD${id}]`)],
    ["tokenizer.ggml.token_type", types],
    kind === "gpt2"
      ? ["tokenizer.ggml.merges", model.merges.map((merge) => (typeof merge === "string" ? merge : merge.join(" ")))]
      : ["tokenizer.ggml.scores", Float32Array.from(pieces, (piece, id) => (/^▁▁+$/.test(piece) ? blanks : -id))],
  ]);
}

describe("a published vocabulary gives the ids of its own tokenizer.json", () => {
  test.each<[Published, "gpt2" | "llama", string, Record<string, GgufValue>, number]>([
    ["gpt2", "gpt2", "gpt-2", {}, 0],
    ["llama3", "gpt2", "llama-bpe", {}, 0],
    ["qwen3", "gpt2", "qwen2", {}, 0],
    ["llama2", "llama", "default", {}, -1e9],
    ["gemma3", "llama", "default", { "tokenizer.ggml.add_space_prefix": false }, 0],
  ])(
    "%s as %s with %s",
    (name, kind, pre, further, blanks) => {
      const { tokenizerJson } = readPublished(name);
      const own = createTokenizer({ tokenizerJson, tokenizerConfig: undefined });
      const metadata = converted(tokenizerJson as TokenizerJson, kind, pre, blanks); // as the package has it
      for (const [key, value] of Object.entries(further)) metadata.set(key, value);
      const tokenizer = tokenizerOf(metadata);
      for (const text of generateTexts(20261130, 150)) {
        const ids = encode(own, text);
        expect(encode(tokenizer, text), JSON.stringify(text)).toEqual(ids);
        expect(tokenizer.decode(ids), JSON.stringify(text)).toBe(own.decode(ids));
      }
    },
    120_000,
  );
});

describe("the tokenizers of GGUF files beside a tokenizer.json", () => {
  test.each(GGUF_GOLDEN)("the golden %s gives the same ids", (model) => {
    const folder = goldenFolder(model);
    const own = createTokenizer({
      tokenizerJson: readFolderJson(folder, "tokenizer.json"),
      tokenizerConfig: readFolderJson(folder, "tokenizer_config.json"),
    });
    const tokenizer = tokenizerOf(headerOf(readFileSync(`${folder}model-F32.gguf`)).metadata);
    for (const text of generateTexts(7, 60)) {
      expect(encode(tokenizer, text, true), JSON.stringify(text)).toEqual(encode(own, text, true));
    }
  });

  const stories = sharedDataOrWarn("stories260k", "66 texts with the tokenizer of a GGUF file");
  test.runIf(stories !== undefined)("all 66 texts of stories260k have llama.cpp's ids, and come back", () => {
    const { metadata } = headerOf(readFileSync(`${stories}/stories260K-Q4_0.gguf`));
    const tokenizer = tokenizerOf(metadata);
    const { tokenizer: rows } = JSON.parse(readFileSync(`${stories}/golden.json`, "utf8")) as {
      tokenizer: { text: string; ids: number[]; decoded: string }[];
    };
    expect(rows).toHaveLength(66);
    for (const { text, ids, decoded } of rows) {
      expect(encode(tokenizer, text, true), JSON.stringify(text)).toEqual([1, ...ids]);
      expect(tokenizer.decode(ids), JSON.stringify(text)).toBe(decoded);
    }
  });
});

const llama = readFileSync(`${goldenFolder("llama")}model-F32.gguf`);
const edited = (changes: Readonly<Record<string, MadeValue | undefined>>) =>
  headerOf(editGguf(llama, changes)).metadata;
const refused = (changes: Readonly<Record<string, MadeValue | undefined>>, code: string, message: string) =>
  expect(() => tokenizerOf(edited(changes))).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) as unknown }) as Error,
  );

describe("gguf-tokenizer", () => {
  const { input } = caseOf<{ text: string }, unknown>("gguf-tokenizer");

  test("an unknown pre-tokenizer is refused by its name", () => {
    refused({ "tokenizer.ggml.pre": ["string", "nonesuch"] }, "tokenizer-unsupported", '"nonesuch"');
  });

  test("a missing one is refused by its key", () => {
    refused({ "tokenizer.ggml.pre": undefined }, "tokenizer-unsupported", "tokenizer.ggml.pre");
  });

  test("the default one gives llama.cpp's ids", () => {
    const tokenizer = tokenizerOf(edited({ "tokenizer.ggml.pre": ["string", "default"] }));
    const ids = [76, 42, 112, 35, 52, 53, 54, 55, 56, 35, 358, 13, 13, 35, 35, 123];
    expect(encode(tokenizer, input.text)).toEqual(ids);
  });

  test("missing merges are refused by their key", () => {
    refused({ "tokenizer.ggml.merges": undefined }, "tokenizer-unsupported", "tokenizer.ggml.merges");
  });

  test("an unknown kind is refused by its name", () => {
    refused({ "tokenizer.ggml.model": ["string", "nonesuch"] }, "tokenizer-unsupported", '"nonesuch"');
  });

  test("missing scores are refused by their key", () => {
    refused({ "tokenizer.ggml.model": ["string", "llama"] }, "tokenizer-unsupported", "tokenizer.ggml.scores");
  });

  test("with one piece fewer than the model has rows, the last id has an empty text", () => {
    const { metadata } = headerOf(llama);
    const tokens = metadata.get("tokenizer.ggml.tokens") as string[]; // the golden file has it
    const types = Array.from(metadata.get("tokenizer.ggml.token_type") as Int32Array); // and this
    const merges = (metadata.get("tokenizer.ggml.merges") as string[]).filter(
      (merge) => merge.replace(" ", "") !== tokens.at(-1),
    );
    const tokenizer = tokenizerOf(
      edited({
        "tokenizer.ggml.tokens": ["array", ["string", tokens.slice(0, -1)]],
        "tokenizer.ggml.token_type": ["array", ["i32", types.slice(0, -1)]],
        "tokenizer.ggml.merges": ["array", ["string", merges]],
      }),
    );
    expect(tokenizer.bytesOf(tokens.length - 1, false)).toHaveLength(0);
    expect(tokenizer.decode([76, tokens.length - 1])).toBe("I");
  });
});

describe("what stands around a text", () => {
  const pieces = ["<unk>", "<s>", "</s>", "▁", "a", "▁a", "<|im_end|>", "<x>", "unused"];
  const spm = (further: Record<string, GgufValue> = {}) =>
    new Map<string, GgufValue>([
      ["tokenizer.ggml.model", "llama"],
      ["tokenizer.ggml.tokens", pieces],
      ["tokenizer.ggml.scores", Float32Array.of(0, 0, 0, -3, -2, -1, 0, 0, 0)],
      ["tokenizer.ggml.token_type", Int32Array.of(2, 3, 3, 1, 1, 1, 3, 4, 5)],
      ["tokenizer.ggml.bos_token_id", 1],
      ["tokenizer.ggml.eos_token_id", 2],
      ...Object.entries(further),
    ]);

  test.each<[string, Record<string, GgufValue>, number[]]>([
    ["the beginning, where nothing is said", {}, [1, 5]],
    ["nothing, where it is not to be added", { "tokenizer.ggml.add_bos_token": false }, [5]],
    ["both ends", { "tokenizer.ggml.add_eos_token": true }, [1, 5, 2]],
    ["nothing, where there is no such token", { "tokenizer.ggml.bos_token_id": 0xffffffff }, [5]],
    ["no blank, where none is to be put before a text", { "tokenizer.ggml.add_space_prefix": false }, [1, 4]],
  ])("%s", (_, further, ids) => expect(encode(tokenizerOf(spm(further)), "a", true)).toEqual(ids));

  test("control tokens are special, user-defined ones are text, unused pieces are nothing", () => {
    const tokenizer = tokenizerOf(spm({ "tokenizer.ggml.add_space_prefix": false }));
    expect(encode(tokenizer, "<|im_end|><x>")).toEqual([6, 7]);
    expect([6, 7].map((id) => tokenizer.isSpecial(id))).toEqual([true, false]);
    expect(tokenizer.decode([6, 7, 8])).toBe("<x>");
  });

  test("a chat template is rendered with the special tokens' texts", async () => {
    const template = "{{ bos_token }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}";
    const tokenizer = tokenizerOf(
      spm({ "tokenizer.chat_template": template, "tokenizer.ggml.add_space_prefix": false }),
    );
    expect([...(await tokenizer.encodeChat([{ role: "user", content: "a a" }]))]).toEqual([1, 4, 5, 6]);
  });

  test.each<[string, Record<string, GgufValue>, string]>([
    [
      "a list of another length",
      { "tokenizer.ggml.scores": Float32Array.of(1) },
      "tokenizer.ggml.scores should be 9 numbers",
    ],
    ["scores that are no numbers", { "tokenizer.ggml.scores": Float32Array.from(pieces, () => NaN) }, "finite numbers"],
    ["an id beyond the vocabulary", { "tokenizer.ggml.bos_token_id": 9 }, "bos_token_id should be below 9"],
    ["pieces that are no texts", { "tokenizer.ggml.tokens": [true] }, "tokenizer.ggml.tokens should be texts"],
    ["a template that is no text", { "tokenizer.chat_template": 1 }, "tokenizer.chat_template should be a text"],
  ])("%s is refused", (_, further, message) => {
    expect(() => tokenizerOf(spm(further))).toThrow(
      expect.objectContaining({ code: "file-invalid", message: expect.stringContaining(message) as unknown }) as Error,
    );
  });
});
