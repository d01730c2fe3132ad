import { describe, expect, test } from "vitest";
import { allFiniteF16, decodeFloats, f16ToNumber, firstNonFinite, numberToF16 } from "./floats";

/** The definition, in float64: sign · mantissa · 2^exponent. */
function definedF16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const mantissa = half & 1023;
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1024 + mantissa) * 2 ** (exponent - 25);
}

describe("half floats", () => {
  test("all 65536 patterns have the value of their definition, and come back from it", () => {
    const wrong: string[] = [];
    for (let half = 0; half < 65536; half++) {
      const value = f16ToNumber(half);
      if (!Object.is(value, definedF16(half))) wrong.push(`${half} gives ${value}`);
      const back = numberToF16(value);
      const expected = Number.isNaN(value) ? 0x7e00 : half;
      if (!Number.isNaN(value) && back !== expected) wrong.push(`${value} gives ${back}, not ${expected}`);
      if (Number.isNaN(value) && (back & 0x7fff) !== 0x7e00) wrong.push(`NaN gives ${back}`);
    }
    expect(wrong).toEqual([]);
  });

  test("a value between two half floats goes to the nearer one, and from the middle to the even one", () => {
    const wrong: string[] = [];
    for (let half = 0; half < 0x7bff; half++) {
      const [low, high] = [definedF16(half), definedF16(half + 1)];
      const middle = (low + high) / 2; // exact in f32
      const even = half % 2 === 0 ? half : half + 1;
      const step = (high - low) / 64; // exact in f32, and so are middle ± step
      for (const [value, expected] of [
        [middle, even],
        [middle - step, half],
        [middle + step, half + 1],
      ] as const) {
        if (numberToF16(value) !== expected) wrong.push(`${value}: ${numberToF16(value)}, not ${expected}`);
        if (numberToF16(-value) !== (expected | 0x8000)) wrong.push(`-${value}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ["65519.996 is still the largest finite one", 65519.99609375, 0x7bff],
    ["65520 is infinite", 65520, 0x7c00],
    ["the largest f32 is infinite", 3.4028234663852886e38, 0x7c00],
    ["minus infinity stays", -Infinity, 0xfc00],
    ["2^-25 is zero", 2 ** -25, 0],
    ["a little over 2^-25 is the smallest one", 2 ** -25 * (1 + 2 ** -20), 1],
    ["minus zero keeps its sign", -0, 0x8000],
    ["the smallest f32 is zero", 1.401298464324817e-45, 0],
  ])("%s", (_, value, half) => expect(numberToF16(value)).toBe(half));
});

describe("decoding", () => {
  const pattern = Uint8Array.from({ length: 4 * 65536 }, (_, i) => (i * 167 + (i >> 8) * 31) & 255);

  test.each([0, 1, 2, 3])("an array that starts %i bytes off a word decodes as DataView reads it", (offset) => {
    const bytes = pattern.subarray(offset, offset + 4096);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const target = new Float32Array(2048);

    decodeFloats("F32", bytes, target, 1024);
    expect([...target.subarray(0, 1024)]).toEqual(Array.from({ length: 1024 }, (_, i) => view.getFloat32(4 * i, true)));

    decodeFloats("F16", bytes, target, 2048);
    expect([...target]).toEqual(Array.from({ length: 2048 }, (_, i) => definedF16(view.getUint16(2 * i, true))));

    decodeFloats("BF16", bytes, target, 2048);
    const word = new DataView(new ArrayBuffer(4));
    const expected = Array.from({ length: 2048 }, (_, i) => {
      word.setUint16(2, view.getUint16(2 * i, true), true);
      return word.getFloat32(0, true);
    });
    expect([...target]).toEqual(expected);
  });

  test("too few bytes or too small a target is refused", () => {
    expect(() => decodeFloats("F16", new Uint8Array(3), new Float32Array(2), 2)).toThrow(RangeError);
    expect(() => decodeFloats("F16", new Uint8Array(4), new Float32Array(1), 2)).toThrow(RangeError);
  });

  test("NaN and infinities are found, the largest finite values are not", () => {
    expect(firstNonFinite(Float32Array.of(3.4e38, 3.4e38, -3.4e38, 0))).toBe(-1);
    expect(firstNonFinite(Float32Array.of(1, 2, -Infinity, NaN))).toBe(2);
    expect(firstNonFinite(Float32Array.of(1, 2, NaN), 2)).toBe(-1);
  });
});

test("half floats that are not finite are found at every place, whatever stands beside them, and no others", () => {
  for (const offset of [0, 1]) {
    for (let length = 0; length < 8; length++) {
      const halves = new Uint16Array(8).fill(0xfbff).subarray(offset, offset + Math.min(length, 8 - offset));
      const bytes = new Uint8Array(halves.buffer, halves.byteOffset, halves.byteLength);
      expect(allFiniteF16(bytes, halves.length)).toBe(true);
      for (const bad of [0x7c00, 0xfc00, 0x7e01, 0xffff]) {
        for (let i = 0; i < halves.length; i++) {
          halves[i] = bad;
          expect(allFiniteF16(bytes, halves.length), `${bad} at ${offset + i}`).toBe(false);
          halves[i] = 0xfbff;
        }
      }
    }
  }
  const all = Uint16Array.from({ length: 65536 }, (_, half) => half).filter((half) => (half & 0x7c00) !== 0x7c00);
  expect(allFiniteF16(new Uint8Array(all.buffer), all.length)).toBe(true);
});
