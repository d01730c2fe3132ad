import { read, write, type Dispatch } from "../gpu/pipelines";
import { checkSize, makeDispatch, paddedWidth, type KernelContext } from "./kernel";

/** Bytes of one row's statistics: logprob f32, entropy f32, rank u32, a reserved word. */
export const STATISTICS_BYTES = 16;

/**
 * What the model says of targets[t] in row t of logits; see shaders/token_statistics.wgsl.
 *
 * @param logits [rows, stride] f32
 * @param targets [rows] u32
 * @param y [rows] of STATISTICS_BYTES
 */
export function tokenStatistics(
  context: KernelContext,
  {
    logits,
    targets,
    y,
    rows,
    vocabSize,
    stride,
  }: { logits: GPUBuffer; targets: GPUBuffer; y: GPUBuffer; rows: number; vocabSize: number; stride: number },
): Promise<Dispatch> {
  checkSize("logits", logits, rows * stride * 4);
  checkSize("targets", targets, rows * 4);
  checkSize("token statistics", y, rows * STATISTICS_BYTES);
  return makeDispatch(context, "token_statistics", {
    label: "token_statistics",
    constants: { V: vocabSize, STRIDE: stride },
    bindings: { 1: read(logits), 2: read(targets), 6: write(y) },
    grid: (rows) => [rows, 1, 1],
    maxRows: rows,
  });
}

/**
 * The rows of a chunk added up; see shaders/sum_rows.wgsl.
 *
 * @param x [rows, paddedWidth(width)] f32
 * @param y [paddedWidth(width)] f32
 */
export function sumRows(
  context: KernelContext,
  { chunk, x, y, rows, width }: { chunk: GPUBuffer; x: GPUBuffer; y: GPUBuffer; rows: number; width: number },
): Promise<Dispatch> {
  const stride = paddedWidth(width);
  checkSize("sum_rows x", x, rows * stride * 4);
  checkSize("sum_rows y", y, stride * 4);
  return makeDispatch(context, "sum_rows", {
    label: "sum_rows",
    constants: { STRIDE: stride },
    bindings: { 0: read(chunk), 3: read(x), 6: write(y) },
    grid: () => [Math.ceil(stride / 4 / context.tier.workgroupSize), 1, 1],
  });
}
