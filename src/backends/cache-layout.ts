/** How a backend gives away what its KV cache holds, and takes it back: the same order on both, whatever lies behind. */
import type { DecoderSpec } from "../models/decoder-spec";

/** As the numbers lie in the copy. */
export type CacheFormat = "f32" | "f16";

/**
 * Positions `start` … `end` of a cache are, for each array, for each of its heads, [end − start, width] numbers, little
 * endian. Arrays: of each layer keys and values, or what it convolves.
 */
export interface CacheLayout {
  format: CacheFormat;
  arrays: readonly CacheArray[];
}

export interface CacheArray {
  heads: number;
  /** Numbers of a head at one position. */
  width: number;
}

export function cacheLayout({ layers, hiddenSize }: DecoderSpec, format: CacheFormat): CacheLayout {
  const arrays = layers.flatMap(({ mixer }): CacheArray[] => {
    if (mixer.kind === "convolution") return [{ heads: 1, width: hiddenSize }];
    const array = { heads: mixer.keyValueHeadCount, width: mixer.headDim };
    return [array, array];
  });
  return { format, arrays };
}

export const bytesOfNumber = (format: CacheFormat) => (format === "f16" ? 2 : 4);

export function bytesPerPosition({ format, arrays }: CacheLayout): number {
  return arrays.reduce((sum, { heads, width }) => sum + heads * width, 0) * bytesOfNumber(format);
}
