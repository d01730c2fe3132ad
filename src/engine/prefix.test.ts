import { expect, test } from "vitest";
import { prefillChunks, reusablePrefix, tokensInCache } from "./prefix";

const ids = (...values: number[]) => Uint32Array.from(values);

test.each([
  ["an empty cache gives nothing", ids(), ids(1, 2, 3), true, 0],
  ["a prompt that goes on from the cache keeps all of it", ids(1, 2, 3), ids(1, 2, 3, 4, 5), true, 3],
  ["the same prompt again runs its last token", ids(1, 2, 3), ids(1, 2, 3), true, 2],
  ["a shorter prompt runs its last token, too", ids(1, 2, 3, 4), ids(1, 2), true, 1],
  ["what differs ends the prefix", ids(1, 2, 9, 4), ids(1, 2, 3, 4), true, 2],
  ["another beginning gives nothing", ids(9, 2, 3), ids(1, 2, 3), true, 0],
  ["a prompt of one token is always run", ids(1), ids(1), true, 0],
  ["reusePrefix false starts anew", ids(1, 2, 3), ids(1, 2, 3, 4), false, 0],
])("%s", (_, cached, prompt, reusePrefix, length) => expect(reusablePrefix(cached, prompt, reusePrefix)).toBe(length));

test.each([
  ["without a sampled token only the prompt is there", 2, [], 0, [10, 11]],
  ["the last sampled token has not been through the model", 3, [20, 21, 22], 3, [10, 11, 12, 20, 21]],
  ["a stop string's tokens leave", 3, [20, 21, 22, 23], 1, [10, 11, 12, 20]],
  ["a stop string in the first token leaves nothing of the answer", 3, [20], 0, [10, 11, 12]],
])("%s", (_, filled, sampled, kept, expected) =>
  expect([...tokensInCache(ids(10, 11, 12), filled, sampled, kept)]).toEqual(expected),
);

test.each([
  ["a short prompt is one chunk", 0, 5, 8, [[0, 5]]],
  ["exactly one chunk is one chunk", 0, 8, 8, [[0, 8]]],
  ["one more token is a second chunk", 0, 9, 8, [[0, 8], [8, 9]]], // prettier-ignore
  ["what is cached is not run again", 6, 15, 8, [[6, 14], [14, 15]]], // prettier-ignore
])("%s", (_, start, end, chunk, expected) =>
  expect(prefillChunks(start, end, chunk)).toEqual(expected.map(([from, to]) => ({ start: from, end: to }))),
);
