import fc from "fast-check";
import { expect, test } from "vitest";
import type { WordloomError } from "../errors";
import { generateTexts } from "../testing/tokenizer-golden/generated-texts";
import { BoundedPattern } from "./bounded-pattern";
import { GGUF_PRE_TOKENIZERS } from "./gguf-pre-tokenizers";
import { compileOniguruma } from "./pattern";
import { GPT2_WORDS, isPublishedPattern } from "./published-patterns";
import { onigurumaPattern, readPattern, replaceMatches } from "./text-pattern";

interface Found {
  index: number;
  text: string;
}

const natively = (source: string, text: string): Found[] =>
  Array.from(text.matchAll(compileOniguruma(source)), ({ index, 0: found }) => ({ index, text: found }));
const bounded = (source: string, text: string): Found[] =>
  Array.from(new BoundedPattern(compileOniguruma(source).source).matchesIn(text));

/** Every pattern of the pre-tokenizers that GGUF files name. */
function patternsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Object.entries(value).flatMap(([key, inner]) =>
    key === "Regex" ? [inner as string] : patternsIn(inner),
  );
  return [...new Set(own)];
}
const PUBLISHED = [...new Set([GPT2_WORDS, ...patternsIn(GGUF_PRE_TOKENIZERS)])];

test("the patterns of published tokenizers are known, and so stay on RegExp", () => {
  expect(PUBLISHED.length).toBeGreaterThan(8);
  expect(PUBLISHED.filter((source) => !isPublishedPattern(source))).toEqual([]);
});

test.each(PUBLISHED)("bound in time, %s finds exactly what RegExp finds", (source) => {
  for (const text of generateTexts(7, 60)) expect(bounded(source, text)).toEqual(natively(source, text));
});

/** Patterns of every part that is read, small enough that RegExp ends on a short text. */
const pattern = fc.letrec<Record<"any" | "one" | "many" | "some" | "look" | "either", string>>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    tie("one"),
    tie("one"),
    tie("many"),
    tie("either"),
    tie("some"),
    tie("look"),
  ),
  one: fc.constantFrom("a", "b", "\\s", "[^a]", "[a-b🙂]", ".", "\\p{L}", "(?i:k)", "^", "$", "🙂", "\\n"),
  many: fc.tuple(tie("any"), tie("any")).map((parts) => parts.join("")),
  either: fc.tuple(tie("any"), tie("any")).map(([one, other]) => `(?:${one}|${other})`),
  some: fc
    .tuple(tie("any"), fc.constantFrom("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,2}?"))
    .map(([body, sign]) => `(${body})${sign}`),
  look: fc
    .tuple(tie("any"), fc.constantFrom("(?=", "(?!", "(?<=", "(?<!"))
    .map(([body, opening]) => `${opening}${body})`),
}));
const text = fc
  .array(fc.constantFrom("a", "b", "K", "\u212a", " ", "\n", "🙂", "é"), { maxLength: 12 })
  .map((all) => all.join(""));

const isInsideCharacter = (value: string, at: number): boolean =>
  at > 0 && at < value.length && (value.codePointAt(at - 1) ?? 0) > 0xffff;

test("bound in time, any pattern finds exactly what RegExp finds, or is refused", () => {
  let compared = 0;
  fc.assert(
    fc.property(pattern.any, text, (source, value) => {
      try {
        const found = bounded(source, value);
        const expected = natively(source, value);
        // V8 finds empty matches inside a character of two units, which the language's definition does not.
        if (expected.some(({ index }) => isInsideCharacter(value, index))) return;
        compared++;
        expect(found).toEqual(expected);
      } catch (error) {
        if (!(error instanceof Error) || !/repeats what may be empty|forks|places/.test(error.message)) throw error;
      }
    }),
    { numRuns: 3000, seed: 1 },
  );
  expect(compared).toBeGreaterThan(1500);
});

const LONG = 50_000;
test.each([
  ["nested repetitions", "(a+)+$", `${"a".repeat(LONG)}b`],
  ["two ways to the same text", "(a|a)*b", "a".repeat(LONG)],
  ["a run that is tried from each of its places", "\\s+$", `${" ".repeat(LONG)}x`],
  ["three runs in a row", "\\s*\\s*\\s*x", " ".repeat(LONG)],
  ["a chain of optional letters", `${"a?".repeat(30)}${"a".repeat(30)}`, "a".repeat(LONG)],
])("%s take a time that grows with the text: %s", (_, source, value) => {
  const start = performance.now();
  expect(Array.from(onigurumaPattern(source).matchesIn(value)).length).toBeLessThan(LONG);
  expect(performance.now() - start).toBeLessThan(1000);
});

const unsupported = expect.objectContaining({ code: "tokenizer-unsupported" }) as WordloomError;

test("looking around without measure ends in a refusal, not in a wait", () => {
  const start = performance.now();
  const looking = onigurumaPattern("a(?=.*.*.*b)");
  expect(() => Array.from(looking.matchesIn("a".repeat(LONG)))).toThrow(unsupported);
  expect(performance.now() - start).toBeLessThan(2000);
});

test.each([
  ["(a*)*", "what may be empty"],
  ["(a{100}){100}", "more than 5000 places"],
  ["(a?){1000}", "what may be empty"],
  [`${"(".repeat(100)}a${")".repeat(100)}`, "64 deep"],
  ["a".repeat(5000), "5000 characters"],
])("%s is refused: %s", (source, reason) => {
  expect(() => onigurumaPattern(source)).toThrow(unsupported);
  expect(() => onigurumaPattern(source)).toThrow(reason);
});

test("a replacement that multiplies a text is refused", () => {
  const everything = readPattern({ Regex: "a" }, "pattern");
  if (everything === undefined) throw new Error("the pattern is empty");
  expect(replaceMatches("aba", everything, "cc")).toBe("ccbcc");
  expect(() => replaceMatches("a".repeat(1000), everything, "b".repeat(200))).toThrow(unsupported);
});
