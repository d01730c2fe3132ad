/** How many answers one `generate` writes. */
import { given, whole } from "./option-checks";
import { conflict } from "./token-options";

const MOST = 16;

/** What cannot be had for several answers at once, and why. */
const ALONE = [
  ["logitsProcessor", "it is asked for one answer's next token, and several answers take each step together"],
  ["constraint", "it leaves out steps of its own answer, and several answers take each step together"],
  ["speculative", "one pass that checks guesses is one answer's, and several answers take each step together"],
  ["fullContext", "where the context is full, each answer would drop tokens that the others still see"],
] as const;

type Options = { n?: number; seed?: number } & { [name in (typeof ALONE)[number][0]]?: unknown };

/**
 * @param drawSeed gives the seed where the caller gave none
 * @returns `n`, and the seed of the first answer; that of answer i is seed + i
 * @throws WordloomError option-invalid
 */
export function resolveAnswerCount(options: Options, drawSeed: () => number): { n: number; seed: number } {
  const n = whole(options, "n", 1, { min: 1, max: MOST });
  const largest = Number.MAX_SAFE_INTEGER - (n - 1);
  if (n > 1) {
    const [name, reason] = ALONE.find(([name]) => given(options[name]) && options[name] !== "error") ?? [];
    if (name) throw conflict(`n is ${n}, and ${name} is given: ${reason}`);
  }
  const seed = given(options.seed)
    ? whole(options, "seed", 0, { min: 0, max: largest })
    : Math.min(drawSeed(), largest);
  return { n, seed };
}
