/** Between the reference's cache, [positions, heads · width] float32 each array, and the order of `cacheLayout`. */
import { bytesPerPosition, type CacheLayout } from "../cache-layout";

export function copyFromCache(
  arrays: readonly Float32Array[],
  layout: CacheLayout,
  start: number,
  end: number,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array((end - start) * bytesPerPosition(layout));
  const numbers = new Float32Array(bytes.buffer);
  eachRow(arrays, layout, start, end, (row, at) => numbers.set(row, at));
  return bytes;
}

/** @param bytes of whole positions */
export function copyToCache(
  arrays: readonly Float32Array[],
  layout: CacheLayout,
  start: number,
  bytes: Uint8Array,
): void {
  const numbers = new Float32Array(bytes.slice().buffer);
  const end = start + bytes.length / bytesPerPosition(layout);
  eachRow(arrays, layout, start, end, (row, at) => row.set(numbers.subarray(at, at + row.length)));
}

/** @param visit with a head's numbers at a position in the cache, and where they stand in the copy */
function eachRow(
  arrays: readonly Float32Array[],
  layout: CacheLayout,
  start: number,
  end: number,
  visit: (row: Float32Array, at: number) => void,
): void {
  let at = 0;
  layout.arrays.forEach(({ heads, width }, index) => {
    for (let head = 0; head < heads; head++) {
      for (let position = start; position < end; position++) {
        const first = (position * heads + head) * width;
        visit(arrays[index]?.subarray(first, first + width) ?? new Float32Array(width), at);
        at += width;
      }
    }
  });
}
