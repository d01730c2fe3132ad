import type { Activation } from "../models/decoder-spec";
import { gridOf, read, write, type Dispatch } from "../gpu/pipelines";
import type { Tier } from "../gpu/tier";
import { f32, type WgslConstant } from "../gpu/wgsl";
import {
  checkSize,
  makeDispatch,
  paddedWidth,
  RECORD_BYTES,
  STEP_VECS,
  type KernelContext,
  type MatrixPart,
  type NormInput,
} from "./kernel";

/** What becomes of the product; see shaders/lib/epilogue.wgsl. */
export type Epilogue =
  | { kind: "store" }
  /** y += scale · product; default 1 */
  | { kind: "residual"; scale?: number }
  /** y = scale · product, kept within ±softcap */
  | { kind: "logits"; scale: number; softcap: number | undefined }
  | { kind: "activation"; activation: Activation }
  | { kind: "gated"; activation: Activation };

interface MatrixProduct {
  label: string;
  matrix: MatrixPart;
  /** [outputs of the whole matrix] f32; gated: all gates', then all ups'. */
  bias: GPUBuffer | undefined;
  epilogue: Epilogue;
  /** Outputs of the whole matrix, of which this part makes some (gated: gates only). */
  outputs: number;
  /** [rows, paddedWidth(columns)] f32. */
  x: GPUBuffer;
  /** [rows, paddedWidth(outputs)] f32; not x. */
  y: GPUBuffer;
}

/**
 * Decode: one row times the matrix, with the norm before it folded in; see shaders/gemv.wgsl. Of several sequences a row
 * each, and each weight is still read once; see shaders/gemv_rows.wgsl.
 *
 * @param rows 1 or more sequences
 */
export function gemv(
  context: KernelContext,
  {
    sequences,
    norm,
    rows = 1,
    ...product
  }: MatrixProduct & { sequences: GPUBuffer; norm: NormInput | undefined; rows?: number },
): Promise<Dispatch> {
  const { tier } = context;
  const { label, matrix, x, y, bias, outputs } = product;
  const grid = gridOf(Math.ceil(outputRows(product) / tier.gemvRows));
  checkSize(`${label} sequences`, sequences, rows * RECORD_BYTES);
  checkSize(`${label} x`, x, rows * paddedWidth(matrix.columns) * 4);
  if (rows > 1) checkSize(`${label} y`, y, rows * paddedWidth(outputs) * 4);
  return makeDispatch(context, rows > 1 ? "gemv_rows" : "gemv", {
    label,
    defines: {
      ...productDefines(product, context.tier),
      NORM: norm?.kind ?? "",
      READS_X: true,
      ...(rows > 1 && { ROWS: String(rows) }),
    },
    constants: {
      ...productConstants(product),
      ROWS_PER_WORKGROUP: tier.gemvRows,
      STRIDE: paddedWidth(matrix.columns),
      ...(norm && { EPS: f32(norm.eps) }),
    },
    bindings: {
      0: read(sequences),
      ...matrixBindings(matrix),
      3: read(x),
      4: norm && read(norm.weights),
      5: bias && read(bias),
      6: write(y),
    },
    grid: () => grid,
  });
}

/** Prefill: a chunk's rows times the matrix; see shaders/gemm.wgsl and shaders/gemm_registers.wgsl. */
export function gemm(
  context: KernelContext,
  { chunk, rows, ...product }: MatrixProduct & { chunk: GPUBuffer; rows: number },
): Promise<Dispatch> {
  const { label, matrix, x, y, bias, epilogue, outputs } = product;
  checkSize(`${label} x`, x, rows * paddedWidth(matrix.columns) * 4);
  checkSize(`${label} y`, y, rows * paddedWidth(outputs) * 4);
  const onCpu = context.tier.reduction === "cpu";
  const tileRows = onCpu ? 4 * context.tier.workgroupSize : epilogue.kind === "gated" ? 32 : 64;
  return makeDispatch(context, onCpu ? "gemm_registers" : "gemm", {
    label,
    defines: { ...productDefines(product, context.tier), READS_X: onCpu },
    constants: { ...productConstants(product), X_STRIDE: paddedWidth(matrix.columns) },
    workgroupSize: onCpu ? context.tier.workgroupSize : 128,
    bindings: { 0: read(chunk), ...matrixBindings(matrix), 3: read(x), 5: bias && read(bias), 6: write(y) },
    grid: (rows) => [Math.ceil(outputRows(product) / tileRows), Math.ceil(rows / (onCpu ? 16 : 32)), 1],
    maxRows: rows,
  });
}

const outputRows = ({ matrix, epilogue }: MatrixProduct) => (epilogue.kind === "gated" ? matrix.rows / 2 : matrix.rows);

const matrixBindings = ({ weights, scales }: MatrixPart) => ({ 1: read(weights), 2: scales && read(scales) });

function productDefines({ matrix, bias, epilogue }: MatrixProduct, tier: Tier): Record<string, string | boolean> {
  return {
    // There must be a vector of x for each of the four.
    QUADS: tier.quads && STEP_VECS[matrix.format] >= 4,
    WEIGHTS: matrix.format,
    BIAS: bias !== undefined,
    EPILOGUE: epilogue.kind === "logits" ? "store" : epilogue.kind,
    ACTIVATION: "activation" in epilogue ? epilogue.activation : "",
    SCALED: scaleOf(epilogue) !== 1,
    SOFTCAP: softcapOf(epilogue) !== undefined,
  };
}

const scaleOf = (epilogue: Epilogue) => ("scale" in epilogue ? epilogue.scale : undefined) ?? 1;
const softcapOf = (epilogue: Epilogue) => (epilogue.kind === "logits" ? epilogue.softcap : undefined);

function productConstants(product: MatrixProduct): Record<string, WgslConstant> {
  const { matrix, outputs, epilogue } = product;
  const [scale, softcap] = [scaleOf(epilogue), softcapOf(epilogue)];
  return {
    N: outputRows(product),
    K: matrix.columns,
    Y_STRIDE: paddedWidth(outputs),
    Y_OFFSET: matrix.firstRow,
    BIAS_ROWS: epilogue.kind === "gated" ? outputs : 0,
    ...(scale !== 1 && { SCALE: f32(scale) }),
    ...(softcap !== undefined && { SOFTCAP: f32(softcap) }),
  };
}
