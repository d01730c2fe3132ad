import { describe, expect, test } from "vitest";
import { WordloomError } from "../errors";
import { ggmlQ4RoundTrip } from "../testing/ggml-q4";
import { f16ToNumber, numberToF16 } from "./floats";
import { packRows, packedBytes, rowLayout, unpackRows } from "./quantization";

/** Normally distributed values; the same for the same seed. */
function normals(count: number, seed: number): Float32Array {
  let state = seed >>> 0;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return Float32Array.from({ length: count }, () => {
    return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  });
}

const squaredError = (a: Float32Array, b: Float32Array) =>
  a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0);

const roundTrip = (dtype: "f32" | "f16" | "q8" | "q4", values: Float32Array, rows: number, columns: number) =>
  unpackRows(dtype, packRows(dtype, values, rows, columns), rows, columns);

describe("layouts", () => {
  test.each([
    ["f32", 5, { paddedColumns: 8, wordsPerRow: 8, scaleWordsPerRow: 0 }],
    ["f16", 5, { paddedColumns: 8, wordsPerRow: 4, scaleWordsPerRow: 0 }],
    ["q8", 32, { paddedColumns: 32, wordsPerRow: 8, scaleWordsPerRow: 1 }],
    ["q8", 33, { paddedColumns: 64, wordsPerRow: 16, scaleWordsPerRow: 1 }],
    ["q8", 65, { paddedColumns: 96, wordsPerRow: 24, scaleWordsPerRow: 2 }],
    ["q4", 172, { paddedColumns: 192, wordsPerRow: 24, scaleWordsPerRow: 3 }],
  ] as const)("%s rows of %i columns", (dtype, columns, layout) => {
    expect(rowLayout(dtype, columns)).toEqual(layout);
    expect(packedBytes(dtype, 3, columns)).toBe(12 * (layout.wordsPerRow + layout.scaleWordsPerRow));
  });

  test("q8 holds four signed bytes a word, the first lowest", () => {
    const values = new Float32Array(34);
    values.set([127, -127, 3, -1, 64], 0);
    values.set([-254, 2], 32);
    const { quants, scales } = packRows("q8", values, 1, 34);
    expect([...quants.subarray(0, 2)]).toEqual([0xff03817f, 64]);
    expect(quants[8]).toBe(0x00000181);
    expect([...(scales ?? [])]).toEqual([numberToF16(1) | (numberToF16(2) << 16)]);
  });

  test("q4 holds weights j and j + 4 of each eight in the nibbles of byte j", () => {
    // -8 with scale 1; every other value is then exact
    const values = Float32Array.from({ length: 32 }, (_, i) => (i % 16) - 8);
    const { quants, scales } = packRows("q4", values, 1, 32);
    expect([...quants]).toEqual([0x73625140, 0xfbead9c8, 0x73625140, 0xfbead9c8]);
    expect([...(scales ?? [])]).toEqual([numberToF16(1)]);
  });

  test("f16 holds two a word and pads with zeros", () => {
    const { quants, scales } = packRows("f16", Float32Array.of(1, -2, 0.5, 1, -2, 0.5), 2, 3);
    expect([...quants]).toEqual([0xc0003c00, 0x3800, 0xc0003c00, 0x3800]);
    expect(scales).toBeUndefined();
  });

  test("padding stands for zeros in every dtype", () => {
    for (const dtype of ["f32", "f16", "q8", "q4"] as const) {
      const { paddedColumns } = rowLayout(dtype, 37);
      const packed = packRows(dtype, normals(3 * 37, 1), 3, 37);
      const padded = unpackRows(dtype, packed, 3, paddedColumns);
      for (let row = 0; row < 3; row++) {
        const padding = padded.subarray(row * paddedColumns + 37, (row + 1) * paddedColumns);
        expect(padding.length).toBe(paddedColumns - 37);
        padding.forEach((value) => expect(Math.abs(value)).toBe(0));
      }
    }
  });
});

describe("round trips", () => {
  test.each([1, 3, 31, 32, 33, 64, 65, 172, 576])("f32 is exact and f16 nearest for rows of %i", (columns) => {
    const values = normals(3 * columns, columns);
    expect(roundTrip("f32", values, 3, columns)).toEqual(values);
    expect(roundTrip("f16", values, 3, columns)).toEqual(values.map((value) => f16ToNumber(numberToF16(value))));
  });

  test.each([1, 3, 31, 32, 33, 64, 65, 172, 576])("q8 is off by at most half a step for rows of %i", (columns) => {
    const values = normals(3 * columns, columns);
    const back = roundTrip("q8", values, 3, columns);
    for (let row = 0; row < 3; row++) {
      for (let first = 0; first < columns; first += 32) {
        const at = row * columns + first;
        const group = values.subarray(at, row * columns + Math.min(columns, first + 32));
        const largest = group.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        // 2^-11: rounding of the scale, on the largest weight up to 127 times
        const allowed = (largest / 127) * (0.5 + 127 * 2 ** -11);
        group.forEach((value, i) => expect(Math.abs(value - (back[at + i] as number))).toBeLessThanOrEqual(allowed));
      }
    }
  });

  test("what is a whole number of steps comes back exactly", () => {
    const q8 = Float32Array.from({ length: 255 }, (_, i) => (i - 127) / 8);
    // groups without ±127 find another scale, so each group gets one
    const groups = Float32Array.from({ length: 32 * 9 }, (_, i) => (i % 32 === 0 ? 127 / 8 : (q8[i % 255] as number)));
    expect(roundTrip("q8", groups, 1, groups.length)).toEqual(groups);
    const q4 = Float32Array.from({ length: 64 }, (_, i) => (i < 32 ? 0.25 : -3) * ((i % 16) - 8));
    expect(roundTrip("q4", q4, 1, 64)).toEqual(q4);
  });

  test.each([
    ["normal weights", normals(32 * 4000, 7)],
    ["weights with outliers", normals(32 * 4000, 8).map((value, i) => (i % 57 === 0 ? 6 * value : value))],
    ["tiny weights", normals(32 * 4000, 9).map((value) => value * 1e-3)],
  ])("q4 is closer than llama.cpp's Q4_0 on %s, and in no group farther", (_, values) => {
    const ours = roundTrip("q4", values, 1, values.length);
    const ggml = ggmlQ4RoundTrip(values);
    expect(squaredError(ours, values)).toBeLessThan(0.95 * squaredError(ggml, values));
    let farther = 0;
    for (let at = 0; at < values.length; at += 32) {
      const group = values.subarray(at, at + 32);
      const [a, b] = [ours, ggml].map((all) => squaredError(all.subarray(at, at + 32), group)) as [number, number];
      if (a > b * 1.01) farther++; // the f16 rounding of two different scales may differ by a little
    }
    expect(farther).toBe(0);
  });

  test("q4 keeps groups of one sign, of two values, and of one weight", () => {
    const constant = new Float32Array(32).fill(-0.3);
    roundTrip("q4", constant, 1, 32).forEach((value) => expect(value).toBeCloseTo(-0.3, 3));
    const twoValues = Float32Array.from({ length: 32 }, (_, i) => (i % 2 ? 1 : -1));
    roundTrip("q4", twoValues, 1, 32).forEach((value, i) => expect(value).toBeCloseTo(i % 2 ? 1 : -1, 3));
    expect(roundTrip("q4", Float32Array.of(0.7), 1, 1)[0]).toBeCloseTo(0.7, 3);
  });

  test("zeros, minus zero and weights below the smallest scale give zeros, never NaN", () => {
    for (const dtype of ["q8", "q4"] as const) {
      const values = new Float32Array(96);
      values.fill(-0, 32, 64).fill(1e-12, 64);
      roundTrip(dtype, values, 1, 96).forEach((value) => expect(Math.abs(value)).toBe(0));
    }
  });

  test.each([
    ["q8", 65504 * 127],
    ["q4", 65504 * 7],
    ["f16", 65504],
  ] as const)("%s holds weights up to %f and refuses larger ones", (dtype, largest) => {
    const values = new Float32Array(64).fill(1);
    values[40] = -largest;
    expect((roundTrip(dtype, values, 1, 64)[40] as number) / -largest).toBeCloseTo(1, 3);
    values[40] = largest * 1.001;
    expect(() => packRows(dtype, values, 1, 64)).toThrowError(
      expect.objectContaining({ code: "option-invalid", message: expect.stringContaining("column 40") as string }),
    );
  });

  test.each([NaN, Infinity, -Infinity])("%f is refused in every dtype, with its place", (bad) => {
    for (const dtype of ["f32", "f16", "q8", "q4"] as const) {
      const values = new Float32Array(3 * 40).fill(1);
      values[2 * 40 + 33] = bad;
      let caught: unknown;
      try {
        packRows(dtype, values, 3, 40);
      } catch (error) {
        caught = error;
      }
      expect(caught).toBeInstanceOf(WordloomError);
      expect(caught).toMatchObject({ code: "file-invalid", message: expect.stringContaining("row 2, column 33") });
    }
  });

  test("buffers given for reuse are written over, and nothing of the earlier rows stays", () => {
    const first = packRows("q4", normals(4 * 70, 3), 4, 70);
    const again = packRows("q4", normals(2 * 33, 4), 2, 33, first);
    const fresh = packRows("q4", normals(2 * 33, 4), 2, 33);
    expect(again.quants.buffer).toBe(first.quants.buffer);
    expect(again.quants).toEqual(fresh.quants);
    expect(again.scales).toEqual(fresh.scales);
    expect(packRows("q4", normals(8 * 70, 3), 8, 70, again).quants.buffer).not.toBe(first.quants.buffer);
  });
});
