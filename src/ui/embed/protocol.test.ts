import { describe, expect, test } from "vitest";
import { allowedOrigins, readPageMessage } from "./protocol";

describe("origins", () => {
  test("are those that the address names, or the frame's own", () => {
    expect([...allowedOrigins("?prompt=x", "https://own.example")]).toEqual(["https://own.example"]);
    expect([
      ...allowedOrigins("?origin=https://a.example&origin=http://b.example:8080", "https://own.example"),
    ]).toEqual(["https://a.example", "http://b.example:8080"]);
  });

  test.each(["*", "", "null", "https://a.example/", "https://a.example/path", "a.example", "HTTPS://A.example"])(
    "are exact: %j is none",
    (origin) =>
      expect(() => allowedOrigins(`?origin=${encodeURIComponent(origin)}`, "https://own")).toThrow(RangeError),
  );
});

describe("a message", () => {
  test.each([["connect"], ["load"], ["continue"], ["stop"], ["reset"]])("%s is understood", (type) =>
    expect(readPageMessage({ wordloom: 1, type })).toEqual({ type }),
  );

  test("generate may have a prompt and options", () => {
    const options = { maxNewTokens: 5, stopStrings: ["END"] };
    expect(readPageMessage({ wordloom: 1, type: "generate", prompt: "Once", options })).toEqual({
      ...{ type: "generate", prompt: "Once", options },
    });
    expect(readPageMessage({ wordloom: 1, type: "generate" })).toEqual({ type: "generate", options: {} });
  });

  test.each([[undefined], [null], ["generate"], [{ type: "generate" }], [[1]]])("of others, %j, is none", (data) =>
    expect(readPageMessage(data)).toBeUndefined(),
  );

  test.each([
    [{ wordloom: 2, type: "load" }, /version 2/],
    [{ wordloom: 1, type: "eval" }, /"eval"/],
    [{ wordloom: 1 }, /undefined/],
    [{ wordloom: 1, type: "load", model: "https://evil.example/m" }, /model/],
    [{ wordloom: 1, type: "stop", prompt: "x" }, /stop/],
    [{ wordloom: 1, type: "generate", prompt: 5 }, /prompt/],
    [{ wordloom: 1, type: "generate", options: "x" }, /options/],
    [{ wordloom: 1, type: "generate", options: { endpoint: "https://evil.example" } }, /endpoint/],
    [{ wordloom: 1, type: "generate", options: { toString: 1 } }, /toString/],
    [{ wordloom: 1, type: "generate", options: { topK: "3" } }, /topK/],
    [{ wordloom: 1, type: "generate", options: { stopStrings: "END" } }, /stopStrings/],
    [{ wordloom: 1, type: "generate", apiKey: "x" }, /apiKey/],
  ])("%j is refused in words", (data, words) => expect(readPageMessage(data)).toMatch(words));
});
