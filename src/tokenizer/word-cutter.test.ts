import { describe, expect, test } from "vitest";
import { seededRandom } from "../testing/random";
import { createTokenizer } from "./load-tokenizer";
import { MergeTable } from "./merge-table";
import { WordCutter } from "./word-cutter";

describe("MergeTable", () => {
  test("finds what was set, the last rank of a pair set twice, and -1 for all else", () => {
    const table = new MergeTable(3000);
    const random = seededRandom(1);
    const ranks = new Map<string, number>();
    for (let rank = 0; rank < 3000; rank++) {
      const [left, right] = [Math.floor(random() * 60), Math.floor(random() * 300_000)];
      table.set(left, right, rank);
      ranks.set(`${left} ${right}`, rank);
    }
    for (const [pair, rank] of ranks) {
      const [left = -1, right = -1] = pair.split(" ").map(Number);
      expect(table.rankOf(left, right)).toBe(rank);
      if (!ranks.has(`${right} ${left}`)) expect(table.rankOf(right, left)).toBe(-1);
    }
    let count = 0;
    table.forEachPair(() => (count += 1));
    expect(count).toBe(ranks.size);
  });

  test("an empty one has nothing", () => {
    expect(new MergeTable(0).rankOf(0, 0)).toBe(-1);
  });
});

test("a word is cut only where no merge has those two characters at its seam", () => {
  const pieces = ["a", "b", "😀", "ab", "b😀", "c", "ba"];
  const merges = new MergeTable(3);
  merges.set(0, 1, 0); // a·b
  merges.set(1, 2, 1); // b·😀
  merges.set(4, 3, 2); // b😀·ab
  expect(new WordCutter(merges, pieces).cut("abcab😀ab😀😀ba")).toEqual(["ab", "c", "ab😀ab😀", "😀", "b", "a"]);
});

test("long words have the ids of their parts put together, however long", () => {
  const vocab = Object.fromEntries(
    ["a", "b", "c", "▁", "ab", "▁a", "▁ab", "bc", "<unk>"].map((piece, id) => [piece, id]),
  );
  const merges = ["a b", "▁ a", "▁a b", "b c"].filter((merge) => merge.replace(" ", "") in vocab);
  const model = { type: "BPE", vocab, merges, unk_token: "<unk>", fuse_unk: true };
  const tokenizer = createTokenizer({
    tokenizerJson: { model, decoder: { type: "Fuse" } },
    tokenizerConfig: undefined,
  });
  const ids = (text: string) => [...tokenizer.encode(text, { addSpecialTokens: false })];
  const parts = ["▁ab", "▁abc", "▁cab", "▁?!", "▁ca"];
  // Unknown characters beside each other are one token, over a cut as well.
  const text = Array.from({ length: 200 }, (_, i) => parts[(i * 7) % 5] ?? "").join("");
  expect(ids(text)).toEqual(Array.from({ length: 200 }, (_, i) => ids(parts[(i * 7) % 5] ?? "")).flat());
  expect(ids("?".repeat(500))).toEqual([8]);
});
