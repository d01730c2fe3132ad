import { expect, test } from "vitest";
import { type WordloomError } from "../errors";
import { BoundedPattern } from "./bounded-pattern";
import { compileOniguruma } from "./pattern";

/** All matches, joined by a bar. */
const matches = (pattern: string, text: string) =>
  Array.from(text.matchAll(compileOniguruma(pattern)), (match) => match[0]).join("|");
const boundedMatches = (pattern: string, text: string) =>
  Array.from(new BoundedPattern(compileOniguruma(pattern).source).matchesIn(text), (match) => match.text).join("|");

test.each([
  ["\\s takes U+0085 and leaves U+FEFF", "\\s+", "a \u0085\ufeffb", " \u0085"],
  ["\\S the other way round", "[\\S]+", "\ufeff\u0085b", "\ufeff|b"],
  ["\\d is every decimal digit", "\\d+", "1٣½", "1٣"],
  ["\\w is every letter, mark, digit and connector", "\\w+", "né_3 é-", "né_3|é"],
  [". stops at line feeds only", ".+", "a\rb\u2028c\nd", "a\rb\u2028c|d"],
  ["^ and $ stand at every line", "^a$", "a\na\nba", "a|a"],
  ["(?i:…) takes both cases, the long s and the Kelvin sign", "(?i:'s|k)", "'S'ſ'sK\u212a", "'S|'ſ|'s|K|\u212a"],
  ["(?i:…) ends with its group", "(?i:a)a", "aA Aa", "Aa"],
  ["needless backslashes are dropped", "\\'\\#\\~[\\-\\&]", "'#~-'#~&", "'#~-|'#~&"],
  ["properties and their negations", "\\p{Lu}\\P{L}\\p{^N}", "A1aB-c", "A1a|B-c"],
  ["scripts by their bare name", "\\p{Han}+", "a日本b", "日本"],
  ["code points", "[\\x{4E00}-\\u9FFF]+\\x41", "日A日", "日A"],
  ["a brace that is no quantifier is itself", "a{b", "a{b", "a{b"],
  ["{,n} starts from 0", "ba{,2}", "baaab", "baa|b"],
  ["look-around", "(?<=a)b(?!c)", "abc ab b", "b"],
])("%s", (_, pattern, text, found) => {
  expect(matches(pattern, text)).toBe(found);
  expect(boundedMatches(pattern, text)).toBe(found);
});

test.each(["a++", "a{2}+", "[a[b]]", "[a&&b]", "(?>a)", "\\p{Nonesuch}", "(a", "a)", "[a", "\\1", "\\G", "a\\"])(
  "%s is refused, not approximated",
  (pattern) => {
    expect(() => compileOniguruma(pattern)).toThrow(
      expect.objectContaining({ code: "tokenizer-unsupported" }) as WordloomError,
    );
  },
);
