import { read, write, type Dispatch } from "../gpu/pipelines";
import { f32 } from "../gpu/wgsl";
import {
  checkSize,
  makeDispatch,
  paddedWidth,
  stepBuffer,
  STEP_VECS,
  type KernelContext,
  type MatrixPart,
  type StepKind,
} from "./kernel";

/**
 * Rows of the embedding table by token; see shaders/embed.wgsl.
 *
 * @param table [V, D] or the part of it that this dispatch looks in
 * @param positions [P, D padded to 4] f32 or undefined
 * @param x [rows, paddedWidth(D)] f32
 * @param rows 1 in decode, the chunk's rows in prefill
 */
export function embed(
  context: KernelContext,
  {
    step,
    table,
    positions,
    scale,
    x,
    rows,
  }: {
    step: StepKind;
    table: MatrixPart;
    positions: GPUBuffer | undefined;
    scale: number;
    x: GPUBuffer;
    rows: number;
  },
): Promise<Dispatch> {
  const stride = paddedWidth(table.columns);
  checkSize("embed x", x, rows * stride * 4);
  const steps = Math.ceil(stride / 4 / STEP_VECS[table.format]);
  return makeDispatch(context, "embed", {
    label: "embed",
    defines: { STEP: step.kind, WEIGHTS: table.format, POSITIONS: positions !== undefined },
    constants: {
      K: table.columns,
      FIRST_ROW: table.firstRow,
      ROWS: table.rows,
      SCALE: f32(scale),
      X_STRIDE: stride,
      POSITION_VECS: Math.ceil(table.columns / 4),
    },
    bindings: {
      0: read(stepBuffer(step)),
      1: read(table.weights),
      2: table.scales && read(table.scales),
      3: positions && read(positions),
      6: write(x),
    },
    grid: (rows) => [Math.ceil(steps / context.tier.workgroupSize), rows, 1],
    maxRows: rows,
  });
}
