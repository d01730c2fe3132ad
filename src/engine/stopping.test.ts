import { expect, test } from "vitest";
import { samplingSettings } from "../testing/sampling-settings";
import { endTokensOf, placeOf } from "./stopping";

test.each([
  ["an ordinary token goes on", { id: 5, done: false }, [0], "more"],
  ["an end token is no part of the answer", { id: 0, done: true }, [0], "end"],
  ["any of several end tokens ends it", { id: 7, done: true }, [0, 7], "end"],
  ["an end token at the limit is still an end", { id: 0, done: true }, [0], "end"],
  ["the limit or a full context makes it the last one", { id: 5, done: true }, [0], "last"],
  ["with ignoreEos an end token is a token like others", { id: 0, done: false }, [], "more"],
] as const)("%s", (_, token, endTokenIds, place) => expect(placeOf(token, endTokenIds)).toBe(place));

const asked = { sampling: samplingSettings(), endTokenIds: undefined, stopTokenIds: [], ignoreEos: false };

test.each([
  ["are the model's own", {}, [1, 2]],
  ["are none with ignoreEos", { ignoreEos: true }, []],
  ["are others where the caller says so", { endTokenIds: [5] }, [5]],
  ["may be said to be none", { endTokenIds: [] }, []],
  ["come with the caller's stops, once each", { stopTokenIds: [2, 7] }, [1, 2, 7]],
  ["are the caller's stops alone with ignoreEos", { stopTokenIds: [7], ignoreEos: true }, [7]],
])("end tokens %s", (_, changes, expected) =>
  expect(endTokensOf({ ...asked, ...changes }, [1, 2], 100)).toEqual(expected),
);

test("33 end tokens are refused, 32 are not", () => {
  const ids = (length: number) => ({ ...asked, stopTokenIds: Array.from({ length }, (_, i) => i + 10) });
  expect(endTokensOf(ids(30), [1, 2], 100)).toHaveLength(32);
  expect(() => endTokensOf(ids(31), [1, 2], 100)).toThrow(
    expect.objectContaining({ code: "option-invalid", message: expect.stringMatching(/33 end tokens; 32/) }),
  );
});
