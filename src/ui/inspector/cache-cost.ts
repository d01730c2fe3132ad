/** The KV cache as arithmetic: what it takes for each token, and for a context. */

/** Layers of one kind. */
export interface CacheShape {
  layers: number;
  heads: number;
  headSize: number;
}

export interface CacheCost {
  shapes: readonly CacheShape[];
  bytesPerNumber: number;
  /** By the formula. */
  bytesPerToken: number;
  contextLength: number;
  /** What is held on the device; may be more than the formula says (padding, recurrent state). */
  heldBytes: number;
}

interface CacheFacts {
  kvShape: readonly CacheShape[];
  kvDtype: "f32" | "f16";
  contextLength: number;
  bytes: { kvCache: number };
}

export function cacheCost({ kvShape, kvDtype, contextLength, bytes }: CacheFacts): CacheCost {
  const bytesPerNumber = kvDtype === "f16" ? 2 : 4;
  const numbers = kvShape.reduce((sum, { layers, heads, headSize }) => sum + layers * heads * headSize * 2, 0);
  return {
    shapes: kvShape,
    bytesPerNumber,
    bytesPerToken: numbers * bytesPerNumber,
    contextLength,
    heldBytes: bytes.kvCache,
  };
}

/** Contexts to compare with: this one, and what people run elsewhere. */
export function otherContexts(contextLength: number): number[] {
  const larger = [2048, 8192, 32_768, 131_072].filter((length) => length > contextLength);
  return [contextLength, ...larger.slice(0, 3)];
}
