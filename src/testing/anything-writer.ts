/** A model that would rather write anything else than what is asked of it: for tests of constraints. */
import { scriptedCheckpoint } from "./scripted-checkpoint";

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
/** All bytes, in the tokenizer's alphabet, behind the end and the beginning, and before a token that is special. */
const PRINTABLE = [...range(33, 126), ...range(161, 172), ...range(174, 255)];
const REST = range(0, 255).filter((byte) => !PRINTABLE.includes(byte));
const PIECES = [
  ...["<|end|>", "<|go|>"],
  ...PRINTABLE.map((byte) => String.fromCharCode(byte)),
  ...REST.map((_, i) => String.fromCharCode(256 + i)),
  "<|tool|>",
];
const SPECIAL = PIECES.length - 1;

/** Logits without any order, the same each time; ends, special tokens and rows without a text are what it likes best. */
function anything(last: number, next: number): number {
  if (next === 0 || next >= SPECIAL) return 9;
  const mixed = Math.imul(last * 7919 + next * 104729 + 13, 0x9e3779b1) >>> 0;
  return (mixed % 1000) / 125;
}

export function anythingWriter(options: { contextLength: number; chatTemplate?: string }) {
  const added = new Map([0, 1, SPECIAL].map((id) => [id, true]));
  return scriptedCheckpoint({ pieces: PIECES, size: 288, table: anything, added, ...options });
}
