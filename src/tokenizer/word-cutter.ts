import type { MergeTable } from "./merge-table";

/**
 * Cuts a long word where no merge can ever join what stands on both sides, so that its parts can be merged one by one
 * with the same result. Tokenizers without a pre-tokenizer (Llama 2, Gemma) make one word of a whole prompt.
 *
 * A merge joins two pieces; the character before its seam is the left one's last, the one behind it the right one's
 * first. Two characters that are last and first of no merge therefore never come into one piece.
 */
export class WordCutter {
  /** Last and first characters of all merges, as code points: last · 2^21 + first. */
  private readonly joined = new Set<number>();

  /** @param pieces by id */
  constructor(merges: MergeTable, pieces: readonly (string | undefined)[]) {
    merges.forEachPair((left, right) => {
      const last = lastCodePoint(pieces[left] ?? "");
      const first = (pieces[right] ?? "").codePointAt(0);
      if (last !== undefined && first !== undefined) this.joined.add(last * 2 ** 21 + first);
    });
  }

  cut(word: string): string[] {
    const parts: string[] = [];
    let start = 0;
    let last: number | undefined;
    for (let at = 0; at < word.length;) {
      const next = word.codePointAt(at) ?? 0;
      if (last !== undefined && !this.joined.has(last * 2 ** 21 + next)) {
        parts.push(word.slice(start, at));
        start = at;
      }
      last = next;
      at += next > 0xffff ? 2 : 1;
    }
    parts.push(word.slice(start));
    return parts;
  }
}

function lastCodePoint(text: string): number | undefined {
  const low = text.charCodeAt(text.length - 1);
  return text.codePointAt(low >= 0xdc00 && low <= 0xdfff ? text.length - 2 : text.length - 1);
}
