/**
 * Values → blocks of ggml's K types, by plain rounding: for tests, which ask how such blocks are read and not how well
 * they were made. Layouts as in formats/ggml-decode.
 */
import { f16ToNumber, numberToF16 } from "../formats/floats";
import { at } from "./at";

export const K_TYPES = { Q4_K: 12, Q5_K: 13, Q6_K: 14 } as const;
export type KType = keyof typeof K_TYPES;
const BLOCK_BYTES: Readonly<Record<KType, number>> = { Q4_K: 144, Q5_K: 176, Q6_K: 210 };

/** @param values rows of a multiple of 256 columns */
export function kBlocks(type: KType, values: Float32Array): Uint8Array {
  const blocks = values.length / 256;
  if (!Number.isInteger(blocks)) throw new Error(`${values.length} values are no whole blocks of ${type}`);
  const bytes = new Uint8Array(blocks * BLOCK_BYTES[type]);
  for (let block = 0; block < blocks; block++) {
    const of = values.subarray(256 * block, 256 * (block + 1));
    const to = bytes.subarray(block * BLOCK_BYTES[type], (block + 1) * BLOCK_BYTES[type]);
    if (type === "Q6_K") sixBits(of, to);
    else fewBits(of, to, type === "Q5_K");
  }
  return bytes;
}

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, Math.round(value)));

function half(bytes: Uint8Array, place: number, value: number): number {
  const bits = numberToF16(value);
  bytes.set([bits & 255, bits >> 8], place);
  return f16ToNumber(bits);
}

function add(bytes: Uint8Array, place: number, bits: number): void {
  bytes[place] = at(bytes, place) | bits;
}

/** Q4_K and Q5_K: w = d · scale · q − m · minimum, in groups of 32. */
function fewBits(values: Float32Array, bytes: Uint8Array, isFive: boolean): void {
  const most = isFive ? 31 : 15;
  const groups = Array.from({ length: 8 }, (_, group) => values.subarray(32 * group, 32 * group + 32));
  const lows = groups.map((group) => Math.max(0, -Math.min(...group)));
  const steps = groups.map((group, i) => (Math.max(...group) + at(lows, i)) / most);
  const d = half(bytes, 0, Math.max(...steps) / 63);
  const m = half(bytes, 2, Math.max(...lows) / 63);
  const nibbles = isFive ? 48 : 16;
  groups.forEach((group, j) => {
    const scale = clamp(at(steps, j) / d, 1, 63);
    const minimum = m === 0 ? 0 : clamp(at(lows, j) / m, 0, 63);
    if (j < 4) {
      add(bytes, 4 + j, scale);
      add(bytes, 8 + j, minimum);
    } else {
      add(bytes, 8 + j, (scale & 15) | ((minimum & 15) << 4));
      add(bytes, j, (scale >> 4) << 6);
      add(bytes, 4 + j, (minimum >> 4) << 6);
    }
    group.forEach((value, l) => {
      const q = clamp((value + m * minimum) / (d * scale), 0, most);
      add(bytes, nibbles + 32 * (j >> 1) + l, (q & 15) << (4 * (j & 1)));
      if (isFive) add(bytes, 16 + l, (q >> 4) << j);
    });
  });
}

/** Q6_K: w = d · scale · (q − 32), in groups of 16; every other scale is negative. */
function sixBits(values: Float32Array, bytes: Uint8Array): void {
  const groups = Array.from({ length: 16 }, (_, group) => values.subarray(16 * group, 16 * group + 16));
  const steps = groups.map((group) => Math.max(...group.map(Math.abs)) / 31);
  const d = half(bytes, 208, Math.max(...steps) / 127);
  groups.forEach((group, g) => {
    const scale = clamp(at(steps, g) / d, 1, 127) * (g % 2 === 0 ? 1 : -1);
    bytes[192 + g] = scale;
    group.forEach((value, i) => {
      const q = clamp(value / (d * scale) + 32, 0, 63);
      const place = 16 * g + i;
      const part = place >> 7;
      add(bytes, 64 * part + (place & 63), (q & 15) << (4 * ((place >> 6) & 1)));
      add(bytes, 128 + 32 * part + (place & 31), (q >> 4) << (2 * ((place >> 5) & 3)));
    });
  });
}
