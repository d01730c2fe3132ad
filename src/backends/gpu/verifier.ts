/**
 * Drafts tried out in one submit: a chunk's rows through the head together, then the run's own sampler on one row after
 * the other, until a row was computed with another token than was chosen. All that was chosen comes back at once.
 */
import type { BufferArena } from "../../gpu/buffers";
import { replay, type Dispatch } from "../../gpu/pipelines";
import { ReadbackRing } from "../../gpu/readback-ring";
import { WordloomError } from "../../errors";
import { paddedWidth, type KernelContext } from "../../kernels/kernel";
import { gemm } from "../../kernels/matmul";
import { accept } from "../../kernels/verifying";
import { MAX_DRAFT_TOKENS, type StepResult } from "../backend";
import type { FusedOperation } from "./fuse";
import type { Recorder } from "./recording";
import { decodeReport, DONE_OFFSET, isPaused, REPORT_BYTES, TOP_BYTES } from "./sequence-record";
import type { WeightStore } from "./weight-store";

export interface VerifierOptions {
  kernels: KernelContext;
  device: GPUDevice;
  work: BufferArena;
  recorder: Recorder;
  head: Extract<FusedOperation, { kind: "matmul" }>;
  weights: WeightStore;
  /** The header and tokens of the chunk that prefill runs. */
  chunk: GPUBuffer;
  sequences: GPUBuffer;
  /** [V] f32, which the sampler reads. */
  logits: GPUBuffer;
  /** Of the sampler, where `topLogprobs` are wanted. */
  top: GPUBuffer;
  /** Of a chunk. */
  maxRows: number;
}

/** What the run under way samples with. */
interface RowSampler {
  list: readonly Dispatch[];
  topCount: number;
  tokenStatistics: boolean;
}

/** Made at the first verification, since most runs have none. */
interface Recorded {
  /** The chunk's rows through norm and head. */
  head: readonly Dispatch[];
  accept: Dispatch;
  /** [rows, padded vocabulary] f32 */
  logits: GPUBuffer;
  ring: ReadbackRing;
}

export class Verifier {
  #recorded: Promise<Recorded> | undefined;

  constructor(private readonly options: VerifierOptions) {}

  /** Await before `verify`, which must encode and submit without a pause. */
  prepare(): Promise<Recorded> {
    if (this.#recorded === undefined) {
      this.#recorded = this.#record();
      this.#recorded.catch(() => (this.#recorded = undefined)); // whoever waits for it is told; the next may have room
    }
    return this.#recorded;
  }

  async #record(): Promise<Recorded> {
    const { kernels, work, recorder, head, weights, chunk, sequences, maxRows } = this.options;
    const rows = Math.min(maxRows, MAX_DRAFT_TOKENS + 1);
    const normalized = recorder.prefillValues.get("normalized", head.matrix.columns);
    const logits = work.storage("draft logits", rows * paddedWidth(head.outputs) * 4);
    const product = {
      label: "draft head",
      bias: weights.bias(head.biases),
      epilogue: head.epilogue,
      outputs: head.outputs,
      x: normalized,
      y: logits,
      chunk,
      rows,
    };
    const ring = new ReadbackRing(work, 1, rows * (REPORT_BYTES + TOP_BYTES));
    const [accepting, ...list] = await Promise.all([
      accept(kernels, { sequences, chunk }),
      recorder.normalizeRows(head, normalized),
      ...weights.matrix(head.matrix).map((matrix) => gemm(kernels, { ...product, matrix })),
    ]);
    await work.settled();
    return { head: list, accept: accepting, logits, ring };
  }

  /**
   * @param encoder holds the body of a chunk of `rows` rows already; finished and submitted here
   * @returns the tokens that were chosen, in order
   */
  async verify(
    { head, accept: accepting, logits, ring }: Recorded,
    encoder: GPUCommandEncoder,
    rows: number,
    { list, topCount, tokenStatistics }: RowSampler,
  ): Promise<StepResult[]> {
    const { device, sequences, top, head: product } = this.options;
    const rowBytes = paddedWidth(product.outputs) * 4;
    const staging = ring.take();
    if (staging === undefined) throw new WordloomError("internal", "a verification while another one is under way");
    const heads = encoder.beginComputePass({ label: "draft head" });
    replay(heads, head, rows);
    heads.end();
    for (let row = 0; row < rows; row++) {
      encoder.copyBufferToBuffer(logits, row * rowBytes, this.options.logits, 0, product.outputs * 4);
      const pass = encoder.beginComputePass({ label: "draft choice" });
      replay(pass, list);
      replay(pass, [accepting]);
      pass.end();
      encoder.copyBufferToBuffer(sequences, 0, staging, row * REPORT_BYTES, REPORT_BYTES);
      if (topCount > 0) encoder.copyBufferToBuffer(top, 0, staging, rows * REPORT_BYTES + row * TOP_BYTES, TOP_BYTES);
    }
    device.queue.submit([encoder.finish()]);
    const bytes = await ring.read(staging, rows * (REPORT_BYTES + (topCount > 0 ? TOP_BYTES : 0)));
    const last = bytes.slice((rows - 1) * REPORT_BYTES, rows * REPORT_BYTES);
    // The host knows now, so that the next step goes on; it is submitted behind this.
    if (isPaused(last)) device.queue.writeBuffer(sequences, DONE_OFFSET, new Uint32Array(1));
    const results: StepResult[] = [];
    for (let row = 0; row < rows; row++) {
      const result = decodeReport(reportOf(bytes, row, rows, topCount), topCount, tokenStatistics);
      if (row > 0 && result.count === results[row - 1]?.count) break; // paused, or over: this row chose nothing
      results.push(result);
    }
    return results;
  }
}

/** A row's report with its likeliest tokens behind it, as a step's. */
function reportOf(bytes: ArrayBuffer, row: number, rows: number, topCount: number): ArrayBuffer {
  const report = new Uint8Array(REPORT_BYTES + (topCount > 0 ? TOP_BYTES : 0));
  report.set(new Uint8Array(bytes, row * REPORT_BYTES, REPORT_BYTES));
  if (topCount > 0) report.set(new Uint8Array(bytes, rows * REPORT_BYTES + row * TOP_BYTES, TOP_BYTES), REPORT_BYTES);
  return report.buffer;
}
