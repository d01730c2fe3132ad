/** What is decided before anything is allocated: how weights and cache are held, and how many positions fit. Pure. */
import { WordloomError } from "../../errors";
import { mib } from "../../gpu/buffers";
import { cacheBytes } from "../../kernels/attention";
import type { DecoderSpec } from "../../models/decoder-spec";
import type { KvDtype, WeightDtype } from "../backend";

export interface PlanRequest {
  dtype: WeightDtype | "auto";
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
 * @param maxBindingBytes most bytes of one layer's keys
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
    dtype = weightBytes("q8") <= limit ? "q8" : "q4";
    reasons.push(
      dtype === "q8"
        ? `weights as q8: ${mib(weightBytes("q8"))} MiB, hardly to be told from the original`
        : `weights as q4: q8 would be ${mib(weightBytes("q8"))} MiB, above ${mib(limit)} MiB`,
    );
  } else {
    reasons.push(`weights as ${dtype}: asked for`);
  }
  const weights = weightBytes(dtype);
  if (budget !== undefined && weights > budget) {
    throw new WordloomError(
      "out-of-memory",
      `the weights take ${mib(weights)} MiB as ${dtype}; ${inBudget()}`,
    );
  }

  let { kvDtype } = request;
  if (kvDtype === "auto") {
    kvDtype = dtype === "f32" ? "f32" : "f16";
    reasons.push(`KV cache as ${kvDtype}: goes with ${dtype} weights`);
  }

  const layerBytes = (positions: number, held: KvDtype) =>
    spec.layers.map(({ attention }) => cacheBytes(attention.keyValueHeadCount, attention.headDim, positions, held));
  const perPosition = 2 * layerBytes(1, kvDtype).reduce((sum, bytes) => sum + bytes, 0);
  const perPositionOfLayer = Math.max(...layerBytes(1, kvDtype));
  const bindable = Math.floor(maxBindingBytes / perPositionOfLayer);
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
