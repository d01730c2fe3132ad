import { expect, test } from "vitest";
import { tagInput, type ModelInput } from "./model-input";

test.each<[string, ModelInput, object]>([
  ["a string is text", "Once", { kind: "text", text: "Once" }],
  ["an empty string is text", "", { kind: "text", text: "" }],
  ["numbers are ids", [0, 31], { kind: "ids", ids: Uint32Array.of(0, 31) }],
  ["a Uint32Array is ids", Uint32Array.of(5), { kind: "ids", ids: Uint32Array.of(5) }],
  [
    "messages are a chat",
    [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
    { kind: "chat", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] },
  ],
])("%s", (_, input, tagged) => expect(tagInput(input, 32)).toEqual(tagged));

test("ids are a copy, which the caller cannot change later", () => {
  const ids = Uint32Array.of(1, 2);
  const tagged = tagInput(ids, 32);
  ids[0] = 9;
  expect(tagged).toEqual({ kind: "ids", ids: Uint32Array.of(1, 2) });
});

test.each<[string, unknown, string]>([
  ["an id at the vocabulary's size", [3, 32], "32 (number 1)"],
  ["a negative id", [-1], "-1 (number 0)"],
  ["half an id", [1.5], "1.5"],
  ["an id out of a Uint32Array", Uint32Array.of(32), "32"],
  ["an empty list", [], "empty"],
  ["an empty Uint32Array", new Uint32Array(0), "no token ids"],
  ["nothing", undefined, "undefined"],
  ["a number", 5, "number"],
  ["numbers and strings mixed", [1, "2"], "neither"],
  ["a message without content", [{ role: "user" }], "neither"],
])("%s is refused", (_, input, says) => {
  const refusal = expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(says) });
  expect(() => tagInput(input as ModelInput, 32)).toThrow(refusal);
});
