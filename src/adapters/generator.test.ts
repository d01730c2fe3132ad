import { expect, test } from "vitest";
import type { AnyTextGenerator, TextGenerator } from "../api/text-generator";
import type { RemoteInfo } from "../remote/remote-types";
import { LazyGenerator, partsOf, type AdaptedGenerator } from "./generator";

test("every TextGenerator is one that the adapters take, also one on a server", () => {
  // The compiler is the judge.
  const here = (generator: TextGenerator): AdaptedGenerator => generator;
  const there = (generator: TextGenerator<RemoteInfo>): AdaptedGenerator => generator;
  const either = (generator: AnyTextGenerator): AdaptedGenerator => generator;
  expect([here, there, either]).toHaveLength(3);
});

test("what a server tells apart itself is taken as its parts", () => {
  expect(partsOf({ text: "Yes", reasoning: "Hm", tokens: [] })).toEqual([
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Yes" },
  ]);
  expect(partsOf({ text: "", tokens: [] })).toEqual([]);
  expect(partsOf({ text: "<think>", tokens: [], parts: [] })).toEqual([]);
});

test("a generator is loaded once, and after a failure again", async () => {
  let count = 0;
  const generator = {} as AdaptedGenerator; // nothing of it is used
  const lazy = new LazyGenerator(() => {
    if (count++ === 0) throw new Error("no network");
    return generator;
  });
  await expect(lazy.get()).rejects.toThrow("no network");
  expect(await lazy.get()).toBe(generator);
  expect(await lazy.get()).toBe(generator);
  expect(count).toBe(2);
});
