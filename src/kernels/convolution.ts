import { WordloomError } from "../errors";
import { read, write, type Dispatch } from "../gpu/pipelines";
import { cacheBytes, type KvFormat } from "./attention";
import { checkSize, makeDispatch, paddedWidth, stepBuffer, type KernelContext, type StepKind } from "./kernel";

/** One layer's short convolution: its shape, its filters, its cache. */
export interface ConvolutionLayer {
  /** Columns; a multiple of 4. */
  width: number;
  /** Positions that count, the row's own included. */
  taps: number;
  /** [taps, width] f32 */
  weight: GPUBuffer;
  /** [width] f32 or undefined */
  bias: GPUBuffer | undefined;
  kv: {
    format: KvFormat;
    /** Positions. */
    capacity: number;
    /** [capacity, width] */
    gated: GPUBuffer;
  };
}

/**
 * A gated short convolution of one token or of a chunk; see shaders/convolution.wgsl.
 *
 * @param projections [rows, paddedWidth(3 · width)] f32: input gates, output gates, what is convolved
 * @param y [rows, paddedWidth(width)] f32
 * @param rows 1 in decode, the chunk's rows in prefill, one for each of several sequences
 * @param slots of several sequences: as in SequenceRows
 * @throws model-unsupported for a width that is no multiple of 4
 */
export function convolution(
  context: KernelContext,
  {
    step,
    layer: { width, taps, weight, bias, kv },
    projections,
    y,
    rows,
    slots,
  }: {
    step: StepKind;
    layer: ConvolutionLayer;
    projections: GPUBuffer;
    y: GPUBuffer;
    rows: number;
    slots?: GPUBuffer | undefined;
  },
): Promise<Dispatch> {
  if (width % 4 !== 0) {
    const message = `a convolution of ${width} columns: the WebGPU kernels want a multiple of 4`;
    throw new WordloomError("model-unsupported", message);
  }
  const [stride, yStride] = [paddedWidth(3 * width), paddedWidth(width)];
  checkSize("convolution projections", projections, rows * stride * 4);
  checkSize("convolution weight", weight, taps * width * 4);
  checkSize("convolution cache", kv.gated, cacheBytes(width, kv.capacity, kv.format));
  checkSize("convolution y", y, rows * yStride * 4);
  if (slots !== undefined) checkSize("convolution slots", slots, rows * kv.capacity * 4);
  if (bias !== undefined) checkSize("convolution bias", bias, width * 4);
  return makeDispatch(context, "convolution", {
    label: "convolution",
    defines: { STEP: step.kind, KV: kv.format, BIAS: bias !== undefined, ...(slots && { ROWS: true }) },
    constants: { WIDTH: width, TAPS: taps, STRIDE: stride, Y_STRIDE: yStride, ...(slots && { CAPACITY: kv.capacity }) },
    bindings: {
      0: read(stepBuffer(step)),
      1: read(projections),
      3: write(kv.gated),
      4: read(weight),
      5: bias && read(bias),
      6: write(y),
      7: slots && read(slots),
    },
    grid: (rows) => [Math.ceil(width / 4 / context.tier.workgroupSize), rows, 1],
    maxRows: rows,
  });
}
