/**
 * ggml's K types as the kernels read them: the same bits in another order, so that a row's quants and its scales lie in
 * arrays of their own. A block has 256 weights along the row; a word is little-endian, j counts its bytes from the lowest.
 *
 *   q4_k   w = d · scale · q − m · minimum, for groups of 32. Quants: 4 words a group; word i has weights 8i+j in the low
 *          nibbles of its bytes and 8i+4+j in the high ones. Scales: the first 16 bytes of Q4_K as they are: d, m, then
 *          eight 6-bit scales and minima
 *   q5_k   as q4_k, and a fifth word a group: bit k of byte j is the fifth bit of weight 4k+j
 *   q6_k   w = d · scale · (q − 32), for groups of 16. Quants: 3 words a group: two with the low nibbles as in q4_k, one
 *          whose bits 2k and 2k+1 of byte j are the upper bits of weight 4k+j. Scales: 5 words a block: d, then 16 int8
 */
import { f16ToNumber } from "./floats";
import { minimumOf, scaleOf } from "./ggml-decode";

export type KFormat = "q4_k" | "q5_k" | "q6_k";

/** Weights of a block. */
export const K_BLOCK = 256;

/** Words of a block. */
export const K_WORDS: Readonly<Record<KFormat, { quants: number; scales: number }>> = {
  q4_k: { quants: 32, scales: 4 },
  q5_k: { quants: 40, scales: 4 },
  q6_k: { quants: 48, scales: 5 },
};

export function isKFormat(format: string): format is KFormat {
  return Object.hasOwn(K_WORDS, format);
}

// Positions below are inside of a block and of its words, whose lengths callers check.
const u8 = (bytes: Uint8Array, at: number) => bytes[at] as number;
const word = (words: Uint32Array, at: number) => words[at] as number;

/**
 * One block of Q4_K, Q5_K or Q6_K at `at` of `bytes`, moved.
 *
 * @param q its words of quants, written from `qAt` on
 * @param s its words of scales, written from `sAt` on
 */
export function moveKBlock(
  format: KFormat,
  bytes: Uint8Array,
  at: number,
  q: Uint32Array,
  qAt: number,
  s: Uint32Array,
  sAt: number,
): void {
  if (format === "q6_k") moveQ6(bytes, at, q, qAt, s, sAt);
  else moveQ4(format === "q5_k", bytes, at, q, qAt, s, sAt);
}

function wordAt(bytes: Uint8Array, at: number): number {
  return u8(bytes, at) | (u8(bytes, at + 1) << 8) | (u8(bytes, at + 2) << 16) | (u8(bytes, at + 3) << 24);
}

/** Four bytes at once: masks and shifts keep each within its byte. */
function moveQ4(
  hasFifth: boolean,
  bytes: Uint8Array,
  at: number,
  q: Uint32Array,
  qAt: number,
  s: Uint32Array,
  sAt: number,
): void {
  for (let i = 0; i < 4; i++) s[sAt + i] = wordAt(bytes, at + 4 * i);
  const nibbles = at + (hasFifth ? 48 : 16);
  for (let group = 0, to = qAt; group < 8; group++, to += hasFifth ? 5 : 4) {
    const from = nibbles + 32 * (group >> 1);
    const shift = 4 * (group & 1);
    for (let i = 0; i < 4; i++) {
      const low = (wordAt(bytes, from + 8 * i) >>> shift) & 0x0f0f0f0f;
      q[to + i] = low | (((wordAt(bytes, from + 8 * i + 4) >>> shift) & 0x0f0f0f0f) << 4);
    }
    if (!hasFifth) continue;
    let fifth = 0;
    for (let k = 0; k < 8; k++) fifth |= ((wordAt(bytes, at + 16 + 4 * k) >>> group) & 0x01010101) << k;
    q[to + 4] = fifth;
  }
}

function moveQ6(bytes: Uint8Array, at: number, q: Uint32Array, qAt: number, s: Uint32Array, sAt: number): void {
  s[sAt] = u8(bytes, at + 208) | (u8(bytes, at + 209) << 8);
  for (let i = 0; i < 4; i++) s[sAt + 1 + i] = wordAt(bytes, at + 192 + 4 * i);
  for (let group = 0; group < 16; group++) {
    const half = group >> 3;
    const low = at + 64 * half + 16 * (group & 3);
    const lowShift = 4 * ((group >> 2) & 1);
    const high = at + 128 + 32 * half + 16 * (group & 1);
    const highShift = 2 * ((group >> 1) & 3);
    const to = qAt + 3 * group;
    const nibbles = (k: number) => (wordAt(bytes, low + 4 * k) >>> lowShift) & 0x0f0f0f0f;
    q[to] = nibbles(0) | (nibbles(1) << 4);
    q[to + 1] = nibbles(2) | (nibbles(3) << 4);
    let upper = 0;
    for (let k = 0; k < 4; k++) upper |= ((wordAt(bytes, high + 4 * k) >>> highShift) & 0x03030303) << (2 * k);
    q[to + 2] = upper;
  }
}

/** What a block's words stand for, as the definition above has it: its weights, from `to` of `y` on. */
export function unpackKBlock(
  format: KFormat,
  q: Uint32Array,
  qAt: number,
  s: Uint32Array,
  sAt: number,
  y: Float32Array,
  to: number,
): void {
  const bytes = new Uint8Array(s.buffer, s.byteOffset + 4 * sAt, 4 * K_WORDS[format].scales);
  const d = f16ToNumber(u8(bytes, 0) | (u8(bytes, 1) << 8));
  const groupSize = format === "q6_k" ? 16 : 32;
  const groupWords = (K_WORDS[format].quants * groupSize) / K_BLOCK;
  for (let i = 0; i < K_BLOCK; i++) {
    const group = Math.floor(i / groupSize);
    const [k, j] = [(i % groupSize) >> 2, i & 3]; // vector of four within the group, byte
    const first = qAt + groupWords * group;
    const nibble = (word(q, first + (k >> 1)) >>> (8 * j + 4 * (k & 1))) & 15;
    if (format === "q6_k") {
      const upper = (word(q, first + 2) >>> (8 * j + 2 * k)) & 3;
      const scale = (u8(bytes, 4 + group) << 24) >> 24;
      y[to + i] = d * scale * ((nibble | (upper << 4)) - 32);
    } else {
      const m = f16ToNumber(u8(bytes, 2) | (u8(bytes, 3) << 8));
      const fifth = format === "q5_k" ? (word(q, first + 4) >>> (8 * j + k)) & 1 : 0;
      y[to + i] = d * scaleOf(bytes, 4, group) * (nibble | (fifth << 4)) - m * minimumOf(bytes, 4, group);
    }
  }
}
