/** Log-probabilities of given tokens: a chunk's rows through norm and head, a slice of rows at a time. */
import type { BufferArena } from "../../gpu/buffers";
import { replay, type Dispatch } from "../../gpu/pipelines";
import { paddedWidth, type KernelContext } from "../../kernels/kernel";
import { gemm } from "../../kernels/matmul";
import { tokenLogprobs } from "../../kernels/sampling";
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
  maxRows: number;
  maxBindingBytes: number;
}

/** What a scored slice needs; made at the first score, since most generators never score. */
interface Recorded {
  rows: number;
  /** The chunk's rows through the final norm. */
  normalize: Dispatch;
  normalized: GPUBuffer;
  /** One slice of them, through the head, to log-probabilities. */
  slice: readonly Dispatch[];
  x: GPUBuffer;
  targets: GPUBuffer;
  logprobs: GPUBuffer;
  /** [maxRows] of the whole chunk. */
  allTargets: GPUBuffer;
  allLogprobs: GPUBuffer;
}

export class Scorer {
  #recorded: Promise<Recorded> | undefined;

  constructor(private readonly options: ScorerOptions) {}

  /** Await before `score`, which must encode and submit without a pause. */
  prepare(): Promise<Recorded> {
    return (this.#recorded ??= this.#record());
  }

  async #record(): Promise<Recorded> {
    const { kernels, work, recorder, head, weights, maxRows, maxBindingBytes, device } = this.options;
    const { columns } = head.matrix;
    const stride = paddedWidth(head.outputs);
    const rows = Math.max(1, Math.min(MOST_SLICE_ROWS, maxRows, Math.floor(maxBindingBytes / (stride * 4))));
    const x = work.storage("score x", rows * paddedWidth(columns) * 4);
    const logits = work.storage("score logits", rows * stride * 4);
    const targets = work.storage("score targets", rows * 4);
    const logprobs = work.storage("score log-probabilities", rows * 4);
    // A slice is always whole: rows beyond the chunk are computed from what is left there, and not read.
    // Its tokens are not read, but a binding must hold the header and one of them at least.
    const chunk = work.storage("score chunk", (4 + rows) * 4);
    device.queue.writeBuffer(chunk, 0, new Uint32Array([0, rows, 0, 0]));
    const normalized = recorder.prefillValues.get("normalized", columns);
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
    const [normalize, slice] = await Promise.all([
      recorder.normalizeRows(head, normalized),
      Promise.all([
        ...weights.matrix(head.matrix).map((matrix) => gemm(kernels, { ...product, matrix })),
        tokenLogprobs(kernels, { logits, targets, y: logprobs, rows, vocabSize: head.outputs, stride }),
      ]),
    ]);
    const allTargets = work.storage("score targets of the chunk", (maxRows + rows) * 4);
    const allLogprobs = work.storage("score log-probabilities of the chunk", (maxRows + rows) * 4);
    await work.settled();
    return { rows, normalize, normalized, slice, x, targets, logprobs, allTargets, allLogprobs };
  }

  /**
   * @param encoder holds the chunk's body already; finished and submitted here
   * @param targets [rows of the chunk]
   * @returns [rows of the chunk]
   */
  async score(recorded: Recorded, encoder: GPUCommandEncoder, targets: Uint32Array): Promise<Float32Array> {
    const { device } = this.options;
    const { rows, normalize, normalized, slice, x, allTargets, allLogprobs } = recorded;
    const rowBytes = paddedWidth(this.options.head.matrix.columns) * 4;
    device.queue.writeBuffer(allTargets, 0, new Uint32Array(targets));
    const norm = encoder.beginComputePass({ label: "score norm" });
    replay(norm, [normalize], targets.length);
    norm.end();
    for (let first = 0; first < targets.length; first += rows) {
      const count = Math.min(rows, targets.length - first);
      encoder.copyBufferToBuffer(normalized, first * rowBytes, x, 0, count * rowBytes);
      encoder.copyBufferToBuffer(allTargets, first * 4, recorded.targets, 0, rows * 4);
      const pass = encoder.beginComputePass({ label: "score head" });
      replay(pass, slice, rows);
      pass.end();
      encoder.copyBufferToBuffer(recorded.logprobs, 0, allLogprobs, first * 4, rows * 4);
    }
    const size = targets.length * 4;
    const staging = device.createBuffer({
      label: "scores readback",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    try {
      encoder.copyBufferToBuffer(allLogprobs, 0, staging, 0, size);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      return new Float32Array(staging.getMappedRange().slice(0));
    } finally {
      staging.destroy();
    }
  }
}
