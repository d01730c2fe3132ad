import { read, write, type Dispatch } from "../gpu/pipelines";
import { f32 } from "../gpu/wgsl";
import {
  checkSize,
  makeDispatch,
  paddedWidth,
  stepBuffer,
  type KernelContext,
  type NormInput,
  type StepKind,
} from "./kernel";

/**
 * RMS or layer norm of each row; see shaders/norm.wgsl.
 *
 * @param x [rows, paddedWidth(width)] f32, zero beyond width
 * @param y the same shape; not x
 */
export function norm(
  context: KernelContext,
  {
    step,
    norm,
    x,
    y,
    rows,
    width,
  }: { step: StepKind; norm: NormInput; x: GPUBuffer; y: GPUBuffer; rows: number; width: number },
): Promise<Dispatch> {
  const stride = paddedWidth(width);
  checkSize("norm x", x, rows * stride * 4);
  checkSize("norm y", y, rows * stride * 4);
  return makeDispatch(context, "norm", {
    label: `${norm.kind}_norm`,
    defines: { STEP: step.kind, NORM: norm.kind },
    constants: { K: width, STRIDE: stride, EPS: f32(norm.eps) },
    bindings: { 0: read(stepBuffer(step)), 3: read(x), 4: read(norm.weights), 6: write(y) },
    grid: (rows) => [rows, 1, 1],
    maxRows: rows,
  });
}
