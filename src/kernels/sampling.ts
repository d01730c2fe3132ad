import { gridOf, read, write, type Dispatch } from "../gpu/pipelines";
import { checkSize, makeDispatch, type KernelContext } from "./kernel";

/** Bytes of one SliceSummary (shaders/lib/logits.wgsl). */
export const SUMMARY_BYTES = 32;

export interface SamplerBuffers {
  /** The record, shaders/lib/sequence.wgsl. */
  sequences: GPUBuffer;
  /** [V] f32 */
  logits: GPUBuffer;
  /** [V] f32 */
  scores: GPUBuffer;
  /** [V] f32 */
  bias: GPUBuffer;
  /** [V] u32 */
  usage: GPUBuffer;
  /** [tier.logitSlices] SliceSummary */
  summaries: GPUBuffer;
  /** [20, 2] u32 */
  top: GPUBuffer;
  vocabSize: number;
}

/**
 * The dispatches that turn logits into the next token; see shaders/logits_adjust, logits_reduce, logits_top, sample.
 *
 * @param adjusted biases or penalties are set
 * @param top the likeliest are wanted, too
 * @param kept [V] f32, for tests: takes the weights that a draw is made from
 */
export function sampleDispatches(
  context: KernelContext,
  buffers: SamplerBuffers,
  { adjusted, top, kept }: { adjusted: boolean; top: boolean; kept?: GPUBuffer | undefined },
): Promise<Dispatch[]> {
  const { tier } = context;
  const { sequences, logits, scores, bias, usage, summaries, vocabSize } = buffers;
  checkSize("logits", logits, vocabSize * 4);
  checkSize("summaries", summaries, tier.logitSlices * SUMMARY_BYTES);
  const shape = { V: vocabSize, SLICES: tier.logitSlices };
  const defines = { STEP: "decode", ADJUSTED: adjusted };
  const list: Promise<Dispatch>[] = [];
  if (adjusted) {
    list.push(
      makeDispatch(context, "logits_adjust", {
        label: "logits_adjust",
        constants: { V: vocabSize },
        bindings: { 0: read(sequences), 1: read(logits), 2: read(bias), 3: read(usage), 6: write(scores) },
        grid: () => gridOf(Math.ceil(vocabSize / tier.workgroupSize)),
      }),
    );
  }
  list.push(
    makeDispatch(context, "logits_reduce", {
      label: "logits_reduce",
      defines,
      constants: shape,
      bindings: { 0: read(sequences), 1: read(logits), 2: adjusted ? read(scores) : undefined, 6: write(summaries) },
      grid: () => [tier.logitSlices, 1, 1],
    }),
  );
  if (top) {
    list.push(
      makeDispatch(context, "logits_top", {
        label: "logits_top",
        constants: shape,
        workgroupSize: tier.samplerSize,
        bindings: { 0: read(sequences), 1: read(logits), 4: read(summaries), 6: write(buffers.top) },
        grid: () => [1, 1, 1],
      }),
    );
  }
  list.push(
    makeDispatch(context, "sample", {
      label: "sample",
      defines: { ...defines, KEPT: kept !== undefined },
      constants: { ...shape, RADIX_BITS: tier.samplerRadixBits },
      workgroupSize: tier.samplerSize,
      bindings: {
        0: write(sequences),
        1: read(adjusted ? scores : logits),
        2: adjusted ? read(logits) : undefined,
        3: adjusted ? write(usage) : undefined,
        4: read(summaries),
        6: kept && write(kept),
      },
      grid: () => [1, 1, 1],
    }),
  );
  return Promise.all(list);
}

/** The log-probability of targets[t] in row t of logits; see shaders/token_logprobs.wgsl. */
export function tokenLogprobs(
  context: KernelContext,
  {
    logits,
    targets,
    y,
    rows,
    vocabSize,
    stride,
  }: {
    logits: GPUBuffer;
    targets: GPUBuffer;
    y: GPUBuffer;
    rows: number;
    vocabSize: number;
    stride: number;
  },
): Promise<Dispatch> {
  checkSize("logits", logits, rows * stride * 4);
  return makeDispatch(context, "token_logprobs", {
    label: "token_logprobs",
    constants: { V: vocabSize, STRIDE: stride },
    bindings: { 1: read(logits), 2: read(targets), 6: write(y) },
    grid: (rows) => [rows, 1, 1],
    maxRows: rows,
  });
}
