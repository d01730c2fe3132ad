import { expect, test } from "vitest";
import { withKnownIds } from "./known-ids";

/** "ab" is one id beside those of its letters; a capital is a special token, and "." one without bytes. */
const TEXTS = ["", "a", "b", "ab", "c", "bc", "abc"];
const [A, B, AB, C, BC, ABC, SPECIAL, NOTHING] = [1, 2, 3, 4, 5, 6, 10, 11];
const spell = (id: number) => (id === SPECIAL ? undefined : new TextEncoder().encode(TEXTS[id] ?? ""));
const spliced = (fresh: number[], known: number[]) => [
  ...withKnownIds(Uint32Array.from(fresh), Uint32Array.from(known), spell),
];

test("the ids of an answer stay as they were sampled where its text is there again", () => {
  expect(spliced([SPECIAL, AB, SPECIAL, C], [SPECIAL, A, B])).toEqual([SPECIAL, A, B, SPECIAL, C]);
  expect(spliced([A, B, C, SPECIAL], [ABC])).toEqual([ABC, SPECIAL]);
  expect(spliced([AB, C, SPECIAL], [A, BC])).toEqual([A, BC, SPECIAL]);
});

test("a border that only one of them has is none", () => {
  expect(spliced([ABC, SPECIAL], [A, B])).toEqual([ABC, SPECIAL]);
  expect(spliced([C, AB, C], [C, A])).toEqual([C, AB, C]);
  expect(spliced([A, BC, C], [AB, C, B])).toEqual([AB, C, C]);
});

test("where the text is another one, it is the tokenizer's from the last common border on", () => {
  expect(spliced([AB, SPECIAL, C, C], [A, B, SPECIAL, C, B])).toEqual([A, B, SPECIAL, C, C]);
  expect(spliced([C, B], [B, C])).toEqual([C, B]);
});

test("a special token is like no text, and what has no bytes is like nothing else", () => {
  expect(spliced([AB, C], [A, B, SPECIAL])).toEqual([A, B, C]);
  expect(spliced([SPECIAL, C], [A, C])).toEqual([SPECIAL, C]);
  expect(spliced([NOTHING, AB], [NOTHING, A, B])).toEqual([NOTHING, A, B]);
  expect(spliced([AB], [NOTHING, A, B])).toEqual([AB]);
});

test("an empty one, and one that is longer, change nothing of the text", () => {
  expect(spliced([AB], [])).toEqual([AB]);
  expect(spliced([], [A])).toEqual([]);
  expect(spliced([AB], [A, B, C, C])).toEqual([A, B]);
});
