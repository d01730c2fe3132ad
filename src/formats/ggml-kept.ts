/**
 * ggml's types that a format here holds exactly, moved over without rounding: floats are what they are, Q8_0 is our q8,
 * Q4_0 our q4, and the K types have formats of their own, in other orders of bits.
 */
import { allFiniteF16, firstNonFinite } from "./floats";
import { blockSize, type GgmlType } from "./ggml-types";
import { isKFormat, K_BLOCK, K_WORDS, moveKBlock } from "./k-quants";
import { rowLayout, type HeldDtype, type PackedRows } from "./quantization";

/** What holds a type as it is. A block of Q8_0 and Q4_0: an f16 scale, then 32 quants. */
const KEPT: Readonly<Partial<Record<GgmlType, HeldDtype>>> = {
  ...{ F32: "f32", F16: "f16", Q8_0: "q8", Q4_0: "q4" },
  ...{ Q4_K: "q4_k", Q5_K: "q5_k", Q6_K: "q6_k" },
};

/** Where the f16 scales of a block are. */
const SCALES_AT: Readonly<Partial<Record<GgmlType, readonly number[]>>> = {
  ...{ Q8_0: [0], Q4_0: [0] },
  ...{ Q4_K: [0, 2], Q5_K: [0, 2], Q6_K: [208] },
};

/** The format that holds this type as it is; undefined where there is none. */
export function keptAs(type: GgmlType): HeldDtype | undefined {
  return KEPT[type];
}

/** Packed rows of which some can be taken. */
export interface KeptRows extends PackedRows {
  /** Rows `from` to `to` (exclusive), in the same buffers. */
  slice(from: number, to: number): PackedRows;
  /** Buffers for a later call to write over; undefined where the bytes themselves are the rows. */
  reusable: { scales: Uint32Array<ArrayBuffer>; quants: Uint32Array<ArrayBuffer> } | undefined;
}

/**
 * Whether all weights are finite, without decoding them.
 *
 * @param type one that is kept
 * @param bytes whole blocks, from a whole word of their buffer on
 */
export function allFinite(type: GgmlType, bytes: Uint8Array): boolean {
  if (type === "F32") return firstNonFinite(new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)) < 0;
  if (type === "F16") return allFiniteF16(bytes, bytes.length / 2);
  // All else in a block is whole numbers: a weight is finite where the f16 scales of its block are.
  const step = blockSize(type).bytes;
  let finite = true;
  for (const first of SCALES_AT[type] ?? []) {
    for (let at = first + 1; at < bytes.length; at += step) finite &&= ((bytes[at] as number) & 0x7c) !== 0x7c; // inside
  }
  return finite;
}

/**
 * @param type one that is kept (see `keptAs`)
 * @param bytes [rows, columns] in whole blocks; floats begin at a whole word of their buffer, and may be the result's
 * @param columns a multiple of the block
 * @param reuse of an earlier call's result, written over if it is large enough
 */
export function keepRows(
  type: GgmlType,
  bytes: Uint8Array,
  rows: number,
  columns: number,
  reuse?: KeptRows["reusable"],
): KeptRows {
  const held = keptAs(type);
  if (held === undefined) throw new RangeError(`${type} has no format of its own here`);
  const { wordsPerRow, scaleWordsPerRow, paddedColumns } = rowLayout(held, columns);
  const rowsOf = (quants: Uint32Array, scales: Uint32Array | undefined, reusable: KeptRows["reusable"]): KeptRows => ({
    quants,
    scales,
    slice: (from, to) => ({
      quants: quants.subarray(from * wordsPerRow, to * wordsPerRow),
      scales: scales?.subarray(from * scaleWordsPerRow, to * scaleWordsPerRow),
    }),
    reusable,
  });
  const isFloat = held === "f32" || held === "f16";
  if (isFloat && paddedColumns === columns) {
    return rowsOf(new Uint32Array(bytes.buffer, bytes.byteOffset, rows * wordsPerRow), undefined, undefined);
  }
  const quants = wordsOf(reuse?.quants, rows * wordsPerRow);
  const scales = wordsOf(reuse?.scales, rows * scaleWordsPerRow).fill(0);
  if (isKFormat(held)) {
    const { quants: q, scales: s } = K_WORDS[held];
    const block = blockSize(type).bytes;
    for (let i = 0; i < (rows * columns) / K_BLOCK; i++)
      moveKBlock(held, bytes, i * block, quants, i * q, scales, i * s);
    return rowsOf(quants, scales, { quants, scales });
  }
  const to = new Uint8Array(quants.buffer, quants.byteOffset, quants.byteLength);
  if (isFloat) padRows(bytes, bytes.length / rows, to.fill(0), 4 * wordsPerRow);
  else keepBlocks(type, bytes, rows * (columns / 32), columns / 32, to, wordsPerRow, scales, scaleWordsPerRow);
  return rowsOf(quants, isFloat ? undefined : scales, { quants, scales });
}

function padRows(from: Uint8Array, fromBytes: number, to: Uint8Array, toBytes: number): void {
  for (let row = 0; row * fromBytes < from.length; row++) {
    to.set(from.subarray(row * fromBytes, (row + 1) * fromBytes), row * toBytes);
  }
}

function keepBlocks(
  type: GgmlType,
  bytes: Uint8Array,
  blocks: number,
  blocksPerRow: number,
  to: Uint8Array,
  wordsPerRow: number,
  scales: Uint32Array,
  scaleWordsPerRow: number,
): void {
  const quantBytes = type === "Q8_0" ? 32 : 16;
  for (let i = 0, at = 0; i < blocks; i++) {
    // The indices are within `blocks` blocks of 2 + quantBytes bytes, and within the layout of as many groups.
    const row = Math.floor(i / blocksPerRow);
    const block = i % blocksPerRow;
    const scale = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
    const word = row * scaleWordsPerRow + (block >> 1);
    scales[word] = (scales[word] as number) | (scale << (16 * (block & 1)));
    at += 2;
    const start = 4 * row * wordsPerRow + block * quantBytes;
    if (type === "Q8_0") to.set(bytes.subarray(at, at + 32), start);
    else moveNibbles(bytes, at, to, start);
    at += quantBytes;
  }
}

/** From weights j and 16 + j in byte j, to weights 8i + j and 8i + 4 + j in byte j of word i. */
function moveNibbles(from: Uint8Array, at: number, to: Uint8Array, start: number): void {
  for (let i = 0; i < 4; i++) {
    const first = at + 8 * (i & 1);
    const shift = 4 * (i >> 1);
    for (let j = 0; j < 4; j++) {
      const low = ((from[first + j] as number) >> shift) & 15; // within the block's 16 bytes, as below
      const high = ((from[first + 4 + j] as number) >> shift) & 15;
      to[start + 4 * i + j] = low | (high << 4);
    }
  }
}

function wordsOf(reuse: Uint32Array<ArrayBuffer> | undefined, length: number): Uint32Array<ArrayBuffer> {
  return reuse === undefined || reuse.buffer.byteLength < 4 * length
    ? new Uint32Array(length)
    : new Uint32Array(reuse.buffer, 0, length);
}
