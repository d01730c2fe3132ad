import { describe, expect, test } from "vitest";
import { packedBytes, type HeldDtype } from "../../formats/quantization";
import type { FusedMatrix } from "./fuse";
import { publishedFormats } from "./held-formats";

const matrix = (names: string, gated = false): FusedMatrix => ({
  weights: names.split(" ").map((name) => ({ name, rows: 64 })),
  columns: 256,
  gated,
});
const published = (matrices: FusedMatrix[], formats: Record<string, HeldDtype>) =>
  publishedFormats(matrices, new Map(Object.entries(formats)));
const bytesOf = (...formats: HeldDtype[]) => formats.reduce((sum, format) => sum + packedBytes(format, 64, 256), 0);

describe("each matrix as its file has it", () => {
  test("also within one product; bytes are those of each", () => {
    const all = published([matrix("q k v"), matrix("down")], { q: "q4_k", k: "q4_k", v: "q6_k", down: "q4_k" });
    expect(all).toMatchObject({
      dtype: "q4_k",
      formats: ["q4_k", "q6_k"],
      bytes: bytesOf("q4_k", "q4_k", "q6_k", "q4_k"),
    });
    expect(["q", "v"].map((name) => all?.formatOf(name))).toEqual(["q4_k", "q6_k"]);
    // 256 weights: 144 bytes as published; 210 and two of padding.
    expect(bytesOf("q4_k")).toBe(64 * 144);
    expect(bytesOf("q5_k")).toBe(64 * 176);
    expect(bytesOf("q6_k")).toBe(64 * 212);
  });

  test("but a gate and its up of two types, which become q8", () => {
    const all = published([matrix("gate up", true), matrix("a b c")], {
      ...{ gate: "q4_k", up: "q5_k", a: "q4_k", b: "q4_k", c: "q4_k" },
    });
    expect(["gate", "up", "a"].map((name) => all?.formatOf(name))).toEqual(["q8", "q8", "q4_k"]);
  });

  test("what has another type becomes q8, or q4 where most are that", () => {
    expect(published([matrix("a b c")], { a: "q4_k", b: "q4_k" })?.formatOf("c")).toBe("q8");
    expect(published([matrix("a b c")], { a: "q4", b: "q4" })?.formatOf("c")).toBe("q4");
    expect(published([matrix("a b c")], { a: "q4", b: "q4", c: "f16" })?.formatOf("c")).toBe("q4");
    expect(published([matrix("a b c")], { a: "q4", b: "q4", c: "q6_k" })?.formatOf("c")).toBe("q6_k");
  });

  test("a tied matrix counts once", () => {
    const all = published([matrix("table"), matrix("table"), matrix("a b c")], {
      table: "q6_k",
      a: "q4",
      b: "q4",
      c: "q4",
    });
    expect(all).toMatchObject({ dtype: "q4", bytes: bytesOf("q6_k", "q4", "q4", "q4") });
  });

  test.each<[string, Record<string, HeldDtype>]>([
    ["of floats", { a: "f16", b: "f16", c: "q8" }],
    ["of no format here", { a: "q8" }],
    ["of a file that says nothing", {}],
  ])("not where most are %s", (_, formats) => {
    expect(published([matrix("a b c")], formats)).toBeUndefined();
  });
});
