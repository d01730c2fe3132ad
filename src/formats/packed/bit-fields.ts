/**
 * Small integers side by side in 32-bit words, the first in the lowest bits: number i has the bits i · width to
 * (i + 1) · width of the words as one long number. 32 of them fill exactly `width` words, whether the width divides 32
 * or not.
 */

/** Little-endian 32-bit words; copied only where `bytes` does not begin at a word. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  const count = bytes.length >> 2;
  if (bytes.byteOffset % 4 === 0) return new Uint32Array(bytes.buffer, bytes.byteOffset, count);
  return new Uint32Array(bytes.slice(0, 4 * count).buffer); // every machine with WebGPU is little-endian, as the file is
}

/**
 * Numbers `0` … `count` of the words `start`, `start + stride`, … into `target`.
 *
 * @param width bits of each, 1 to 8
 */
export function unpackFields(
  words: Uint32Array,
  start: number,
  stride: number,
  width: number,
  count: number,
  target: Uint8Array | Float32Array,
  to = 0,
): void {
  const mask = (1 << width) - 1;
  for (let i = 0, bit = 0; i < count; i++, bit += width) {
    const at = start + (bit >>> 5) * stride;
    const shift = bit & 31;
    let value = (words[at] as number) >>> shift; // inside, by the shape that the caller checked; as below
    if (shift + width > 32) value |= (words[at + stride] as number) << (32 - shift);
    target[to + i] = value & mask;
  }
}
