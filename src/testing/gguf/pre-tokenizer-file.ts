/**
 * A vocabulary for trying the names of tokenizer.ggml.pre: the bytes and the first 20,000 merges of Llama 3's, whose
 * pieces reach across most places where a pre-tokenizer may cut. Read in place from the package that ships it.
 */
import { readPublished } from "../tokenizer-golden/published";

const MERGES = 20_000;
const END = "<|end|>";

export interface PreTokenizerFile {
  pieces: string[];
  merges: string[];
}

export function preTokenizerFile(): PreTokenizerFile {
  const { model } = readPublished("llama3").tokenizerJson as { model: { merges: (string | [string, string])[] } };
  const merges = model.merges.slice(0, MERGES).map((merge) => (typeof merge === "string" ? merge : merge.join(" ")));
  // Pieces that nothing is merged to are the bytes.
  const made = merges.map((merge) => merge.replace(" ", ""));
  const known = new Set(made);
  const bytes = new Set(merges.flatMap((merge) => merge.split(" ")).filter((piece) => !known.has(piece)));
  return { pieces: [...new Set([...byteAlphabet(), ...bytes, ...made]), END], merges };
}

/** GPT-2's: printable bytes stand for themselves, the others for characters from 256 on. */
function byteAlphabet(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return String.fromCodePoint(isPrintable ? byte : next++);
  });
}

/** 1 for ordinary pieces, 3 for the end token. */
export function tokenTypes({ pieces }: PreTokenizerFile): Int32Array {
  return Int32Array.from(pieces, (piece) => (piece === END ? 3 : 1));
}

/** FNV-1a of the ids, 32 bits in hexadecimal. */
export function hashOf(ids: ArrayLike<number>): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < ids.length; i++) {
    for (let shift = 0; shift < 24; shift += 8) {
      hash = Math.imul(hash ^ (((ids[i] as number) >> shift) & 255), 0x01000193); // i < length
    }
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
