/**
 * Each name of tokenizer.ggml.pre against llama.cpp's own tokenizer; see src/testing/gguf/PROVENANCE.md.
 *
 * Where llama.cpp's patterns are simpler than those of the models' own tokenizer.json, Wordloom is as the latter, with which
 * the models are trained; see DIFFERENT.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { GgufValue } from "../formats/gguf";
import { hashOf, preTokenizerFile, tokenTypes } from "../testing/gguf/pre-tokenizer-file";
import { GGUF_PRE_TOKENIZERS } from "./gguf-pre-tokenizers";
import { ggufTokenizer } from "./gguf-tokenizer";
import { createTokenizer } from "./load-tokenizer";

const stored = JSON.parse(readFileSync(new URL("../testing/gguf/pre-tokenizers.json", import.meta.url), "utf8")) as {
  texts: string[];
  hashes: Record<string, string>;
};
/** Of these texts alone ids differ, and of how many. */
const DIFFERENT: Readonly<Record<string, { texts: RegExp; count: number }>> = {
  // In "(?i:'s|…)" of the models' own patterns the long s counts as an s; llama.cpp writes "'[sS]".
  ...Object.fromEntries(["llama3", "llama-v3", "llama-bpe", "lfm2"].map((name) => [name, { texts: /'ſ/, count: 1 }])),
  // Marks belong to the word before them; in llama.cpp's patterns they are symbols.
  tekken: { texts: /\p{M}/u, count: 5 },
  "gpt-4o": { texts: /\p{M}/u, count: 1 },
};

const file = preTokenizerFile();
const types = tokenTypes(file);

test("llama.cpp was asked for every name", () => {
  expect(Object.keys(stored.hashes).sort()).toEqual(Object.keys(GGUF_PRE_TOKENIZERS).sort());
  expect(stored.texts.length).toBeGreaterThan(300);
});

test.each(Object.entries(stored.hashes))(
  "%s cuts as llama.cpp does",
  (name, hashes) => {
    const metadata = new Map<string, GgufValue>([
      ["tokenizer.ggml.model", "gpt2"],
      ["tokenizer.ggml.pre", name],
      ["tokenizer.ggml.tokens", file.pieces],
      ["tokenizer.ggml.token_type", types],
      ["tokenizer.ggml.merges", file.merges],
    ]);
    const tokenizer = createTokenizer(ggufTokenizer(metadata, `${name}.gguf`));
    const different = stored.texts.filter((text, i) => {
      const ids = tokenizer.encode(text, { addSpecialTokens: false });
      return hashOf(ids) !== hashes.slice(8 * i, 8 * i + 8);
    });
    const { texts: known = /^\b$/, count = 0 } = DIFFERENT[name] ?? {};
    expect(different.filter((text) => !known.test(text))).toEqual([]);
    expect(different).toHaveLength(count);
  },
  30_000,
);
