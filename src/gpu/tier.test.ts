import { expect, test } from "vitest";
import { makeTier, REDUCTIONS, tierDefines, tierNamed } from "./tier";

test("a tier's name says it, and names it again", () => {
  for (const reduction of REDUCTIONS) {
    for (const f16 of [false, true]) {
      const tier = makeTier(reduction, f16);
      expect(tier).toMatchObject({ name: f16 ? `${reduction}+f16` : reduction, reduction, f16 });
      expect(tierNamed(tier.name)).toEqual(tier);
    }
  }
});

test.each(["", "f16", "cpu+", "cpu+f32", "cpu+f16+f16", "Cpu", "gpu", "+f16"])('"%s" is no tier', (name) => {
  expect(tierNamed(name)).toBeUndefined();
});

test("sizes are what the kernels need", () => {
  for (const reduction of REDUCTIONS) {
    const tier = makeTier(reduction, false);
    expect(tier.gemvRows % 4, "gemv works in blocks of 4 rows").toBe(0);
    if (reduction === "cpu")
      expect(tier.gemvRows % (4 * tier.workgroupSize), "each of a quad has as many blocks").toBe(0);
    expect(Math.log2(tier.workgroupSize) % 1, "lib/reduce_workgroup halves").toBe(0);
    expect(32 % tier.samplerRadixBits, "the search goes through 32 bits").toBe(0);
    expect(Math.max(tier.workgroupSize, tier.samplerSize), "what every WebGPU allows").toBeLessThanOrEqual(256);
  }
});

test("quads are for CPUs that have subgroups", () => {
  const quads = REDUCTIONS.map((reduction) => [
    makeTier(reduction, false, true).quads,
    makeTier(reduction, true).quads,
  ]);
  expect(quads).toEqual(REDUCTIONS.map((reduction) => [reduction === "cpu", false]));
});

test("defines choose the includes", () => {
  expect(tierDefines(makeTier("cpu", false))).toEqual({ REDUCE: "cpu", HALF: "packed", F16: false });
  expect(tierDefines(makeTier("subgroups", true))).toEqual({ REDUCE: "subgroups", HALF: "native", F16: true });
});
