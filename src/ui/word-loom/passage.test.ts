import { describe, expect, test } from "vitest";
import type { GeneratedToken } from "../generator";
import { Passage } from "./passage";
import { tokenAt } from "./token-at";
import type { SavedToken } from "./written-token";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const token = (id: number, text: string): GeneratedToken => ({ id, text, bytes: bytesOf(text), logprob: -id });

/** Three tokens, the second of which holds but the first bytes of a character. */
function passage(): Passage {
  const made = new Passage();
  made.add("ab", [{ ...token(1, "ab"), rank: 2, entropy: 0.5, top: [{ id: 9, text: "x", logprob: -0.1 }] }], 7);
  made.add("é!", [{ ...token(2, ""), bytes: Uint8Array.of(0xc3) }, { ...token(3, "é!") }], 11);
  return made;
}

describe("the tokens of a text", () => {
  test("tell where each stands; one whose character a later one completes stands nowhere", () => {
    const { tokens, text } = passage();
    expect(text).toBe("abé!");
    expect(tokens.map(({ id, start, end }) => [id, start, end])).toEqual([
      [1, 0, 2],
      [2, 2, 2],
      [3, 2, 4],
    ]);
    expect(tokens.map((one) => one.text)).toEqual(["ab", "", "é!"]);
    expect(tokens[1]?.bytes).toEqual(Uint8Array.of(0xc3));
  });

  test("keep what was told of them, and nothing else", () => {
    const [first, second] = passage().tokens;
    expect(first).toMatchObject({ logprob: -1, rank: 2, entropy: 0.5, elapsedMs: 7 });
    expect(first?.top).toEqual([{ id: 9, text: "x", logprob: -0.1 }]);
    expect(second).toMatchObject({ rank: undefined, entropy: undefined, top: undefined, elapsedMs: 11 });
  });

  test("of one chunk share its time: the first took all of it", () => {
    expect(passage().tokens.map(({ elapsedMs }) => elapsedMs)).toEqual([7, 11, 0]);
  });

  test("come back from JSON as they were", () => {
    const { text, tokens } = passage();
    const again = new Passage();
    again.addText(text);
    for (const saved of JSON.parse(JSON.stringify(tokens)) as SavedToken[]) again.restore(saved);
    expect(JSON.stringify(again.tokens)).toBe(JSON.stringify(tokens));
  });

  test.each([
    ["begins before the last one ends", { start: 1, end: 3 }],
    ["ends beyond the text", { start: 2, end: 9 }],
    ["ends before it begins", { start: 3, end: 2 }],
    ["stands nowhere", { start: Number.NaN, end: 2 }],
  ])("are refused where one %s", (_, place) => {
    const made = new Passage();
    made.addText("abcd");
    made.restore({ id: 1, bytes: null, logprob: 0, elapsedMs: 0, start: 0, end: 2 });
    expect(() => made.restore({ id: 2, bytes: null, logprob: 0, elapsedMs: 0, ...place })).toThrow(RangeError);
  });

  test("of 20,000, each with ten alternatives, take some 10 MB", () => {
    const made = new Passage();
    const top = Array.from({ length: 10 }, (_, id) => ({ id, text: ` ${id}`, logprob: -id }));
    const before = process.memoryUsage().arrayBuffers;
    for (let id = 0; id < 20_000; id++) made.add(" la", [{ ...token(id, " la"), rank: 1, entropy: 1, top }], 16);
    const after = process.memoryUsage().arrayBuffers;
    expect(made.tokens).toHaveLength(20_000);
    expect(made.tokens[19_999]).toMatchObject({ id: 19_999, start: 59_997, end: 60_000 });
    expect(made.tokens[19_999]?.top).toEqual(top);
    expect(after - before).toBeLessThan(28e6); // half of it the smaller lists that were outgrown, until they are freed
  });
});

describe("the beginning of a text", () => {
  test("is a text of its own with the tokens before the one that goes", () => {
    const whole = passage();
    const kept = whole.keep(1);
    expect([kept.text, kept.tokens.length]).toEqual(["ab", 1]);
    kept.add("cd", [token(4, "cd")], 1);
    expect(kept.tokens[1]).toMatchObject({ start: 2, end: 4, text: "cd" });
    expect([whole.text, whole.tokens.length]).toEqual(["abé!", 3]);
  });

  test("is known by its ids as long as the tokens are all there is of it", () => {
    const made = passage();
    expect([0, 1, 2, 3].map((count) => made.idsOf(count))).toEqual([[], [1], [1, 2], [1, 2, 3]]);
    made.addText("by hand");
    made.add(" x", [token(5, " x")], 1);
    expect(made.idsOf(3)).toBeUndefined(); // a text follows them that no token holds
    expect(made.idsOf(4)).toBeUndefined();
    expect(made.idsOf(2)).toEqual([1, 2]);
  });

  test("is not known by ids where a server told none", () => {
    const made = new Passage();
    made.add("a", [{ id: null, text: "a", bytes: null, logprob: -1 }], 1);
    expect(made.tokens[0]).toMatchObject({ id: null, bytes: null });
    expect(made.idsOf(1)).toBeUndefined();
  });
});

describe("the token at a point", () => {
  const rect = (left: number, top: number, width: number) =>
    ({ left, top, right: left + width, bottom: top + 10 }) as DOMRect;
  const { tokens } = passage();
  const places = new Map([
    [tokens[0], [rect(0, 0, 20), rect(0, 10, 5)]], // broken over two lines
    [tokens[2], [rect(5, 10, 20)]],
  ]);
  const at = (x: number, y: number) => tokenAt(tokens, (one) => places.get(one) ?? [], x, y);

  test.each([
    [10, 5, 0],
    [3, 15, 0],
    [6, 15, 2],
    [25, 15, undefined],
    [30, 5, undefined],
    [6, 25, undefined],
    [6, -1, undefined],
  ])("%i, %i is %s", (x, y, index) => expect(at(x, y)).toBe(index));
});
