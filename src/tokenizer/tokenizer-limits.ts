/**
 * What is believed of a tokenizer's files, far above any published one; beyond it a text would take minutes, or
 * gigabytes. Each is refused by name, as `tokenizer-unsupported`. docs/hostile-input.md lists them all.
 */
import { unsupported } from "./json-fields";

/** Of a pattern as the file spells it; the longest in use have 300 characters. */
export const MAX_PATTERN_LENGTH = 4096;
/** Groups inside each other. */
export const MAX_PATTERN_DEPTH = 64;
/** Of a literal to look for, what takes its place, and of an added token, in UTF-16 units: each place of a text may cost so many. */
export const MAX_SPELLING_LENGTH = 256;
/** Of added tokens; the most in use are 6,400. Messages are searched for each special one. */
export const MAX_ADDED_TOKENS = 2 ** 15;
/** Normalizers, pre-tokenizers or decoders one after another. */
export const MAX_STEPS = 32;
/** Characters of the longest word that WordPiece tries to cut; it takes a time that grows with their square. BERT has 100. */
export const MAX_WORDPIECE_WORD = 256;
/** Pieces that may lie in one word of Unigram: some, and so many for each character. */
const FREE_LATTICE_NODES = 200_000;
const LATTICE_NODES_PER_CHARACTER = 8;

/** Normalizing multiplies a text by 18 at most (NFKD of one ligature); bytes spelled as letters by 3. */
const MAX_GROWTH = 32;
const FREE_GROWTH = 4096;

/** @throws WordloomError tokenizer-unsupported where `step` has made far more of a text than any script needs */
export function checkGrowth(before: number, after: number, step: string): void {
  if (after <= MAX_GROWTH * before + FREE_GROWTH) return;
  throw unsupported(`${step} that makes ${after} or more characters of ${before}`);
}

export function checkLattice(nodes: number, characters: number): void {
  if (nodes <= FREE_LATTICE_NODES + LATTICE_NODES_PER_CHARACTER * characters) return;
  throw unsupported(`a vocabulary of which more than ${nodes} pieces lie in a word of ${characters} characters`);
}

export function checkSpelling(spelling: string, what: string): string {
  if (spelling.length <= MAX_SPELLING_LENGTH) return spelling;
  throw unsupported(`${what} of ${spelling.length} characters (at most ${MAX_SPELLING_LENGTH} are read)`);
}

export function checkSteps(count: number, what: string): void {
  if (count > MAX_STEPS) throw unsupported(`${count} ${what} one after another (at most ${MAX_STEPS} are run)`);
}
