import { describe, expect, test } from "vitest";
import { at } from "../testing/at";
import { expectClose } from "../testing/compare";
import { inverseFrequencies, ropeTable } from "./rope-frequencies";

test("frequencies fall from 1 towards 1 / theta", () => {
  expectClose(inverseFrequencies(10000, 8, undefined), [1, 0.1, 0.01, 0.001], { relative: 1e-15 });
  expect(inverseFrequencies(10000, 128, undefined).length).toBe(64);
});

test("linear scaling divides all of them", () => {
  expectClose(inverseFrequencies(10000, 4, { type: "linear", factor: 4 }), [0.25, 0.0025], { relative: 1e-15 });
});

describe("llama3 scaling", () => {
  const scaling = {
    type: "llama3",
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalContextLength: 8192,
  } as const;
  const plain = inverseFrequencies(500000, 64, undefined);
  const scaled = inverseFrequencies(500000, 64, scaling);
  const turns = plain.map((frequency) => (8192 * frequency) / (2 * Math.PI));

  test("keeps what turns 4 times or more in the original context", () => {
    const kept = plain.filter((_, i) => at(turns, i) > 4);
    expect(scaled.slice(0, kept.length)).toEqual(kept);
    expect(kept.length).toBeGreaterThan(10);
  });

  test("divides by the factor what does not turn once", () => {
    const first = turns.findIndex((turn) => turn < 1);
    expectClose(
      scaled.slice(first),
      plain.slice(first).map((frequency) => frequency / 8),
      { relative: 1e-15 },
    );
    expect(first).toBeLessThan(28);
  });

  test("blends between, evenly in turns", () => {
    const between = plain.flatMap((frequency, i) => (at(turns, i) >= 1 && at(turns, i) <= 4 ? [{ frequency, i }] : []));
    expect(between.length).toBeGreaterThan(1);
    for (const { frequency, i } of between) {
      const blend = (at(turns, i) - 1) / 3;
      expectClose([at(scaled, i)], [frequency * (blend + (1 - blend) / 8)], { relative: 1e-14 });
    }
  });
});

describe("ropeTable", () => {
  const rope = { inverseFrequencies: [1, 0.01], pairing: "half-split" as const };

  test("is [positions, pairs], rounded once from float64", () => {
    const { cos, sin } = ropeTable(rope, 4097);
    expect(cos.length).toBe(2 * 4097);
    for (const position of [0, 1, 4095, 4096]) {
      expect(cos[position * 2]).toBe(Math.fround(Math.cos(position)));
      expect(sin[position * 2 + 1]).toBe(Math.fround(Math.sin(position * 0.01)));
    }
  });
});
