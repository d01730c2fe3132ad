/** Inputs that once did what no input may do; they are kept, and read again by every `npm test`. */
import { readFileSync } from "node:fs";
import type { Input } from "./edits";

export interface KeptInput {
  /** The target's name. */
  target: string;
  /** What it did, before that was mended. */
  fault: string;
  input: Input;
}

interface StoredInput {
  target: string;
  fault: string;
  /** Either of the two. */
  text?: string;
  base64?: string;
}

/** src/testing/corpus/faults.json */
export function keptInputs(): KeptInput[] {
  const stored = JSON.parse(readFileSync(new URL("../corpus/faults.json", import.meta.url), "utf8")) as StoredInput[]; // our own file
  return stored.map(({ target, fault, text, base64 }) => ({
    target,
    fault,
    input: text === undefined ? Uint8Array.from(Buffer.from(base64 ?? "", "base64")) : new TextEncoder().encode(text),
  }));
}
