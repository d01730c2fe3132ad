import { WordloomError } from "../errors";
import { gridOf, read, write, type Dispatch } from "../gpu/pipelines";
import { checkSize, makeDispatch, paddedWidth, RECORD_BYTES, type KernelContext } from "./kernel";

/** Bytes before the tokens of shaders/lib/history.wgsl. */
export const HISTORY_HEADER_BYTES = 32;
/** Bytes of one SliceSummary (shaders/lib/logits.wgsl). */
export const SUMMARY_BYTES = 32;

/** Of several sequences, [V] stands for [rows, paddedWidth(V)], and what else is one's own has a row for each, too. */
export interface SamplerBuffers {
  /** The record, shaders/lib/sequence.wgsl. */
  sequences: GPUBuffer;
  /** Sequences that choose at once; default 1. */
  rows?: number;
  /** [V] f32 */
  logits: GPUBuffer;
  /** [V] f32 */
  scores: GPUBuffer;
  /** [V] f32, one for all */
  bias: GPUBuffer;
  /** [V] u32 */
  usage: GPUBuffer;
  /** [tier.logitSlices] SliceSummary */
  summaries: GPUBuffer;
  /** [20, 2] u32 */
  top: GPUBuffer;
  /** What looks back at the tokens needs; see shaders/lib/history. */
  lookback?: LookbackBuffers | undefined;
  /** [V] f32, with `processed`: the logits as the caller's own processor has left them. */
  processed?: GPUBuffer | undefined;
  /** [ceil(V / 32)] u32, with `masked`: a bit for each id that may be chosen. */
  allowed?: GPUBuffer | undefined;
  vocabSize: number;
}

export interface LookbackBuffers {
  /** shaders/lib/history.wgsl */
  history: GPUBuffer;
  /** [ceil(V / 32)] u32 */
  breakers: GPUBuffer;
  /** [V] u32, zero at first */
  matches: GPUBuffer;
}

/** A way to sample; each has its own pipelines, so that one costs nothing where it is not wanted. */
export interface SamplerKind {
  /** Biases or penalties are set. */
  adjusted: boolean;
  /** Something looks at the tokens in their order, or counts them. */
  lookback: boolean;
  /** The scores come from the caller's own processor. */
  processed: boolean;
  /** Only some ids may be chosen. */
  masked: boolean;
  /** A cut by the distribution's shape is wanted. */
  shaped: boolean;
  statistics: boolean;
  /** The likeliest are wanted, too. */
  top: boolean;
}

/** Workgroups that history_scan has at most: enough to fill a GPU, and on a CPU hardly any. */
const MOST_SCANNERS = { subgroups: 128, workgroup: 128, cpu: 4 };

/**
 * The dispatches that turn logits into the next token; see shaders/history_scan, logits_adjust, logits_reduce,
 * logits_top, sample.
 *
 * @param kept [V] f32, for tests: takes the weights that a draw is made from
 */
export function sampleDispatches(
  context: KernelContext,
  buffers: SamplerBuffers,
  kind: SamplerKind,
  kept?: GPUBuffer,
): Promise<Dispatch[]> {
  const { tier } = context;
  const { sequences, rows = 1, logits, scores, bias, usage, summaries, vocabSize } = buffers;
  const several = rows > 1;
  const lookback = kind.lookback ? needed("lookback", buffers.lookback) : undefined;
  const source = kind.processed ? needed("processed logits", buffers.processed) : logits;
  const allowed = kind.masked ? needed("mask", buffers.allowed) : undefined;
  const adjusted = kind.adjusted || kind.lookback || kind.processed || kind.masked;
  const stride = paddedWidth(vocabSize);
  const perId = several ? rows * stride * 4 : vocabSize * 4;
  checkSize("sequences", sequences, rows * RECORD_BYTES);
  checkSize("logits", source, perId);
  checkSize("summaries", summaries, rows * tier.logitSlices * SUMMARY_BYTES);
  if (several && (allowed || kind.processed))
    throw new WordloomError("internal", "a mask or a processor for several rows");
  const rowDefines = several ? { ROWS: true } : {};
  const rowShape = several ? { V_STRIDE: stride } : {};
  const shape = { V: vocabSize, SLICES: tier.logitSlices, ...rowShape };
  const defines = { STEP: "decode", ADJUSTED: adjusted, ...rowDefines };
  const historyShape = several && lookback ? { HISTORY_STRIDE: historyStride(lookback.history, rows) } : {};
  const list: Promise<Dispatch>[] = [];
  if (lookback) {
    const { history, breakers, matches } = lookback;
    checkSize("matches", matches, perId);
    const places = historyStride(history, rows);
    const groups = Math.min(Math.ceil(places / tier.workgroupSize), MOST_SCANNERS[tier.reduction]);
    list.push(
      makeDispatch(context, "history_scan", {
        label: "history_scan",
        ...(several && { defines: rowDefines }),
        constants: { ...rowShape, ...historyShape },
        bindings: { 0: read(sequences), 1: read(history), 2: read(breakers), 3: write(usage), 6: write(matches) },
        grid: () => [groups, 1, rows],
      }),
    );
  }
  if (adjusted) {
    checkSize("scores", scores, perId);
    checkSize("usage", usage, perId);
    const [x, y] = gridOf(Math.ceil(vocabSize / tier.workgroupSize));
    list.push(
      makeDispatch(context, "logits_adjust", {
        label: "logits_adjust",
        defines: { HISTORY: lookback !== undefined, MASKED: allowed !== undefined, ...rowDefines },
        constants: { V: vocabSize, ...rowShape },
        bindings: {
          0: read(sequences),
          1: read(source),
          2: read(bias),
          3: lookback ? write(usage) : read(usage),
          4: lookback && write(lookback.matches),
          5: lookback && read(lookback.history),
          6: write(scores),
          7: allowed && read(allowed),
        },
        grid: () => [x, y, rows],
      }),
    );
  }
  list.push(
    makeDispatch(context, "logits_reduce", {
      label: "logits_reduce",
      defines,
      constants: shape,
      bindings: { 0: read(sequences), 1: read(logits), 2: adjusted ? read(scores) : undefined, 6: write(summaries) },
      grid: () => [tier.logitSlices, 1, rows],
    }),
  );
  if (kind.top) {
    list.push(
      makeDispatch(context, "logits_top", {
        label: "logits_top",
        ...(several && { defines: rowDefines }),
        constants: shape,
        workgroupSize: tier.samplerSize,
        bindings: { 0: read(sequences), 1: read(logits), 4: read(summaries), 6: write(buffers.top) },
        grid: () => [1, 1, rows],
      }),
    );
  }
  const { shaped: SHAPED, statistics: STATISTICS } = kind;
  list.push(
    makeDispatch(context, "sample", {
      label: "sample",
      defines: { ...defines, HISTORY: lookback !== undefined, SHAPED, STATISTICS, KEPT: kept !== undefined },
      constants: { ...shape, ...historyShape, RADIX_BITS: tier.samplerRadixBits },
      workgroupSize: tier.samplerSize,
      bindings: {
        0: write(sequences),
        1: read(adjusted ? scores : logits),
        2: adjusted ? read(logits) : undefined,
        3: adjusted ? write(lookback?.history ?? usage) : undefined,
        4: read(summaries),
        6: kept && write(kept),
      },
      grid: () => [1, 1, rows],
    }),
  );
  return Promise.all(list);
}

/** Places for tokens that each of `rows` sequences has. */
export const historyStride = (history: GPUBuffer, rows: number) =>
  Math.floor((history.size - HISTORY_HEADER_BYTES) / 4 / rows);

function needed<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new WordloomError("internal", `the sampler was given no ${name}`);
  return value;
}
