import { describe, expect, test } from "vitest";
import { caseOf } from "../testing/cases/case-file";
import { createTokenizer } from "./load-tokenizer";

const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: false, use_regex: true };

/** A tokenizer of the letters a to e, the blank and what is given. */
function tokenizerWith(changes: Record<string, unknown>, model: Record<string, unknown> = {}) {
  const vocab = { a: 0, b: 1, c: 2, d: 3, e: 4, " ": 5, ab: 6, "<s>": 7 };
  return createTokenizer({
    tokenizerJson: {
      model: { type: "BPE", vocab, merges: [["a", "b"]], ...model },
      decoder: { type: "Fuse" },
      ...changes,
    },
    tokenizerConfig: undefined,
  });
}

interface TextIds {
  text: string;
  ids: number[];
}

describe("cases from public bug reports", () => {
  const longest = caseOf<{ tokenizer_json: unknown; texts: string[] }, { ids: TextIds[] }>("tok-added-longest");
  test.each(longest.expected.ids)("the leftmost, then longest added token wins in $text", ({ text, ids }) => {
    const tokenizer = createTokenizer({ tokenizerJson: longest.input.tokenizer_json, tokenizerConfig: undefined });
    expect([...tokenizer.encode(text, { addSpecialTokens: true })]).toEqual(ids);
  });

  const blanks = caseOf<{ tokenizer_json: unknown }, { ids: TextIds[]; decoded_again: TextIds[] }>("tok-spm-space");
  const llama = () => createTokenizer({ tokenizerJson: blanks.input.tokenizer_json, tokenizerConfig: undefined });
  test.each(blanks.expected.ids)("a Llama 2 tokenizer keeps the blanks of $text", ({ text, ids }) => {
    expect([...llama().encode(text, { addSpecialTokens: true })]).toEqual(ids);
  });
  test.each(blanks.expected.decoded_again)("a Llama 2 tokenizer decodes $ids to $text", ({ ids, text }) => {
    expect(llama().decode(ids)).toBe(text);
  });

  const latin1 = caseOf<{ tokenizer_json: unknown; ids: number[] }, { decoded: string; round_trip: TextIds[] }>(
    "detok-added-latin1",
  );
  const withAdded = () => createTokenizer({ tokenizerJson: latin1.input.tokenizer_json, tokenizerConfig: undefined });
  test("added tokens are plain text, never letters of the byte alphabet", () => {
    expect(withAdded().decode(latin1.input.ids)).toBe(latin1.expected.decoded);
    expect(withAdded().bytesOf(7, false)).toEqual(new TextEncoder().encode("naïve"));
  });
  test.each(latin1.expected.round_trip)("$text is encoded with its added tokens, and comes back", ({ text, ids }) => {
    expect([...withAdded().encode(text, { addSpecialTokens: true })]).toEqual(ids);
    expect(withAdded().decode(ids)).toBe(text);
  });
});

describe("what is refused", () => {
  test.each([
    ["the normalizer Precompiled", { normalizer: { type: "Precompiled", precompiled_charsmap: "" } }],
    ["the normalizer Nmt", { normalizer: { type: "Sequence", normalizers: [{ type: "Nmt" }] } }],
    ["the pre-tokenizer UnicodeScripts", { pre_tokenizer: { type: "UnicodeScripts" } }],
    ["the model WordLevel", { model: { type: "WordLevel", vocab: {} } }],
    ["the post-processor Nonesuch", { post_processor: { type: "Nonesuch" } }],
    ["the decoder CTC", { decoder: { type: "CTC" } }],
    ["the decoder BPEDecoder", { decoder: { type: "BPEDecoder", suffix: "</w>" } }],
    [
      "the decoder Strip",
      {
        decoder: { type: "Sequence", decoders: [{ type: "Fuse" }, { type: "Strip", content: " ", start: 0, stop: 1 }] },
      },
    ],
    ["a possessive quantifier", { pre_tokenizer: { type: "Split", pattern: { Regex: "a++" }, behavior: "Isolated" } }],
  ])("%s is tokenizer-unsupported, by its name", (name, changes) => {
    expect(() => tokenizerWith(changes)).toThrow(
      expect.objectContaining({
        code: "tokenizer-unsupported",
        message: expect.stringContaining(name) as string,
      }) as Error,
    );
  });

  test.each([
    ["BPE with continuing_subword_prefix", { continuing_subword_prefix: "##" }],
    ["BPE with dropout", { dropout: 0.1 }],
  ])("%s is tokenizer-unsupported", (name, model) => {
    expect(() => tokenizerWith({}, model)).toThrow(
      expect.objectContaining({
        code: "tokenizer-unsupported",
        message: expect.stringContaining(name) as string,
      }) as Error,
    );
  });

  test.each([
    ["no object", "[1]", "tokenizer.json"],
    ["no model", "{}", "model"],
    [
      "a vocabulary with an id that is no number",
      '{"model":{"type":"BPE","vocab":{"a":"0"},"merges":[]}}',
      'model.vocab["a"]',
    ],
    ["no merges", '{"model":{"type":"BPE","vocab":{"a":0}}}', "model.merges"],
    ["a merge of three pieces", '{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}}', "model.merges[0]"],
    ["a merge outside the vocabulary", '{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]}}', "model.merges[0]"],
    [
      "an unknown token outside the vocabulary",
      '{"model":{"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":"u"}}',
      "unk_token",
    ],
    [
      "an added token without id",
      '{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"added_tokens":[{"content":"x"}]}',
      "added_tokens[0].id",
    ],
    [
      "a normalizer without type",
      '{"normalizer":{},"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}',
      "normalizer.type",
    ],
  ])("%s is file-invalid, with its place", (_, json, place) => {
    expect(() => createTokenizer({ tokenizerJson: JSON.parse(json) as unknown, tokenizerConfig: undefined })).toThrow(
      expect.objectContaining({ code: "file-invalid", message: expect.stringContaining(place) as string }) as Error,
    );
  });
});

describe("ids and bytes", () => {
  const special = { id: 7, content: "<s>", special: true };

  test("merges are read as strings and as pairs", () => {
    for (const merges of [["a b"], [["a", "b"]]]) {
      expect([...tokenizerWith({}, { merges }).encode("abcab", { addSpecialTokens: false })]).toEqual([6, 2, 6]);
    }
  });

  test("a byte order mark is kept", () => {
    const vocab = { "\u00ef": 0, "\u00bb": 1, "\u00bf": 2, a: 3 };
    const tokenizer = tokenizerWith({ pre_tokenizer: BYTE_LEVEL, decoder: BYTE_LEVEL }, { vocab, merges: [] });
    expect(tokenizer.decode(tokenizer.encode("\ufeffa\ufeff", { addSpecialTokens: false }))).toBe("\ufeffa\ufeff");
  });

  test("empty text has only the tokens that are added", () => {
    const post_processor = {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      special_tokens: { "<s>": { id: "<s>", ids: [7], tokens: ["<s>"] } },
    };
    const tokenizer = tokenizerWith({ added_tokens: [special], post_processor });
    expect([...tokenizer.encode("", { addSpecialTokens: true })]).toEqual([7]);
    expect([...tokenizer.encode("", { addSpecialTokens: false })]).toEqual([]);
    expect(tokenizer.decode([])).toBe("");
  });

  test("special tokens and unknown ids have no bytes", () => {
    const tokenizer = tokenizerWith({ added_tokens: [special] });
    expect(tokenizer.vocabSize).toBe(8);
    expect(tokenizer.isSpecial(7)).toBe(true);
    expect(tokenizer.isSpecial(6)).toBe(false);
    expect(tokenizer.decode([0, 7, 6, 8, 4_000_000, 1])).toBe("aabb");
    expect(tokenizer.bytesOf(7, false)).toHaveLength(0);
    expect(tokenizer.bytesOf(99, false)).toHaveLength(0);
  });

  test("the bytes given out are the caller's own", () => {
    const tokenizer = tokenizerWith({});
    tokenizer.bytesOf(0, false).fill(0);
    expect(tokenizer.decode([0])).toBe("a");
  });

  test("half a surrogate pair in the text is U+FFFD, as in UTF-8", () => {
    const tokenizer = tokenizerWith({}, { vocab: { a: 0, "\ufffd": 1 }, merges: [] });
    expect([...tokenizer.encode("a\ud800a", { addSpecialTokens: false })]).toEqual([0, 1, 0]);
  });
});
