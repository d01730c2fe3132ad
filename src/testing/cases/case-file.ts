/**
 * Small inputs behind faults that users of comparable software reported, with the right results and how they are known.
 * `cases.json` was made before Wordloom; where `expected` allows an alternative ("or"), the test says what was chosen.
 */
import cases from "./cases.json";

export interface Case {
  id: string;
  kind: string;
  /** repository#number of the reports. */
  source: string[];
  /** The fault. */
  what: string;
  /** Its shape differs from case to case; each test states the shape it reads. */
  input: unknown;
  expected: unknown;
  how_known: string;
}

const CASES: readonly Case[] = cases;

/** Throws if there is none, so that a misspelled kind cannot pass as an empty test. */
export function casesOfKind(kind: string): readonly Case[] {
  const found = CASES.filter((entry) => entry.kind === kind);
  if (found.length === 0) throw new Error(`cases.json has no case of kind "${kind}"`);
  return found;
}

/** The case of this id, with its input and expected values in the shapes that the test states. */
export function caseOf<Input, Expected>(id: string): { what: string; input: Input; expected: Expected } {
  const found = CASES.find((entry) => entry.id === id);
  if (found === undefined) throw new Error(`cases.json has no case "${id}"`);
  return { what: found.what, input: found.input as Input, expected: found.expected as Expected };
}
