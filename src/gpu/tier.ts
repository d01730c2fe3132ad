/**
 * A tier is how kernels reduce over invocations and read activations and half floats, with its tile sizes. Nothing else
 * varies.
 *
 *   subgroups   lanes of a subgroup share a row; needs the features `subgroups` and WGSL's `subgroup_id`
 *   workgroup   invocations of a workgroup share a row, through workgroup memory; runs everywhere
 *   cpu         for adapters that are a CPU: few invocations, each with rows of its own, hardly any barrier
 *
 * `f16` reads and writes half floats with the language's own type (feature `shader-f16`) instead of unpack2x16float.
 */
export type Reduction = "subgroups" | "workgroup" | "cpu";

export interface Tier {
  readonly name: string;
  readonly reduction: Reduction;
  readonly f16: boolean;
  /** cpu only: the invocations of a quad read activations for each other; needs the feature `subgroups`. */
  readonly quads: boolean;
  /** Invocations of most kernels' workgroups. */
  readonly workgroupSize: number;
  /** gemv: rows of the matrix per workgroup. */
  readonly gemvRows: number;
  /** Decode attention: parts of the context read in parallel per head (1: no combining dispatch). */
  readonly attentionSplits: number;
  /** Invocations of the one workgroup that samples, and slices that the vocabulary is first reduced in. */
  readonly samplerSize: number;
  /** Bits of a score that the sampler's search fixes in one round; divides 32. */
  readonly samplerRadixBits: number;
  readonly logitSlices: number;
  /** Rows a prefill submit takes at most. */
  readonly prefillRows: number;
}

const SIZES: Record<Reduction, Omit<Tier, "name" | "reduction" | "f16" | "quads">> = {
  subgroups: {
    workgroupSize: 64,
    gemvRows: 8,
    attentionSplits: 8,
    samplerSize: 256,
    samplerRadixBits: 8,
    logitSlices: 64,
    prefillRows: 256,
  },
  workgroup: {
    workgroupSize: 64,
    gemvRows: 4,
    attentionSplits: 8,
    samplerSize: 256,
    samplerRadixBits: 8,
    logitSlices: 64,
    prefillRows: 256,
  },
  cpu: {
    workgroupSize: 4,
    gemvRows: 16,
    attentionSplits: 1,
    samplerSize: 4,
    samplerRadixBits: 4,
    logitSlices: 4,
    prefillRows: 64,
  },
};

export const REDUCTIONS = Object.keys(SIZES) as readonly Reduction[];

/** @param subgroups whether the device has that feature */
export function makeTier(reduction: Reduction, f16: boolean, subgroups = false): Tier {
  const quads = subgroups && reduction === "cpu";
  return { name: f16 ? `${reduction}+f16` : reduction, reduction, f16, quads, ...SIZES[reduction] };
}

/** "subgroups+f16" → its tier; undefined for anything else. */
export function tierNamed(name: string, subgroups = false): Tier | undefined {
  const [reduction, half, ...more] = name.split("+");
  const known = REDUCTIONS.find((each) => each === reduction);
  if (known === undefined || more.length > 0 || (half !== undefined && half !== "f16")) return undefined;
  return makeTier(known, half === "f16", subgroups);
}

/** The defines that choose a tier's includes. */
export function tierDefines(tier: Tier): Record<string, string | boolean> {
  return { REDUCE: tier.reduction, HALF: tier.f16 ? "native" : "packed", F16: tier.f16 };
}
