/** What is decided before anything is allocated: how weights and cache are held, and how many positions fit. Pure. */
import { WordloomError } from "../../errors";
import { mib } from "../../gpu/buffers";
import { cacheBytes, ropeTableBytes } from "../../kernels/attention";
import { keptPerPosition } from "../../models/decoder";
import type { DecoderSpec } from "../../models/decoder-spec";
import type { KvDtype, WeightDtype } from "../backend";

export interface PlanRequest {
  dtype: WeightDtype | "auto";
  /** How the file holds most of its weights, where that is a format of ours: "auto" takes no finer one. */
  fileDtype?: WeightDtype | undefined;
  kvDtype: KvDtype | "auto";
  /** Positions; undefined: the model's, cut to what fits. */
  contextLength: number | undefined;
  /** Bytes for everything; undefined: not known (WebGPU does not tell). */
  memoryBudgetBytes: number | undefined;
  /** What the budget must leave for activations, tables and vectors; default 0. */
  reservedBytes?: number;
}

export interface Plan {
  dtype: WeightDtype;
  kvDtype: KvDtype;
  contextLength: number;
  reason: string;
}

/** Without a budget, q8 up to this many bytes of weights, q4 beyond. */
const COMFORTABLE_WEIGHT_BYTES = 2 * 2 ** 30;
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

  let { dtype } = request;
  if (dtype === "auto") {
    const limit = budget ?? COMFORTABLE_WEIGHT_BYTES;
    const fits = weightBytes("q8") <= limit;
    dtype = fits && request.fileDtype !== "q4" ? "q8" : "q4";
    const why = !fits
      ? `q8 would be ${mib(weightBytes("q8"))} MiB, above ${mib(limit)} MiB`
      : dtype === request.fileDtype
        ? `as most of them are in the file, ${mib(weightBytes(dtype))} MiB`
        : `${mib(weightBytes("q8"))} MiB, hardly to be told from the original`;
    reasons.push(`weights as ${dtype}: ${why}`);
  } else {
    reasons.push(`weights as ${dtype}: asked for`);
  }
  const weights = weightBytes(dtype);
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
    return { dtype, kvDtype, contextLength: asked, reason: reasons.join("; ") };
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
  return { dtype, kvDtype, contextLength, reason: reasons.join("; ") };
}
