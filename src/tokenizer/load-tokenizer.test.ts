import { describe, expect, test } from "vitest";
import { caseOf } from "../testing/cases/case-file";
import { createTokenizer } from "./load-tokenizer";

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

  const latin1 = caseOf<
    { tokenizer_json: unknown; ids: number[] },
    { decoded: string; round_trip: TextIds[] }
  >("detok-added-latin1");
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
