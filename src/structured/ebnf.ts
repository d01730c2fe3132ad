/** What a caller's own EBNF would take, read just far enough for that; the grammar itself is read by xgrammar. */
import { WordloomError } from "../errors";

const MAX_LENGTH = 50_000;
const MAX_DEPTH = 64;

/**
 * Places for a character when all repetitions are written out; an element without end counts as often as it must be
 * there, and once more.
 *
 * @throws WordloomError option-invalid for a grammar that is too long or too deep
 */
export function placesOfEbnf(ebnf: string): number {
  if (ebnf.length > MAX_LENGTH) {
    throw new WordloomError(
      "option-invalid",
      `constraint.grammar has ${ebnf.length} characters; at most ${MAX_LENGTH} are read`,
    );
  }
  /** Of each group that is open: all its places, and those of its last element, which a repetition is about. */
  const groups: { sum: number; last: number }[] = [{ sum: 0, last: 0 }];
  const add = (places: number): void => {
    const group = groups.at(-1);
    if (!group) return;
    group.sum += group.last;
    group.last = places;
  };
  const tokens = /#[^\n]*|"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|\{\s*(\d+)\s*(,?)\s*(\d*)\s*\}|[()]|[A-Za-z_][\w.-]*/g;
  for (const [token, min = "0", comma, max] of ebnf.matchAll(tokens)) {
    if (token.startsWith("[")) refuseBeyondAscii(token);
    const group = groups.at(-1);
    if (token === "(") {
      groups.push({ sum: 0, last: 0 });
      if (groups.length > MAX_DEPTH) {
        throw new WordloomError("option-invalid", `constraint.grammar has groups more than ${MAX_DEPTH} deep`);
      }
    } else if (token === ")") {
      if (groups.length > 1) groups.pop();
      add((group?.sum ?? 0) + (group?.last ?? 0));
    } else if (token.startsWith("{")) {
      if (group) group.last *= comma === "" ? Number(min) : max === "" ? Number(min) + 1 : Number(max);
    } else if (!token.startsWith("#")) add(token.startsWith('"') ? token.length - 2 : 1);
  }
  return groups.reduce((sum, group) => sum + group.sum + group.last, 0);
}

/** xgrammar 0.1.27 takes the characters of a class modulo 256; a text, and a negated class of ASCII, it reads well. */
function refuseBeyondAscii(characterClass: string): void {
  const escapes = characterClass.matchAll(/\\(?:x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/g);
  const isBeyond = Array.from(escapes).some(([, x, u, long]) => Number.parseInt(x ?? u ?? long ?? "0", 16) > 0x7f);
  if (!isBeyond && !/[^\0-\x7f]/.test(characterClass)) return;
  throw new WordloomError(
    "option-invalid",
    `constraint.grammar has the class ${characterClass}; only ASCII is read there`,
    {
      remedy: 'List other characters as texts: ("é" | "ü"); or exclude ASCII ones: [^a-z]; or use constraint.regex.',
    },
  );
}
