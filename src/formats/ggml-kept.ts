/**
 * ggml's types that lie on the grid of one of our own formats, moved over without rounding: Q8_0 is our q8, Q4_0 our q4,
 * in other orders of bytes.
 */
import type { GgmlType } from "./ggml-types";
import { rowLayout, type HeldDtype, type PackedRows } from "./quantization";

/** The format that holds this type as it is; undefined where there is none. */
export function keptAs(type: GgmlType): HeldDtype | undefined {
  return type === "Q8_0" ? "q8" : type === "Q4_0" ? "q4" : undefined;
}

/** Packed rows of which some can be taken. */
export interface KeptRows extends PackedRows {
  scales: Uint32Array<ArrayBuffer>;
  quants: Uint32Array<ArrayBuffer>;
  /** Rows `from` to `to` (exclusive), in the same buffers. */
  slice(from: number, to: number): PackedRows;
}

/**
 * @param type one that is kept (see `keptAs`)
 * @param bytes [rows, columns / 32] blocks
 * @param columns a multiple of 32
 * @param reuse the result of an earlier call, written over if it is large enough
 */
export function keepRows(type: GgmlType, bytes: Uint8Array, rows: number, columns: number, reuse?: KeptRows): KeptRows {
  const held = keptAs(type);
  if (held === undefined) throw new RangeError(`${type} has no format of its own here`);
  const { wordsPerRow, scaleWordsPerRow } = rowLayout(held, columns);
  const quants = wordsOf(reuse?.quants, rows * wordsPerRow);
  const scales = wordsOf(reuse?.scales, rows * scaleWordsPerRow).fill(0);
  const to = new Uint8Array(quants.buffer, quants.byteOffset, quants.byteLength);
  const blocks = columns / 32;
  const quantBytes = type === "Q8_0" ? 32 : 16;
  for (let row = 0, at = 0; row < rows; row++) {
    for (let block = 0; block < blocks; block++) {
      // The indices are within rows · blocks blocks of 2 + quantBytes bytes, and within the layout of as many groups.
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
  return {
    quants,
    scales,
    slice: (from, to) => ({
      quants: quants.subarray(from * wordsPerRow, to * wordsPerRow),
      scales: scales.subarray(from * scaleWordsPerRow, to * scaleWordsPerRow),
    }),
  };
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
