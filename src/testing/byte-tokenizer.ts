/** A tokenizer of single bytes and a few longer pieces, so that every text, and every cut through one, has tokens. */
import type { Tokenizer } from "../tokenizer/tokenizer";

export type ByteTokenizer = Pick<Tokenizer, "vocabSize" | "bytesOf" | "encode">;

/** Id 0 has no bytes, ids 1 … 256 one byte each, the rest are `pieces`; a text is cut into the longest that fit. */
export function byteTokenizer(pieces: readonly string[]): ByteTokenizer {
  const bytes = [
    new Uint8Array(0),
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...pieces.map((piece) => new TextEncoder().encode(piece)),
  ];
  const fits = (text: Uint8Array, from: number, piece: Uint8Array) =>
    piece.length > 0 && piece.every((byte, at) => text[from + at] === byte);
  return {
    vocabSize: bytes.length,
    bytesOf: (id) => (bytes[id] ?? new Uint8Array(0)).slice(),
    encode(text) {
      const all = new TextEncoder().encode(text);
      const ids: number[] = [];
      for (let from = 0; from < all.length;) {
        const ranked = bytes.map((piece, id) => ({ id, length: fits(all, from, piece) ? piece.length : 0 }));
        const longest = ranked.reduce((best, one) => (one.length > best.length ? one : best));
        ids.push(longest.id);
        from += longest.length;
      }
      return Uint32Array.from(ids);
    },
  };
}
