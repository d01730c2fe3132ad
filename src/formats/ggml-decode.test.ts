import { describe, expect, test } from "vitest";
import blocks from "../testing/gguf/blocks.json";
import { decodeGgml } from "./ggml-decode";
import { seededRandom } from "../testing/random";
import { allFinite, keepRows, keptAs } from "./ggml-kept";
import { blockSize, DECODED_TYPES, type GgmlType } from "./ggml-types";
import { unpackRows } from "./quantization";

const vectors: Readonly<Record<string, { blocks: string; values: string }>> = blocks;

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function vector(name: string): { bytes: Uint8Array; values: Float32Array } {
  const { blocks, values } = vectors[name] ?? { blocks: "", values: "" };
  return { bytes: bytesOf(blocks), values: new Float32Array(bytesOf(values).buffer) };
}

function decoded(type: GgmlType, bytes: Uint8Array): Float32Array {
  const { elements, bytes: blockBytes } = blockSize(type);
  const count = (bytes.length / blockBytes) * elements;
  const target = new Float32Array(count);
  decodeGgml(type, bytes, target, count);
  return target;
}

describe("blocks are decoded bit for bit as gguf-py decodes them (see testing/gguf/PROVENANCE.md)", () => {
  test.each(DECODED_TYPES.filter((type) => type !== "F32"))("%s", (type) => {
    const { bytes, values } = vector(type);
    expect(values.length).toBeGreaterThan(32);
    // As bits, so that -0 is not 0.
    expect(new Uint32Array(decoded(type, bytes).buffer)).toEqual(new Uint32Array(values.buffer));
  });

  test("F32 is what stands in the file, from any byte on", () => {
    const values = Float32Array.of(1.5, -0, 3e-42);
    const shifted = new Uint8Array(13);
    shifted.set(new Uint8Array(values.buffer), 1);
    expect(decoded("F32", shifted.subarray(1))).toEqual(values);
  });

  test("blocks may begin at any byte, and only as many as asked for are read", () => {
    const { bytes, values } = vector("Q6_K");
    const shifted = new Uint8Array(bytes.length + 1);
    shifted.set(bytes, 1);
    const target = new Float32Array(512).fill(7);
    decodeGgml("Q6_K", shifted.subarray(1), target, 256);
    expect(target.subarray(0, 256)).toEqual(values.subarray(0, 256));
    expect(target.subarray(256).every((value) => value === 7)).toBe(true);
  });

  test("a scale that is not a number gives weights that are none", () => {
    const bytes = new Uint8Array(34).fill(1);
    bytes.set([0x00, 0x7e]);
    expect(decoded("Q8_0", bytes).every(Number.isNaN)).toBe(true);
  });

  test("a part of a block is a fault of the caller", () => {
    expect(() => decodeGgml("Q4_0", new Uint8Array(18), new Float32Array(32), 16)).toThrow(RangeError);
    expect(() => decodeGgml("Q4_0", new Uint8Array(17), new Float32Array(32), 32)).toThrow(RangeError);
  });
});

describe("types on the grid of our own formats are moved over without rounding", () => {
  test.each([
    ["Q8_0", "Q8_0", 1],
    ["Q4_0", "Q4_0", 1],
    ["Q8_0", "Q8_0", 2],
    ["Q4_0", "Q4_0", 2],
    ["Q8_0", "Q8_0 of rows", 3],
    ["Q4_0", "Q4_0 of rows", 3],
    ["Q4_K", "Q4_K", 1],
    ["Q5_K", "Q5_K", 1],
    ["Q6_K", "Q6_K", 1],
  ] as const)("%s, %s in %i rows", (type, name, rows) => {
    const { bytes, values } = vector(name);
    const columns = values.length / rows;
    const held = keptAs(type);
    expect(held).toBeDefined();
    const packed = keepRows(type, bytes, rows, columns);
    // By value, where 0 and -0 are one.
    expect(Array.from(unpackRows(held ?? "f32", packed, rows, columns), (v) => v + 0)).toEqual(
      Array.from(values, (v) => v + 0),
    );
  });

  test.each(["Q4_K", "Q5_K", "Q6_K"] as const)("%s, bit for bit for blocks of any content", (type) => {
    const random = seededRandom(type.length);
    const { bytes: blockBytes } = blockSize(type);
    const bytes = Uint8Array.from({ length: 64 * blockBytes }, () => Math.floor(256 * random()));
    // Finite scales; all else may be anything.
    const halves = type === "Q6_K" ? [208] : [0, 2];
    for (let at = 0; at < bytes.length; at += blockBytes) for (const half of halves) bytes[at + half + 1] = at % 120;
    const packed = keepRows(type, bytes, 16, 1024);
    const values = unpackRows(keptAs(type) ?? "f32", packed, 16, 1024);
    expect(new Uint32Array(values.buffer)).toEqual(new Uint32Array(decoded(type, bytes).buffer));
    expect(allFinite(type, bytes)).toBe(true);
    for (const half of halves) {
      bytes[17 * blockBytes + half + 1] = 0xfc;
      expect(allFinite(type, bytes)).toBe(false);
      bytes[17 * blockBytes + half + 1] = 0x7b;
    }
  });

  test("rows of K types that are no whole blocks are a fault of the caller", () => {
    expect(() => keepRows("Q4_K", new Uint8Array(144), 1, 224)).toThrow(RangeError);
  });

  test("what an earlier call left behind does not show", () => {
    const { bytes, values } = vector("Q4_0 of rows");
    const reuse = keepRows("Q4_0", new Uint8Array(bytes.length * 2).fill(0xff), 6, 64);
    const packed = keepRows("Q4_0", bytes, 3, 64, reuse.reusable);
    expect(packed.quants.buffer).toBe(reuse.quants.buffer);
    expect(Array.from(unpackRows("q4", packed, 3, 64), (v) => v + 0)).toEqual(Array.from(values, (v) => v + 0));
  });

  test("no other type is kept", () => {
    expect(DECODED_TYPES.filter((type) => keptAs(type) !== undefined)).toEqual([
      ...["F32", "F16", "Q4_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K"],
    ]);
  });
});
