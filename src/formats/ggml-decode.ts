/**
 * Blocks of ggml's types → f32, bit for bit what ggml gives: each product below is exact in float64, and is rounded once.
 *
 * d and m are f16 unless said otherwise; a nibble is half a byte, the low one first. Positions are those within a block.
 * Source: ggml, `dequantize_row_*` (ggml-quants.c) and the block structures (ggml-common.h).
 */
import { decodeFloats, f16ToNumber } from "./floats";
import { blockSize, type GgmlType } from "./ggml-types";

/** One block at `at` of `bytes` → its weights from `to` on. */
type DecodeBlock = (bytes: Uint8Array, at: number, y: Float32Array, to: number) => void;

/**
 * @param bytes begins with the first block, at any alignment; holds at least those of `count` weights
 * @param count of weights, whole blocks
 * @param target f32, at least [count]; filled from its start. NaN and infinite scales give NaN and infinities
 */
export function decodeGgml(type: GgmlType, bytes: Uint8Array, target: Float32Array, count: number): void {
  if (type === "F32" || type === "F16" || type === "BF16") return decodeFloats(type, bytes, target, count);
  const { elements, bytes: blockBytes } = blockSize(type);
  const blocks = count / elements;
  if (!Number.isInteger(blocks) || bytes.length < blocks * blockBytes || target.length < count) {
    throw new RangeError(`${count} ${type} from ${bytes.length} bytes into ${target.length} elements`);
  }
  const decode = BLOCKS[type];
  for (let block = 0; block < blocks; block++) decode(bytes, block * blockBytes, target, block * elements);
}

// All positions below are inside the block, whose length the caller checked: an index is never out of bounds, and
// `u8` says so to the compiler in one place.
function u8(bytes: Uint8Array, at: number): number {
  return bytes[at] as number;
}

function i8(bytes: Uint8Array, at: number): number {
  return (u8(bytes, at) << 24) >> 24;
}

function f16(bytes: Uint8Array, at: number): number {
  return f16ToNumber(u8(bytes, at) | (u8(bytes, at + 1) << 8));
}

/** d, 16 bytes: weight j is in the low nibble of byte j, weight 16 + j in the high one; w = d · (nibble − 8). */
const q4_0: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  for (let j = 0; j < 16; j++) {
    const pair = u8(bytes, at + 2 + j);
    y[to + j] = d * ((pair & 15) - 8);
    y[to + 16 + j] = d * ((pair >> 4) - 8);
  }
};

/** d, m, then as q4_0; w = d · nibble + m. */
const q4_1: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  const m = f16(bytes, at + 2);
  for (let j = 0; j < 16; j++) {
    const pair = u8(bytes, at + 4 + j);
    y[to + j] = d * (pair & 15) + m;
    y[to + 16 + j] = d * (pair >> 4) + m;
  }
};

/** The fifth bits of all 32 weights are a word: bit j is weight j's. */
function fifthBit(bytes: Uint8Array, at: number, j: number): number {
  return ((u8(bytes, at + (j >> 3)) >> (j & 7)) & 1) << 4;
}

/** d, fifth bits, 16 bytes as q4_0; w = d · (q − 16). */
const q5_0: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  for (let j = 0; j < 16; j++) {
    const pair = u8(bytes, at + 6 + j);
    y[to + j] = d * (((pair & 15) | fifthBit(bytes, at + 2, j)) - 16);
    y[to + 16 + j] = d * (((pair >> 4) | fifthBit(bytes, at + 2, 16 + j)) - 16);
  }
};

/** d, m, fifth bits, 16 bytes as q4_0; w = d · q + m. */
const q5_1: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  const m = f16(bytes, at + 2);
  for (let j = 0; j < 16; j++) {
    const pair = u8(bytes, at + 8 + j);
    y[to + j] = d * ((pair & 15) | fifthBit(bytes, at + 4, j)) + m;
    y[to + 16 + j] = d * ((pair >> 4) | fifthBit(bytes, at + 4, 16 + j)) + m;
  }
};

/** d, 32 int8; w = d · q. */
const q8_0: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  for (let j = 0; j < 32; j++) y[to + j] = d * i8(bytes, at + 2 + j);
};

/**
 * 16 bytes of scales (low nibble: scale, high: minimum), 64 bytes of 2-bit q, d, m. In each half of 128 weights, byte l
 * has weights l, 32 + l, 64 + l, 96 + l; 16 weights share a scale; w = d · scale · q − m · minimum.
 */
const q2_k: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at + 80);
  const m = f16(bytes, at + 82);
  for (let i = 0; i < 256; i++) {
    const scale = u8(bytes, at + (i >> 4));
    const q = (u8(bytes, at + 16 + 32 * (i >> 7) + (i & 31)) >> (2 * ((i >> 5) & 3))) & 3;
    y[to + i] = d * (scale & 15) * q - m * (scale >> 4);
  }
};

/**
 * 32 bytes of third bits (byte l, bit i / 32), 64 bytes of 2-bit q as in q2_k, 12 bytes with sixteen 6-bit scales, d;
 * w = d · (scale − 32) · (q − 4 where the third bit is clear).
 */
const q3_k: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at + 108);
  for (let i = 0; i < 256; i++) {
    const s = i >> 4;
    const low = s < 8 ? u8(bytes, at + 96 + s) & 15 : u8(bytes, at + 96 + s - 8) >> 4;
    const high = (u8(bytes, at + 104 + (s & 3)) >> (2 * (s >> 2))) & 3;
    const l = i & 31;
    const q = (u8(bytes, at + 32 + 32 * (i >> 7) + l) >> (2 * ((i >> 5) & 3))) & 3;
    const third = (u8(bytes, at + l) >> (i >> 5)) & 1;
    y[to + i] = d * ((low | (high << 4)) - 32) * (q - (third === 1 ? 0 : 4));
  }
};

/** Of eight 6-bit scales and eight 6-bit minima in 12 bytes from `at` on. */
export function scaleOf(bytes: Uint8Array, at: number, j: number): number {
  return j < 4 ? u8(bytes, at + j) & 63 : (u8(bytes, at + j + 4) & 15) | ((u8(bytes, at + j - 4) >> 6) << 4);
}

export function minimumOf(bytes: Uint8Array, at: number, j: number): number {
  return j < 4 ? u8(bytes, at + j + 4) & 63 : (u8(bytes, at + j + 4) >> 4) | ((u8(bytes, at + j) >> 6) << 4);
}

/**
 * d, m, 12 bytes of scales and minima, 128 bytes. Each 64 weights are 32 bytes: the low nibbles, then the high ones;
 * 32 weights share a scale; w = d · scale · q − m · minimum.
 */
const q4_k: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  const m = f16(bytes, at + 2);
  for (let group = 0; group < 8; group++) {
    const scale = d * scaleOf(bytes, at + 4, group);
    const minimum = m * minimumOf(bytes, at + 4, group);
    const from = at + 16 + 32 * (group >> 1);
    const shift = 4 * (group & 1);
    for (let l = 0; l < 32; l++) y[to + 32 * group + l] = scale * ((u8(bytes, from + l) >> shift) & 15) - minimum;
  }
};

/** As q4_k, with 32 bytes of fifth bits (byte l, bit of the group) before the nibbles. */
const q5_k: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  const m = f16(bytes, at + 2);
  for (let group = 0; group < 8; group++) {
    const scale = d * scaleOf(bytes, at + 4, group);
    const minimum = m * minimumOf(bytes, at + 4, group);
    const from = at + 48 + 32 * (group >> 1);
    const shift = 4 * (group & 1);
    for (let l = 0; l < 32; l++) {
      const fifth = ((u8(bytes, at + 16 + l) >> group) & 1) << 4;
      y[to + 32 * group + l] = scale * (((u8(bytes, from + l) >> shift) & 15) | fifth) - minimum;
    }
  }
};

/**
 * 128 bytes of low nibbles, 64 bytes of upper 2 bits, 16 int8 scales, d. In each half of 128 weights, nibbles: bytes
 * 0…63 low, then high; upper bits: byte l has those of l, 32 + l, 64 + l, 96 + l; w = d · scale · (q − 32).
 */
const q6_k: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at + 208);
  for (let i = 0; i < 256; i++) {
    const half = i >> 7;
    const low = (u8(bytes, at + 64 * half + (i & 63)) >> (4 * ((i >> 6) & 1))) & 15;
    const high = (u8(bytes, at + 128 + 32 * half + (i & 31)) >> (2 * ((i >> 5) & 3))) & 3;
    y[to + i] = d * i8(bytes, at + 192 + (i >> 4)) * ((low | (high << 4)) - 32);
  }
};

/** What a nibble of the IQ4 types stands for. */
const IQ4_VALUES = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

function iq4Pairs(bytes: Uint8Array, at: number, d: number, y: Float32Array, to: number): void {
  for (let j = 0; j < 16; j++) {
    const pair = u8(bytes, at + j);
    y[to + j] = d * (IQ4_VALUES[pair & 15] as number); // 16 values
    y[to + 16 + j] = d * (IQ4_VALUES[pair >> 4] as number);
  }
}

/** d, 16 bytes laid as in q4_0; w = d · value of the nibble. */
const iq4_nl: DecodeBlock = (bytes, at, y, to) => iq4Pairs(bytes, at + 2, f16(bytes, at), y, to);

/** d, 2 bytes of upper 2 bits and 4 of low nibbles of eight scales, 8 · 16 bytes; w = d · (scale − 32) · value. */
const iq4_xs: DecodeBlock = (bytes, at, y, to) => {
  const d = f16(bytes, at);
  const high = u8(bytes, at + 2) | (u8(bytes, at + 3) << 8);
  for (let group = 0; group < 8; group++) {
    const low = (u8(bytes, at + 4 + (group >> 1)) >> (4 * (group & 1))) & 15;
    const scale = low | (((high >> (2 * group)) & 3) << 4);
    iq4Pairs(bytes, at + 8 + 16 * group, d * (scale - 32), y, to + 32 * group);
  }
};

const BLOCKS: Readonly<Record<Exclude<GgmlType, "F32" | "F16" | "BF16">, DecodeBlock>> = {
  ...{ Q4_0: q4_0, Q4_1: q4_1, Q5_0: q5_0, Q5_1: q5_1, Q8_0: q8_0 },
  ...{ Q2_K: q2_k, Q3_K: q3_k, Q4_K: q4_k, Q5_K: q5_k, Q6_K: q6_k },
  ...{ IQ4_NL: iq4_nl, IQ4_XS: iq4_xs },
};
