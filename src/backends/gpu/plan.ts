/** What is decided before anything is allocated: how weights and cache are held, and how many positions fit. Pure. */
import { WordloomError } from "../../errors";
import { mib } from "../../gpu/buffers";
import { cacheBytes, ropeTableBytes } from "../../kernels/attention";
import { keptPerPosition } from "../../models/decoder";
import type { DecoderSpec } from "../../models/decoder-spec";
import type { HeldDtype, KvDtype, WeightDtype } from "../backend";
import type { FormatOf, PublishedFormats } from "./held-formats";

export interface PlanRequest {
  dtype: WeightDtype | "auto";
  /** Each matrix as the file holds it, where most of them can be held so: what "auto" takes. */
  published?: PublishedFormats | undefined;
  kvDtype: KvDtype | "auto";
  /** Positions; undefined: the model's, cut to what fits. */
  contextLength: number | undefined;
  /** Bytes for everything; undefined: not known (WebGPU does not tell). */
  memoryBudgetBytes: number | undefined;
  /** What the budget must leave for activations, tables and vectors; default 0. */
  reservedBytes?: number;
}

export interface Plan {
  /** Of most weights. */
  dtype: HeldDtype;
  /** All, that of most weights first. */
  formats: readonly HeldDtype[];
  formatOf: FormatOf;
  kvDtype: KvDtype;
  contextLength: number;
  reason: string;
}

/** Without a budget, q8 up to this many bytes of weights, q4 beyond. */
const COMFORTABLE_WEIGHT_BYTES = 2 * 2 ** 30;
/** The file's own formats are left for q4 only if they take this much more. */
const WORTH_Q4 = 4 / 3;
/** Without a budget, the cache is cut to this. */
const COMFORTABLE_CACHE_BYTES = 512 * 2 ** 20;

/**
 * @param weightBytes bytes of the weights for a dtype
 * @param maxBindingBytes most bytes of what one layer keeps in one array, and of its table of rotations
 * @throws option-invalid for a context beyond the model's, device-limit and out-of-memory for what cannot fit
 */
export function makePlan(
  spec: DecoderSpec,
  request: PlanRequest,
  weightBytes: (dtype: WeightDtype) => number,
  maxBindingBytes: number,
): Plan {
  const { memoryBudgetBytes, reservedBytes = 0 } = request;
  /** For matrices and KV cache. */
  const budget = memoryBudgetBytes === undefined ? undefined : memoryBudgetBytes - reservedBytes;
  const inBudget = () =>
    `the budget is ${mib(memoryBudgetBytes ?? 0)} MiB; activations and vectors need ${mib(reservedBytes)} MiB of it`;
  const reasons: string[] = [];

  const { dtype, formats, formatOf, bytes: weights, reason: why } = weightFormats(request, weightBytes, budget);
  reasons.push(why);
  if (budget !== undefined && weights > budget) {
    throw new WordloomError("out-of-memory", `the weights take ${mib(weights)} MiB as ${dtype}; ${inBudget()}`);
  }

  let { kvDtype } = request;
  if (kvDtype === "auto") {
    kvDtype = dtype === "f32" ? "f32" : "f16";
    reasons.push(`KV cache as ${kvDtype}: goes with ${dtype} weights`);
  }

  const keptBytes = keptPerPosition(spec)
    .flat()
    .map((numbers) => cacheBytes(numbers, 1, kvDtype));
  const perPosition = keptBytes.reduce((sum, bytes) => sum + bytes, 0);
  // A table of cosines and sines is a binding, too: with few heads it is the larger one.
  const tableBytes = spec.layers.map(({ mixer }) =>
    ropeTableBytes(mixer.kind === "attention" ? (mixer.rope?.inverseFrequencies.length ?? 0) : 0, 1),
  );
  const bindable = Math.floor(maxBindingBytes / Math.max(...keptBytes, ...tableBytes));
  const affordable = Math.floor((budget === undefined ? COMFORTABLE_CACHE_BYTES : budget - weights) / perPosition);

  if (request.contextLength !== undefined) {
    const asked = request.contextLength;
    if (asked > spec.contextLength) {
      throw new WordloomError(
        "option-invalid",
        `contextLength: ${asked} positions; this model was made for ${spec.contextLength}`,
      );
    }
    if (asked > bindable) {
      throw new WordloomError(
        "device-limit",
        `contextLength: ${asked} positions; this GPU binds ${bindable} (${mib(maxBindingBytes)} MiB a layer)`,
      );
    }
    if (budget !== undefined && asked > affordable) {
      throw new WordloomError(
        "out-of-memory",
        `contextLength: ${asked} positions take ${mib(asked * perPosition)} MiB; ${mib(budget - weights)} MiB are left: ${inBudget()}`,
      );
    }
    reasons.push(`${asked} positions: asked for`);
    return { dtype, formats, formatOf, kvDtype, contextLength: asked, reason: reasons.join("; ") };
  }
  const contextLength = Math.min(spec.contextLength, bindable, affordable);
  if (contextLength < 1) {
    throw new WordloomError("out-of-memory", `no room for a KV cache: one position takes ${mib(perPosition)} MiB`);
  }
  reasons.push(
    contextLength === spec.contextLength
      ? `${contextLength} positions: the model's own`
      : `${contextLength} positions: the model's ${spec.contextLength} would take ${mib(spec.contextLength * perPosition)} MiB`,
  );
  return { dtype, formats, formatOf, kvDtype, contextLength, reason: reasons.join("; ") };
}

/** @param budget for weights and cache */
function weightFormats(
  { dtype, published }: PlanRequest,
  weightBytes: (dtype: WeightDtype) => number,
  budget: number | undefined,
): PublishedFormats & { reason: string } {
  const all = (held: WeightDtype, why: string) => ({
    dtype: held,
    formats: [held],
    formatOf: () => held,
    bytes: weightBytes(held),
    reason: `weights as ${held}: ${why}`,
  });
  if (dtype !== "auto") return all(dtype, "asked for");
  const limit = budget ?? COMFORTABLE_WEIGHT_BYTES;
  if (published !== undefined) {
    // Where there is no budget, but a comfortable size: what q4 would hardly make smaller is better left as it is.
    const isSmall = budget === undefined && published.bytes <= WORTH_Q4 * weightBytes("q4");
    if (published.bytes <= limit || isSmall) {
      const [, ...others] = published.formats;
      const more = others.length === 0 ? "" : `, others as ${others.join(" and ")}`;
      const reason = `weights as ${published.dtype}: as most of them are in the file${more}, ${mib(published.bytes)} MiB`;
      return { ...published, reason };
    }
  }
  const [held, bytes] = published === undefined ? ["q8", weightBytes("q8")] : [published.dtype, published.bytes];
  if (bytes > limit) return all("q4", `${held} would be ${mib(bytes)} MiB, above ${mib(limit)} MiB`);
  return all("q8", `${mib(bytes)} MiB, hardly to be told from the original`);
}
