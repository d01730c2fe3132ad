/** What every kernel wrapper works with, and the shapes of buffers that several share. */
import { WordloomError } from "../errors";
import type { HeldDtype } from "../formats/quantization";
import { tierDefines, type Tier } from "../gpu/tier";
import type { Bindings, Dispatch, Grid, PipelineCache } from "../gpu/pipelines";
import type { WgslConstant } from "../gpu/wgsl";

export interface KernelContext {
  readonly pipelines: PipelineCache;
  readonly tier: Tier;
}

/** Rows of activations lie this far apart (in f32): a quantized group may be read whole; the padding stays zero. */
export const paddedWidth = (width: number) => Math.ceil(width / 32) * 32;

/** Columns one weight step covers, in vectors of 4 (STEP_VECS in shaders/lib/weights_*). */
export const STEP_VECS: Readonly<Record<HeldDtype, number>> = {
  ...{ f32: 1, f16: 1, q8: 4, q4: 8 },
  ...{ q4_k: 8, q5_k: 8, q6_k: 4 },
};

/** A weight matrix, or some rows of one, in GPU buffers; layout: shaders/lib/weights_*. */
export interface MatrixPart {
  format: HeldDtype;
  /** Rows held here; for gated ones: gates, then as many ups. */
  rows: number;
  columns: number;
  /** Index, in the output, of the product with the first row. */
  firstRow: number;
  weights: GPUBuffer;
  scales: GPUBuffer | undefined;
}

/** Size of one sequence's record; shaders/lib/sequence.wgsl. */
export const RECORD_BYTES = 256;

/** One token of a sequence (binding 0: its record), or a chunk of a prompt (binding 0: the chunk). */
export type StepKind = { kind: "decode"; sequences: GPUBuffer } | { kind: "prefill"; chunk: GPUBuffer };
export const stepBuffer = (step: StepKind) => (step.kind === "decode" ? step.sequences : step.chunk);

export interface NormInput {
  kind: "rms" | "layer";
  eps: number;
  /** [2, paddedWidth] f32: weight, then shift (zeros for rms). */
  weights: GPUBuffer;
}

/** The norm of q and k before rotation: of each head (parts = heads), or of all heads at once (one part). */
export interface QueryKeyNormInput {
  kind: "rms" | "layer";
  eps: number;
  query: { parts: number; width: number };
  key: { parts: number; width: number };
  /** q's weight and shift, each [query.width] f32, then k's, each [key.width]. */
  weights: GPUBuffer;
}

/** Compiles and binds one kernel for this tier. */
export function makeDispatch(
  { pipelines, tier }: KernelContext,
  file: string,
  options: {
    label: string;
    defines?: Record<string, string | boolean>;
    constants: Record<string, WgslConstant>;
    workgroupSize?: number;
    bindings: Bindings;
    grid: Grid;
    /** Most rows the grid will be asked for. */
    maxRows?: number;
  },
): Promise<Dispatch> {
  const { label, defines = {}, constants, workgroupSize = tier.workgroupSize, bindings, grid, maxRows = 1 } = options;
  for (const count of grid(maxRows)) {
    if (count < 1 || count > 65535)
      throw new WordloomError("device-limit", `${label}: ${count} workgroups on one side; 1 to 65535 are possible`);
  }
  return pipelines.dispatch(
    label,
    { file, defines: { ...tierDefines(tier), ...defines }, constants: { WORKGROUP_SIZE: workgroupSize, ...constants } },
    bindings,
    grid,
  );
}

/** A shape fault is a fault of ours: it must not reach the GPU, which would read past the end in silence. */
export function checkSize(label: string, buffer: GPUBuffer, bytes: number): void {
  if (buffer.size < bytes)
    throw new WordloomError("internal", `${label}: the buffer has ${buffer.size} bytes, ${bytes} are read`);
}
