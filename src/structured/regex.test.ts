import { expect, test } from "vitest";
import { isTextOf } from "../testing/grammar-texts";
import { seededRandom } from "../testing/random";
import { regexExpression } from "./regex";

const grammarOf = (source: string, flags = "", matches: "all" | "part" = "all") => ({
  root: regexExpression(source, { name: "r", flags, matches }),
  rules: new Map(),
});

const PATTERNS = [
  ...["a", "abc", "a|bc|", "(a|b)*c", "(?:ab){2}", "a{2,3}b?", "a{0}b", "a{2,}", "[a-c]", "[^a-c]", "[a\\-c]", "[-a]"],
  ...["[\\]\\\\]", ".", "\\.", "\\d+", "\\w*", "\\s", "\\S\\D\\W", "[\\d.]+", "\\x61", "\\u0061", "\\u{1f600}", "😀?"],
  ...["\\n", "[\\n\\t]", "\\/", "a*?b", "(?<name>a)b", "^a$", "^(?:a|b)$", "é|[é-ü]", "\\cJ", "[\\b]", "\\0"],
];
const ALPHABET = [..."abc.-]\\ 1_\n\té", "😀", "/", "\u2028", "\b", "\0", "ü", '"'];

test.each(PATTERNS)("/%s/ matches what JavaScript says, and nothing else", (source) => {
  const random = seededRandom(source.length);
  const wanted = new RegExp(`^(?:${source})$`, "u");
  const grammar = grammarOf(source);
  const texts = ["", ...ALPHABET, "aa", "ab", "abab", "aab", "aaab", "bc", "abc", "12"];
  for (let i = 0; i < 60; i++) {
    texts.push(
      Array.from({ length: 1 + random() * 4 }, () => ALPHABET[Math.floor(random() * ALPHABET.length)]).join(""),
    );
  }
  for (const text of texts.filter((one) => !one.includes("\u2028"))) {
    expect([text, isTextOf(grammar, text)]).toEqual([text, wanted.test(text)]);
  }
});

test.each([
  ["a", "xay", true],
  ["^a", "ay", true],
  ["^a", "xa", false],
  ["a$|^b", "bx", true],
  ["a$|^b", "xb", false],
])("/%s/ finds itself in %s: %s", (source, text, found) => {
  expect(new RegExp(source, "u").test(text)).toBe(found);
  expect(isTextOf(grammarOf(source, "", "part"), text)).toBe(found);
});

test("with the flag s a dot is a line's end, too", () => {
  expect(isTextOf(grammarOf("a.b", "s"), "a\nb")).toBe(true);
  expect(isTextOf(grammarOf("a.b"), "a\nb")).toBe(false);
});

test.each([
  ["(?=a)", "looking ahead"],
  ["(?!a)", "looking ahead"],
  ["(?<=a)", "looking behind"],
  ["(a)\\1", "a reference back"],
  ["(?<n>a)\\k<n>", "a reference back"],
  ["\\bword", "a border of a word"],
  ["\\p{L}", "a property of Unicode"],
  ["a^b", "very beginning"],
  ["a$b", "end of an alternative"],
  ["(a", 'a "(" without'],
  ["a)", 'a ")" without'],
  ["a**", "repetition of a repetition"],
  ["*a", "repeats or closes nothing"],
  ["a{3,2}", "a repetition of 3 to 2"],
  ["a{99999}", "not 0 to 10000"],
  ["[b-a]", "in no order"],
  ["[a", "the end"],
  ["\\ud800", "half a character"],
  ["\\q", "means nothing"],
  ["(".repeat(70) + ")".repeat(70), "64 deep"],
])("/%s/ is refused: %s", (source, message) => expect(() => grammarOf(source)).toThrow(message));

test("other flags and long expressions are refused", () => {
  expect(() => grammarOf("a", "i")).toThrow('the flag "i"');
  expect(() => grammarOf("a".repeat(5000))).toThrow("5000 characters; at most 4096");
});
