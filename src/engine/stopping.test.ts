import { expect, test } from "vitest";
import { placeOf } from "./stopping";

test.each([
  ["an ordinary token goes on", { id: 5, done: false }, [0], "more"],
  ["an end token is no part of the answer", { id: 0, done: true }, [0], "end"],
  ["any of several end tokens ends it", { id: 7, done: true }, [0, 7], "end"],
  ["an end token at the limit is still an end", { id: 0, done: true }, [0], "end"],
  ["the limit or a full context makes it the last one", { id: 5, done: true }, [0], "last"],
  ["with ignoreEos an end token is a token like others", { id: 0, done: false }, [], "more"],
] as const)("%s", (_, token, endTokenIds, place) => expect(placeOf(token, endTokenIds)).toBe(place));
