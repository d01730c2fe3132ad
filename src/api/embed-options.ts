/** What a caller may ask of an embedding, checked once; and what becomes of the model's hidden state. */
import type { Pooling } from "../engine/engine";
import { WordloomError } from "../errors";
import { flag, given, invalid, refuseUnknown, whole } from "./option-checks";

export interface EmbedOptions {
  /** How the states of the tokens become one: their mean, or the last one's. The model's card says which. */
  pooling: Pooling;
  /** To length 1; default true. */
  normalize?: boolean;
  /** The first so many numbers only; default: all. */
  dimensions?: number;
  signal?: AbortSignal;
}

const KNOWN: Record<keyof EmbedOptions, true> = { pooling: true, normalize: true, dimensions: true, signal: true };

/** @throws WordloomError option-invalid, with the option's name */
export function resolveEmbedOptions(options: EmbedOptions | undefined): {
  pooling: Pooling;
  normalize: boolean;
  dimensions: number | undefined;
} {
  if (options === undefined) throw invalid("pooling", undefined, '"mean" or "last"');
  refuseUnknown(options, KNOWN, "embed");
  const { pooling } = options;
  if (pooling !== "mean" && pooling !== "last") throw invalid("pooling", pooling, '"mean" or "last"');
  const dimensions = given(options.dimensions)
    ? whole(options, "dimensions", 0, { min: 1, max: Number.MAX_SAFE_INTEGER })
    : undefined;
  return { pooling, normalize: flag(options, "normalize", true), dimensions };
}

/** @param state [hidden size] */
export function embeddingOf(
  state: Float64Array,
  { normalize, dimensions = state.length }: { normalize: boolean; dimensions: number | undefined },
): Float32Array {
  if (dimensions > state.length) {
    throw new WordloomError("option-invalid", `dimensions is ${dimensions}; this model's states have ${state.length}`);
  }
  const kept = state.subarray(0, dimensions);
  const length = normalize ? Math.hypot(...kept) : 1;
  return Float32Array.from(kept, (value) => (length === 0 ? value : value / length));
}
