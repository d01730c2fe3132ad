import { WordloomError } from "../errors";
import type { RopeSpec } from "../models/decoder-spec";
import { read, write, type Dispatch } from "../gpu/pipelines";
import { f32 } from "../gpu/wgsl";
import { checkSize, makeDispatch, paddedWidth, type KernelContext, type QueryKeyNormInput } from "./kernel";

export type KvFormat = "f32" | "f16";

/** One layer's attention: its shape, its rotation, its cache. */
export interface AttentionLayer {
  headCount: number;
  keyValueHeadCount: number;
  /** A multiple of 4. */
  headDim: number;
  scale: number;
  /** A position attends to so many, itself included; undefined: to all before it. */
  window?: number | undefined;
  /** Scores are kept within ±softcap; undefined: as they are. */
  softcap?: number | undefined;
  rope:
    | { pairing: RopeSpec["pairing"]; pairs: number; /** [positions, pairs] of (cos, sin) f32 */ table: GPUBuffer }
    | undefined;
  kv: {
    format: KvFormat;
    /** Positions. */
    capacity: number;
    /** [KV heads, capacity, headDim] each */
    keys: GPUBuffer;
    values: GPUBuffer;
  };
}

/** Bytes of one array of the KV cache that keeps `numbers` of each of `capacity` positions: a layer's keys, say. */
export const cacheBytes = (numbers: number, capacity: number, format: KvFormat) =>
  numbers * capacity * (format === "f16" ? 2 : 4);

/** Bytes of the cosines and sines of `pairs` rotated pairs at `positions` positions. */
export const ropeTableBytes = (pairs: number, positions: number) => positions * pairs * 8;

/** Bytes of attention_decode's partials for one sequence; 0 where the tier does not split. */
export const partialsBytes = (headCount: number, headDim: number, splits: number) =>
  splits === 1 ? 0 : headCount * splits * (headDim + 4) * 4;

/** Several sequences whose steps are one. */
export interface SequenceRows {
  /** 2 or more. */
  count: number;
  /** [count, capacity] u32: where the cache holds each sequence's positions; see shaders/lib/slots.wgsl. */
  slots: GPUBuffer;
}

/**
 * Decode: RoPE, KV write and attention of one token; see shaders/attention_decode.wgsl, attention_combine.wgsl.
 *
 * @param rows several sequences: a row each of qkv, partials and y, padded as activations are
 * @param qkv [(heads + 2 · kv heads) · headDim] f32
 * @param norm of each head of q and k, where the layer has one; one over all heads is `queryKeyNorm`'s, before this
 * @param partials partialsBytes; undefined where the tier does not split
 * @param y [heads · headDim] f32
 * @returns one dispatch, or two where the context is split
 */
export function attentionDecode(
  context: KernelContext,
  {
    sequences,
    rows,
    layer,
    qkv,
    norm,
    partials,
    y,
  }: {
    sequences: GPUBuffer;
    rows?: SequenceRows | undefined;
    layer: AttentionLayer;
    qkv: GPUBuffer;
    norm?: QueryKeyNormInput | undefined;
    partials: GPUBuffer | undefined;
    y: GPUBuffer;
  },
): Promise<Dispatch[]> {
  const { tier } = context;
  if (norm !== undefined) checkSize("attention norm", norm.weights, 4 * layer.headDim * 4);
  const split = partials !== undefined;
  const splits = split ? tier.attentionSplits : 1;
  const count = rows?.count ?? 1;
  const width = layer.headCount * layer.headDim;
  if (rows !== undefined) {
    checkSize("attention slots", rows.slots, count * layer.kv.capacity * 4);
    checkSize("attention qkv", qkv, count * qkvStride(layer) * 4);
    checkSize("attention y", y, count * paddedWidth(width) * 4);
    if (partials) checkSize("partials", partials, count * partialsBytes(layer.headCount, layer.headDim, splits));
  }
  const shape = { HEADS: layer.headCount, HEAD_DIM: layer.headDim, SPLITS: splits };
  const attention = makeDispatch(context, "attention_decode", {
    label: "attention",
    defines: {
      ...layerDefines(layer, "decode"),
      ...scoreDefines(layer),
      KV_ACCESS: "read_write",
      SPLIT: split,
      QUERY_KEY_NORM: norm?.kind ?? "",
      ...(rows && { ROWS: true }),
    },
    constants: {
      ...layerConstants(layer),
      ...scoreConstants(layer),
      ...shape,
      TILE: Math.max(tier.workgroupSize, 16),
      ...(norm && { NORM_EPS: f32(norm.eps) }),
      ...(rows && {
        QKV_STRIDE: qkvStride(layer),
        Y_VECS: split ? layer.headCount * splits * (layer.headDim / 4 + 1) : paddedWidth(width) / 4,
      }),
    },
    bindings: {
      0: read(sequences),
      1: read(qkv),
      2: layer.rope && read(layer.rope.table),
      3: write(layer.kv.keys),
      4: write(layer.kv.values),
      5: norm && read(norm.weights),
      6: write(partials ?? y),
      7: rows && read(rows.slots),
    },
    grid: () => [layer.headCount, splits, count],
  });
  if (partials === undefined) return Promise.all([attention]);
  const vectors = (layer.headCount * layer.headDim) / 4;
  const combine = makeDispatch(context, "attention_combine", {
    label: "attention_combine",
    ...(rows && { defines: { ROWS: true } }),
    constants: { ...shape, ...(rows && { Y_VECS: paddedWidth(width) / 4 }) },
    bindings: { 0: read(sequences), 3: read(partials), 6: write(y) },
    grid: () => [Math.ceil(vectors / tier.workgroupSize), 1, count],
  });
  return Promise.all([attention, combine]);
}

/** Prefill: a chunk's keys and values into the cache; see shaders/kv_write.wgsl. */
export function kvWrite(
  context: KernelContext,
  { chunk, layer, qkv, rows }: { chunk: GPUBuffer; layer: AttentionLayer; qkv: GPUBuffer; rows: number },
): Promise<Dispatch> {
  const vectors = (layer.keyValueHeadCount * layer.headDim) / 4;
  return makeDispatch(context, "kv_write", {
    label: "kv_write",
    defines: { ...layerDefines(layer, "prefill"), KV_ACCESS: "read_write" },
    constants: { ...layerConstants(layer), QKV_STRIDE: qkvStride(layer) },
    bindings: {
      0: read(chunk),
      1: read(qkv),
      2: layer.rope && read(layer.rope.table),
      3: write(layer.kv.keys),
      4: write(layer.kv.values),
    },
    grid: (rows) => [Math.ceil(vectors / context.tier.workgroupSize), rows, 1],
    maxRows: rows,
  });
}

/** Prefill: causal attention of a chunk; see shaders/attention_prefill.wgsl. */
export function attentionPrefill(
  context: KernelContext,
  {
    chunk,
    layer,
    qkv,
    y,
    rows,
  }: { chunk: GPUBuffer; layer: AttentionLayer; qkv: GPUBuffer; y: GPUBuffer; rows: number },
): Promise<Dispatch> {
  return makeDispatch(context, "attention_prefill", {
    label: "attention",
    defines: { ...layerDefines(layer, "prefill"), ...scoreDefines(layer), KV_ACCESS: "read" },
    constants: {
      ...layerConstants(layer),
      ...scoreConstants(layer),
      QKV_STRIDE: qkvStride(layer),
      Y_STRIDE: paddedWidth(layer.headCount * layer.headDim),
    },
    bindings: {
      0: read(chunk),
      1: read(qkv),
      2: layer.rope && read(layer.rope.table),
      3: read(layer.kv.keys),
      4: read(layer.kv.values),
      6: write(y),
    },
    grid: (rows) => [layer.headCount, Math.ceil(rows / context.tier.workgroupSize), 1],
    maxRows: rows,
  });
}

const qkvStride = ({ headCount, keyValueHeadCount, headDim }: AttentionLayer) =>
  paddedWidth((headCount + 2 * keyValueHeadCount) * headDim);

function layerDefines({ rope, kv, headDim }: AttentionLayer, step: string): Record<string, string | boolean> {
  if (headDim % 4 !== 0) {
    throw new WordloomError(
      "model-unsupported",
      `heads of ${headDim} dimensions: the WebGPU kernels want a multiple of 4`,
    );
  }
  return { STEP: step, KV: kv.format, ROPE: rope !== undefined, PAIRING: rope?.pairing ?? "" };
}

function layerConstants(layer: AttentionLayer) {
  return {
    HEADS: layer.headCount,
    KV_HEADS: layer.keyValueHeadCount,
    HEAD_DIM: layer.headDim,
    CAPACITY: layer.kv.capacity,
    PAIRS: layer.rope?.pairs ?? 0,
    SCALE: f32(layer.scale),
  };
}

/** Of the kernels that compare q with k. */
const scoreDefines = ({ window, softcap }: AttentionLayer) => ({
  WINDOW: window !== undefined,
  SOFTCAP: softcap !== undefined,
});

const scoreConstants = ({ window, softcap }: AttentionLayer) => ({
  ...(window !== undefined && { WINDOW: window }),
  ...(softcap !== undefined && { SOFTCAP: f32(softcap) }),
});
