import { read, write, type Dispatch } from "../gpu/pipelines";
import { f32 } from "../gpu/wgsl";
import {
  checkSize,
  makeDispatch,
  paddedWidth,
  stepBuffer,
  type KernelContext,
  type NormInput,
  type QueryKeyNormInput,
  type StepKind,
} from "./kernel";

interface NormedRows {
  step: StepKind;
  norm: NormInput;
  x: GPUBuffer;
  y: GPUBuffer;
  rows: number;
  width: number;
  /** y += add · norm(x), instead of y = norm(x). */
  add?: number | undefined;
}

/**
 * RMS or layer norm of each row; see shaders/norm.wgsl.
 *
 * @param x [rows, paddedWidth(width)] f32, zero beyond width
 * @param y the same shape; not x
 */
export function norm(context: KernelContext, { step, norm, x, y, rows, width, add }: NormedRows): Promise<Dispatch> {
  const stride = paddedWidth(width);
  checkSize("norm x", x, rows * stride * 4);
  checkSize("norm y", y, rows * stride * 4);
  return makeDispatch(context, "norm", {
    label: `${norm.kind}_norm`,
    defines: { STEP: step.kind, NORM: norm.kind, ADD: add !== undefined },
    constants: {
      K: width,
      STRIDE: stride,
      EPS: f32(norm.eps),
      ...(add !== undefined && { ADD_SCALE: f32(add) }),
    },
    bindings: { 0: read(stepBuffer(step)), 3: read(x), 4: read(norm.weights), 6: write(y) },
    grid: (rows) => [rows, 1, 1],
    maxRows: rows,
  });
}

/**
 * q and k of each row normalized in place; see shaders/query_key_norm.wgsl.
 *
 * @param qkv [rows, paddedWidth of q, k and v together] f32
 * @param width numbers of q, k and v together
 */
export function queryKeyNorm(
  context: KernelContext,
  {
    step,
    norm,
    qkv,
    rows,
    width,
  }: { step: StepKind; norm: QueryKeyNormInput; qkv: GPUBuffer; rows: number; width: number },
): Promise<Dispatch> {
  const { query, key } = norm;
  checkSize("query_key_norm qkv", qkv, rows * paddedWidth(width) * 4);
  checkSize("query_key_norm weights", norm.weights, 2 * (query.width + key.width) * 4);
  return makeDispatch(context, "query_key_norm", {
    label: "query_key_norm",
    defines: { STEP: step.kind, QUERY_KEY_NORM: norm.kind },
    constants: {
      QUERY_PARTS: query.parts,
      QUERY_WIDTH: query.width,
      KEY_WIDTH: key.width,
      QKV_STRIDE: paddedWidth(width),
      NORM_EPS: f32(norm.eps),
    },
    bindings: { 0: read(stepBuffer(step)), 5: read(norm.weights), 6: write(qkv) },
    grid: (rows) => [query.parts + key.parts, rows, 1],
    maxRows: rows,
  });
}
