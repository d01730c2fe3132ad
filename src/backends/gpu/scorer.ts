/**
 * What the model says of given tokens, and the hidden states it says it from: a chunk's rows through the final norm,
 * and then through the head, a slice of rows at a time, so that the logits of a whole text are never held at once.
 */
import type { BufferArena } from "../../gpu/buffers";
import { replay, type Dispatch } from "../../gpu/pipelines";
import { paddedWidth, type KernelContext } from "../../kernels/kernel";
import { gemm } from "../../kernels/matmul";
import { STATISTICS_BYTES, sumRows, tokenStatistics } from "../../kernels/scoring";
import type { Pooling, ScoredRows } from "../backend";
import type { FusedOperation } from "./fuse";
import type { Recorder } from "./recording";
import type { WeightStore } from "./weight-store";

/** Rows whose logits are held at once; fewer for a vocabulary whose rows would not fit one binding. */
const MOST_SLICE_ROWS = 32;

export interface ScorerOptions {
  kernels: KernelContext;
  device: GPUDevice;
  work: BufferArena;
  recorder: Recorder;
  head: Extract<FusedOperation, { kind: "matmul" }>;
  weights: WeightStore;
  /** The header and tokens of the chunk that prefill runs. */
  chunk: GPUBuffer;
  maxRows: number;
  maxBindingBytes: number;
}

/** What a scored slice needs; made at the first score, since most generators never score. */
interface Recorded {
  rows: number;
  /** One slice of normalized rows, through the head, to statistics. */
  slice: readonly Dispatch[];
  x: GPUBuffer;
  targets: GPUBuffer;
  statistics: GPUBuffer;
  /** [maxRows] of the whole chunk. */
  allTargets: GPUBuffer;
  allStatistics: GPUBuffer;
}

/** The chunk's rows through the final norm. */
interface Normalized {
  normalize: Dispatch;
  /** [maxRows, padded hidden size] */
  rows: GPUBuffer;
  /** Their sum, for the mean: [padded hidden size]. */
  sum: Dispatch;
  summed: GPUBuffer;
}

export class Scorer {
  #recorded: Promise<Recorded> | undefined;
  #normalized: Promise<Normalized> | undefined;

  constructor(private readonly options: ScorerOptions) {}

  /** Await before `score` and `hiddenState`, which must encode and submit without a pause. */
  async prepare(): Promise<{ normalized: Normalized; recorded: Recorded }> {
    const normalized = await this.prepareStates();
    return { normalized, recorded: await (this.#recorded ??= this.#record()) };
  }

  prepareStates(): Promise<Normalized> {
    return (this.#normalized ??= this.#recordStates());
  }

  async #recordStates(): Promise<Normalized> {
    const { kernels, work, recorder, head, maxRows, chunk } = this.options;
    const { columns } = head.matrix;
    const rows = recorder.prefillValues.get("normalized", columns);
    const summed = work.storage("sum of hidden states", paddedWidth(columns) * 4);
    const [normalize, sum] = await Promise.all([
      recorder.normalizeRows(head, rows),
      sumRows(kernels, { chunk, x: rows, y: summed, rows: maxRows, width: columns }),
    ]);
    await work.settled();
    return { normalize, rows, sum, summed };
  }

  async #record(): Promise<Recorded> {
    const { kernels, work, head, weights, maxRows, maxBindingBytes, device } = this.options;
    const { columns } = head.matrix;
    const stride = paddedWidth(head.outputs);
    const rows = Math.max(1, Math.min(MOST_SLICE_ROWS, maxRows, Math.floor(maxBindingBytes / (stride * 4))));
    const x = work.storage("score x", rows * paddedWidth(columns) * 4);
    const logits = work.storage("score logits", rows * stride * 4);
    const targets = work.storage("score targets", rows * 4);
    const statistics = work.storage("score statistics", rows * STATISTICS_BYTES);
    // A slice is always whole: rows beyond the chunk are computed from what is left there, and not read.
    // Its tokens are not read, but a binding must hold the header and one of them at least.
    const chunk = work.storage("score chunk", (4 + rows) * 4);
    device.queue.writeBuffer(chunk, 0, new Uint32Array([0, rows, 0, 0]));
    const product = {
      label: "score head",
      bias: weights.bias(head.biases),
      epilogue: head.epilogue,
      outputs: head.outputs,
      x,
      y: logits,
      chunk,
      rows,
    };
    const slice = await Promise.all([
      ...weights.matrix(head.matrix).map((matrix) => gemm(kernels, { ...product, matrix })),
      tokenStatistics(kernels, { logits, targets, y: statistics, rows, vocabSize: head.outputs, stride }),
    ]);
    const allTargets = work.storage("score targets of the chunk", (maxRows + rows) * 4);
    const allStatistics = work.storage("score statistics of the chunk", (maxRows + rows) * STATISTICS_BYTES);
    await work.settled();
    return { rows, slice, x, targets, statistics, allTargets, allStatistics };
  }

  /**
   * @param encoder holds the chunk's body already; finished and submitted here
   * @param targets [rows of the chunk]
   */
  async score(
    { normalized, recorded }: { normalized: Normalized; recorded: Recorded },
    encoder: GPUCommandEncoder,
    targets: Uint32Array,
  ): Promise<ScoredRows> {
    const { rows, slice, x, allTargets, allStatistics } = recorded;
    const rowBytes = paddedWidth(this.options.head.matrix.columns) * 4;
    this.options.device.queue.writeBuffer(allTargets, 0, new Uint32Array(targets));
    const norm = encoder.beginComputePass({ label: "score norm" });
    replay(norm, [normalized.normalize], targets.length);
    norm.end();
    for (let first = 0; first < targets.length; first += rows) {
      const count = Math.min(rows, targets.length - first);
      encoder.copyBufferToBuffer(normalized.rows, first * rowBytes, x, 0, count * rowBytes);
      encoder.copyBufferToBuffer(allTargets, first * 4, recorded.targets, 0, rows * 4);
      const pass = encoder.beginComputePass({ label: "score head" });
      replay(pass, slice, rows);
      pass.end();
      const [at, size] = [first * STATISTICS_BYTES, rows * STATISTICS_BYTES];
      encoder.copyBufferToBuffer(recorded.statistics, 0, allStatistics, at, size);
    }
    const words = await this.#read(encoder, allStatistics, 0, targets.length * STATISTICS_BYTES);
    const floats = new Float32Array(words);
    const wholes = new Uint32Array(words);
    // Four words a row were read.
    const wordOf = (row: number, place: number) => (row * STATISTICS_BYTES) / 4 + place;
    return {
      logprobs: Float32Array.from(targets, (_, row) => floats[wordOf(row, 0)] as number),
      entropies: Float32Array.from(targets, (_, row) => floats[wordOf(row, 1)] as number),
      ranks: Uint32Array.from(targets, (_, row) => wholes[wordOf(row, 2)] as number),
    };
  }

  /**
   * The sum of a chunk's hidden states after the final norm, or the last of them.
   *
   * @param encoder holds the chunk's body already; finished and submitted here
   * @returns [hidden size]
   */
  async hiddenState(
    { normalize, rows, sum, summed }: Normalized,
    encoder: GPUCommandEncoder,
    count: number,
    pooling: Pooling,
  ): Promise<Float32Array> {
    const { columns } = this.options.head.matrix;
    const pass = encoder.beginComputePass({ label: "hidden states" });
    replay(pass, pooling === "mean" ? [normalize, sum] : [normalize], count);
    pass.end();
    const rowBytes = paddedWidth(columns) * 4;
    const read =
      pooling === "mean"
        ? this.#read(encoder, summed, 0, columns * 4)
        : this.#read(encoder, rows, (count - 1) * rowBytes, columns * 4);
    return new Float32Array(await read);
  }

  /** Submits, and reads back. */
  async #read(encoder: GPUCommandEncoder, from: GPUBuffer, offset: number, size: number): Promise<ArrayBuffer> {
    const { device } = this.options;
    const staging = device.createBuffer({
      label: "scores readback",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    try {
      encoder.copyBufferToBuffer(from, offset, staging, 0, size);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      return staging.getMappedRange().slice(0);
    } finally {
      staging.destroy();
    }
  }
}
