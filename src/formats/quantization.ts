/**
 * How weights are held: the layouts that the kernels' loaders read (shaders/lib), packed and unpacked on the CPU.
 *
 * A matrix is [rows, columns], row-major. Each row is padded with zeros to `paddedColumns` and starts at a word (u32).
 *
 *   f32   one weight a word; rows padded to a multiple of 4
 *   f16   two a word, the lower half first; rows padded to a multiple of 4
 *   q8    groups of 32 along the row; weight = scale · q, q in -127..127; int8, four a word, lowest byte first
 *   q4    groups of 32 along the row; weight = scale · q, q in -8..7, held as q + 8 in a nibble. A group is 4 words;
 *         word i holds its weights 8i..8i+7: byte j has weight 8i+j in the low nibble and 8i+4+j in the high one
 *
 * Scales (q8, q4) are f16, two a word, the lower half first, in an array of their own: [rows, groups], the number of
 * groups in a row padded to an even one. A scale may be negative. Padding has quants of value 0 and scale 0.
 *
 * Three more are only taken from files, never packed here: ggml's q4_k, q5_k and q6_k, whose rows are whole blocks of 256
 * (k-quants.ts).
 */
import { WordloomError } from "../errors";
import { F16_MAX, f16ToNumber, f32BitsToF16 } from "./floats";
import { isKFormat, K_BLOCK, K_WORDS, unpackKBlock, type KFormat } from "./k-quants";
import { quantizeGroupQ4, quantizeGroupQ8 } from "./quantize-group";

/** How numbers can be packed; the same names as the `dtype` option, "auto" aside. */
export type WeightDtype = "f32" | "f16" | "q8" | "q4";
/** How a matrix can be held. */
export type HeldDtype = WeightDtype | KFormat;

/** Weights that share a scale. */
export const GROUP_SIZE = 32;

export interface RowLayout {
  /** Columns with the padding. */
  paddedColumns: number;
  /** Words (u32) of quants, or of floats, of one row. */
  wordsPerRow: number;
  /** Words of scales of one row; 0 for f32 and f16. */
  scaleWordsPerRow: number;
}

/** @param columns whole blocks for ggml's K formats */
export function rowLayout(dtype: HeldDtype, columns: number): RowLayout {
  if (isKFormat(dtype)) {
    const blocks = columns / K_BLOCK;
    if (!Number.isInteger(blocks)) throw new RangeError(`${columns} columns are no whole blocks of ${dtype}`);
    const { quants, scales } = K_WORDS[dtype];
    return { paddedColumns: columns, wordsPerRow: blocks * quants, scaleWordsPerRow: blocks * scales };
  }
  if (dtype === "f32" || dtype === "f16") {
    const paddedColumns = roundUp(columns, 4);
    return { paddedColumns, wordsPerRow: dtype === "f32" ? paddedColumns : paddedColumns / 2, scaleWordsPerRow: 0 };
  }
  const paddedColumns = roundUp(columns, GROUP_SIZE);
  const wordsPerRow = paddedColumns / (dtype === "q8" ? 4 : 8);
  return { paddedColumns, wordsPerRow, scaleWordsPerRow: Math.ceil(paddedColumns / GROUP_SIZE / 2) };
}

/** Bytes of a whole matrix, scales included. */
export function packedBytes(dtype: HeldDtype, rows: number, columns: number): number {
  const { wordsPerRow, scaleWordsPerRow } = rowLayout(dtype, columns);
  return 4 * rows * (wordsPerRow + scaleWordsPerRow);
}

export interface PackedRows {
  /** [rows, wordsPerRow] */
  quants: Uint32Array;
  /** [rows, scaleWordsPerRow]; undefined for f32 and f16. */
  scales: Uint32Array | undefined;
}

/**
 * @param values [rows, columns] f32, all finite
 * @param reuse the result of an earlier call, written over if it is large enough (loading makes no garbage then)
 * @throws WordloomError file-invalid for NaN and infinities, option-invalid for a weight beyond what `dtype` can hold
 */
export function packRows(
  dtype: WeightDtype,
  values: Float32Array,
  rows: number,
  columns: number,
  reuse?: PackedRows,
): PackedRows {
  if (values.length !== rows * columns) throw new RangeError(`${values.length} values for [${rows}, ${columns}]`);
  const { wordsPerRow, scaleWordsPerRow } = rowLayout(dtype, columns);
  const quants = zeroed(reuse?.quants, rows * wordsPerRow);
  const scales = scaleWordsPerRow === 0 ? undefined : zeroed(reuse?.scales, rows * scaleWordsPerRow);
  for (let row = 0; row < rows; row++) {
    const from = values.subarray(row * columns, (row + 1) * columns);
    const to = quants.subarray(row * wordsPerRow, (row + 1) * wordsPerRow);
    const toScales = scales?.subarray(row * scaleWordsPerRow, (row + 1) * scaleWordsPerRow);
    checkRange(dtype, from, row);
    if (toScales === undefined) packFloats(dtype, from, to);
    else packGroups(dtype, from, to, toScales);
  }
  return { quants, scales };
}

function packFloats(dtype: WeightDtype, from: Float32Array, to: Uint32Array): void {
  // The row may begin anywhere in its buffer, but always at a whole f32.
  const bits = new Uint32Array(from.buffer, from.byteOffset, from.length);
  if (dtype === "f32") {
    to.set(bits);
    return;
  }
  for (let i = 0; i < bits.length; i += 2) {
    to[i >> 1] = f32BitsToF16(bits[i] as number) | (f32BitsToF16(bits[i + 1] ?? 0) << 16); // i < length
  }
}

const group = new Float32Array(GROUP_SIZE);
const groupQuants = new Int8Array(GROUP_SIZE);

function packGroups(dtype: WeightDtype, from: Float32Array, to: Uint32Array, toScales: Uint32Array): void {
  const quantize = dtype === "q8" ? quantizeGroupQ8 : quantizeGroupQ4;
  const wordsPerGroup = dtype === "q8" ? GROUP_SIZE / 4 : GROUP_SIZE / 8;
  const groups = Math.ceil(from.length / GROUP_SIZE);
  const q = groupQuants;
  for (let g = 0; g < groups; g++) {
    const count = Math.min(GROUP_SIZE, from.length - g * GROUP_SIZE);
    for (let i = 0; i < count; i++) group[i] = from[g * GROUP_SIZE + i] as number; // i < count
    group.fill(0, count);
    const scale = quantize(group, q);
    toScales[g >> 1] = (toScales[g >> 1] as number) | (scale << (16 * (g & 1))); // g >> 1 < scaleWordsPerRow
    const firstWord = g * wordsPerGroup;
    // The indices below are within a group of 32.
    if (dtype === "q8") {
      for (let word = 0; word < wordsPerGroup; word++) {
        let bits = 0;
        for (let j = 0; j < 4; j++) bits |= ((q[4 * word + j] as number) & 0xff) << (8 * j);
        to[firstWord + word] = bits;
      }
    } else {
      for (let word = 0; word < wordsPerGroup; word++) {
        let bits = 0;
        for (let j = 0; j < 4; j++) {
          bits |= ((q[8 * word + j] as number) + 8) << (8 * j);
          bits |= ((q[8 * word + 4 + j] as number) + 8) << (8 * j + 4);
        }
        to[firstWord + word] = bits;
      }
    }
  }
}

/** The largest magnitude that each dtype holds: an f32, an f16, or an f16 scale times the largest quant. */
const LARGEST: Readonly<Record<WeightDtype, number>> = {
  f32: 3.4028234663852886e38,
  f16: F16_MAX,
  q8: F16_MAX * 127,
  q4: F16_MAX * 7, // a scale may have either sign, so -8 is not always at hand
};

function checkRange(dtype: WeightDtype, row: Float32Array, index: number): void {
  const largest = LARGEST[dtype];
  let inside = true;
  for (let i = 0; i < row.length; i++) {
    const value = row[i] as number; // i < length
    if (!(value <= largest && value >= -largest)) inside = false; // also NaN
  }
  if (inside) return;
  const column = row.findIndex((value) => !(Math.abs(value) <= largest));
  const value = row[column] as number; // found, since one was outside
  const where = `the weight in row ${index}, column ${column} is ${value}`;
  if (!Number.isFinite(value)) throw new WordloomError("file-invalid", `${where}; weights must be finite`);
  throw new WordloomError("option-invalid", `${where}; dtype ${dtype} holds magnitudes up to ${largest}`, {
    remedy: "Load this model with dtype f32.",
  });
}

/**
 * What the kernels read: the values that the packed ones stand for. This is the definition of the layouts.
 *
 * @returns [rows, columns] f32, without the padding
 */
export function unpackRows(dtype: HeldDtype, packed: PackedRows, rows: number, columns: number): Float32Array {
  const { wordsPerRow, scaleWordsPerRow } = rowLayout(dtype, columns);
  const { quants, scales } = packed;
  const values = new Float32Array(rows * columns);
  if (isKFormat(dtype)) {
    if (scales === undefined) throw new RangeError(`rows of ${dtype} without scales`);
    const words = K_WORDS[dtype];
    for (let block = 0; block < (rows * columns) / K_BLOCK; block++) {
      unpackKBlock(dtype, quants, block * words.quants, scales, block * words.scales, values, block * K_BLOCK);
    }
    return values;
  }
  const bytes = new DataView(quants.buffer, quants.byteOffset, quants.byteLength);
  for (let row = 0; row < rows; row++) {
    const rowByte = 4 * row * wordsPerRow;
    for (let column = 0; column < columns; column++) {
      const to = row * columns + column;
      if (dtype === "f32") values[to] = bytes.getFloat32(rowByte + 4 * column, true);
      else if (dtype === "f16") values[to] = f16ToNumber(bytes.getUint16(rowByte + 2 * column, true));
      else {
        const groupIndex = Math.floor(column / GROUP_SIZE);
        const word = scales?.[row * scaleWordsPerRow + (groupIndex >> 1)];
        if (word === undefined) throw new RangeError(`no scale for row ${row}, column ${column}`);
        const scale = f16ToNumber((word >>> (16 * (groupIndex & 1))) & 0xffff);
        values[to] = scale * (dtype === "q8" ? bytes.getInt8(rowByte + column) : nibble(bytes, rowByte, column));
      }
    }
  }
  return values;
}

function nibble(bytes: DataView, rowByte: number, column: number): number {
  const inWord = column % 8;
  const byte = bytes.getUint8(rowByte + 4 * Math.floor(column / 8) + (inWord % 4));
  return (inWord < 4 ? byte & 15 : byte >> 4) - 8;
}

function zeroed(reuse: Uint32Array | undefined, length: number): Uint32Array {
  if (reuse === undefined || reuse.buffer.byteLength < 4 * length) return new Uint32Array(length);
  return new Uint32Array(reuse.buffer, 0, length).fill(0);
}

function roundUp(count: number, multiple: number): number {
  return Math.ceil(count / multiple) * multiple;
}
