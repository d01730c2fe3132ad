import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { sharedDataOrWarn } from "../testing/shared-data";
import { createTokenizer } from "./load-tokenizer";

interface GoldenTokenizer {
  name: string;
  tokenizer_json: unknown;
  /** For each of the shared texts. */
  ids: number[][];
  /** By index, the texts that come back changed. */
  decoded: Record<string, string>;
}

// Read, not imported: its type would be half a megabyte.
const golden = JSON.parse(
  readFileSync(new URL("../testing/tokenizer-golden/golden.json", import.meta.url), "utf8"),
) as { texts: string[]; tokenizers: GoldenTokenizer[] };

describe("the Rust library's ids and texts (src/testing/tokenizer-golden)", () => {
  test.each(golden.tokenizers)("$name", ({ tokenizer_json, ids, decoded }) => {
    const tokenizer = createTokenizer({ tokenizerJson: tokenizer_json, tokenizerConfig: undefined });
    golden.texts.forEach((text, i) => {
      expect([...tokenizer.encode(text, { addSpecialTokens: true })], JSON.stringify(text)).toEqual(ids[i]);
      expect(tokenizer.decode(ids[i] ?? []), JSON.stringify(ids[i])).toBe(decoded[i] ?? text);
    });
  });
});

const stories = sharedDataOrWarn("stories260k", "66 golden tokenizer texts of stories260k");

test.runIf(stories !== undefined)("all 66 texts of stories260k have llama.cpp's ids, and come back", () => {
  const read = (name: string): unknown => JSON.parse(readFileSync(`${stories}/${name}`, "utf8"));
  const tokenizer = createTokenizer({
    tokenizerJson: read("tokenizer.json"),
    tokenizerConfig: read("tokenizer_config.json"),
  });
  const rows = (read("golden.json") as { tokenizer: { text: string; ids: number[]; decoded: string }[] }).tokenizer;
  expect(rows).toHaveLength(66);
  for (const { text, ids, decoded } of rows) {
    expect([...tokenizer.encode(text, { addSpecialTokens: false })], JSON.stringify(text)).toEqual(ids);
    expect([...tokenizer.encode(text, { addSpecialTokens: true })], JSON.stringify(text)).toEqual([1, ...ids]);
    expect(tokenizer.decode(ids), JSON.stringify(text)).toBe(decoded);
  }
});
