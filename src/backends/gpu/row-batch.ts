/**
 * Several answers to one prompt: a row each in every buffer that is a sequence's own, and the same lists of dispatches as
 * for one. A step reads each weight once, is one submit, and one readback. Made for one number of answers at a time, when
 * that is first asked for.
 */
import { WordloomError } from "../../errors";
import { BufferArena, mib } from "../../gpu/buffers";
import { replay, type Dispatch } from "../../gpu/pipelines";
import { ReadbackRing } from "../../gpu/readback-ring";
import { paddedWidth, RECORD_BYTES, type KernelContext } from "../../kernels/kernel";
import {
  HISTORY_HEADER_BYTES,
  historyStride,
  sampleDispatches,
  SUMMARY_BYTES,
  type SamplerBuffers,
  type SamplerKind,
} from "../../kernels/sampling";
import type { BeginRowsOptions, StepResult } from "../backend";
import { slotOf, slotsTaken } from "../row-slots";
import type { FusedOperation } from "./fuse";
import { encodeBreakers, encodeHistory, HISTORY_TOKEN_BYTES } from "./history";
import { Values, type DecodeRows, type Recorder } from "./recording";
import { kindOf, nameOf, PLAIN } from "./sampler-kind";
import { decodeReport, DONE_OFFSET, encodeRecord, POSITION_OFFSET, REPORT_BYTES, TOP_BYTES } from "./sequence-record";

export interface RowBatchOptions {
  kernels: KernelContext;
  device: GPUDevice;
  recorder: Recorder;
  body: readonly FusedOperation[];
  head: Extract<FusedOperation, { kind: "matmul" }>;
  hiddenSize: number;
  vocabSize: number;
  contextLength: number;
  maxBindingBytes: number;
  /** Steps that may be in flight at once. */
  maxInFlight: number;
  /** Bytes that there is still room for. */
  bytesLeft: () => number;
}

/** What the run under way samples with. */
interface Choosing {
  list: readonly Dispatch[];
  topCount: number;
  tokenStatistics: boolean;
}

interface Lists {
  body: readonly Dispatch[];
  head: readonly Dispatch[];
}

export class RowBatch {
  readonly #options: RowBatchOptions;
  readonly #arena: BufferArena;
  readonly #sequences: GPUBuffer;
  readonly #slots: GPUBuffer;
  readonly #x: GPUBuffer;
  readonly #ring: ReadbackRing;
  readonly #buffers: SamplerBuffers;
  readonly #recording: Promise<Lists>;
  readonly #samplers = new Map<string, readonly Dispatch[]>();
  #lists: Lists | undefined;
  #choosing: Choosing | undefined;

  /** @param rows 2 or more */
  private constructor(
    options: RowBatchOptions,
    readonly rows: number,
  ) {
    const { device, recorder, body, head, kernels, hiddenSize, vocabSize, contextLength, maxInFlight } = options;
    this.#options = options;
    const work = (this.#arena = new BufferArena(device, `${rows} answers`));
    this.#sequences = work.storage("sequence records", rows * RECORD_BYTES);
    this.#slots = work.storage("slots", rows * contextLength * 4);
    this.#ring = new ReadbackRing(work, maxInFlight + 2, rows * (REPORT_BYTES + TOP_BYTES));
    const values = new Values(work, "decode", rows);
    const step = { kind: "decode", sequences: this.#sequences } as const;
    const target: DecodeRows = { step, values, rows, work, slots: this.#slots };
    this.#x = values.get("x", hiddenSize);
    const perId = rows * paddedWidth(vocabSize) * 4;
    this.#buffers = {
      sequences: this.#sequences,
      rows,
      logits: values.get(head.to, head.outputs),
      scores: work.storage("scores", perId),
      bias: work.storage("logit bias", vocabSize * 4),
      usage: work.storage("token usage", perId),
      summaries: work.storage("logit summaries", rows * kernels.tier.logitSlices * SUMMARY_BYTES),
      top: work.storage("top log-probabilities", rows * TOP_BYTES),
      vocabSize,
    };
    this.#recording = Promise.all([
      recorder.decode(body, target),
      recorder.decode([head], target),
      this.#sampler(PLAIN),
    ]).then(([bodyList, headList]) => ({ body: bodyList, head: headList }));
    this.#recording.catch(() => undefined); // `make` waits for it
  }

  /** @throws out-of-memory, device-limit; kernel-failed */
  static async make(options: RowBatchOptions, rows: number): Promise<RowBatch> {
    const { vocabSize, contextLength, maxBindingBytes } = options;
    const largest = rows * 4 * Math.max(paddedWidth(vocabSize), contextLength + 1 + HISTORY_HEADER_BYTES);
    if (largest > maxBindingBytes) {
      throw new WordloomError(
        "device-limit",
        `${rows} answers at once need ${mib(largest)} MiB in one buffer; this GPU allows ${mib(maxBindingBytes)} MiB`,
      );
    }
    const batch = new RowBatch(options, rows);
    try {
      batch.#assertRoom();
      await batch.#arena.settled();
      batch.#lists = await batch.#recording;
      return batch;
    } catch (error) {
      await batch.#recording.catch(() => undefined); // it uses the buffers
      batch.destroy();
      throw error;
    }
  }

  #assertRoom(): void {
    const { bytesLeft, contextLength } = this.#options;
    const [wanted, left] = [this.#arena.sizeBytes, bytesLeft()];
    if (wanted <= left) return;
    throw new WordloomError(
      "out-of-memory",
      `${this.rows} answers at once take ${mib(wanted)} MiB more; memoryBudgetBytes leaves ${mib(Math.max(0, left))} MiB`,
      { remedy: `Ask for fewer answers, or load with a context shorter than ${contextLength}.` },
    );
  }

  /** Records a way to sample when it is first asked for, with the buffers that only it needs. */
  async #sampler(kind: SamplerKind): Promise<readonly Dispatch[]> {
    const known = this.#samplers.get(nameOf(kind));
    if (known) return known;
    const { vocabSize, contextLength, kernels } = this.#options;
    if (kind.lookback && !this.#buffers.lookback) {
      const work = this.#arena;
      const tokens = this.rows * (contextLength + 1) * HISTORY_TOKEN_BYTES;
      this.#buffers.lookback = {
        history: work.storage("token histories", HISTORY_HEADER_BYTES + tokens),
        breakers: work.storage("sequence breakers", Math.ceil(vocabSize / 32) * 4),
        matches: work.storage("repeated tokens", this.rows * paddedWidth(vocabSize) * 4),
      };
      this.#assertRoom();
      await work.settled();
    }
    const list = await sampleDispatches(kernels, this.#buffers, kind);
    this.#samplers.set(nameOf(kind), list);
    return list;
  }

  /** Nothing in flight. @param options.seeds as many as there are rows */
  async begin(options: BeginRowsOptions): Promise<void> {
    const { sampling, promptTokens, seeds, maxNewTokens } = options;
    const { device, vocabSize, contextLength } = this.#options;
    const shared = { promptLength: promptTokens.length, rows: this.rows };
    if (seeds.length !== this.rows || slotsTaken(shared, maxNewTokens) > contextLength) {
      throw new WordloomError("internal", `${seeds.length} answers of ${maxNewTokens} tokens are too many`);
    }
    const kind = kindOf(options);
    const list = await this.#sampler(kind);
    const { queue } = device;
    const positions = Uint32Array.from({ length: promptTokens.length + maxNewTokens - 1 }, (_, at) => at);
    seeds.forEach((seed, row) => {
      const record = encodeRecord({ ...options, sampling: { ...sampling, seed } }, contextLength);
      queue.writeBuffer(this.#sequences, row * RECORD_BYTES, record);
      const slots = positions.map((position) => slotOf(row, position, shared));
      queue.writeBuffer(this.#slots, row * contextLength * 4, slots);
    });
    if (kind.adjusted || kind.lookback) this.#writeUsage(options, kind);
    const { lookback } = this.#buffers;
    if (kind.lookback && lookback) {
      const history = encodeHistory(options, contextLength);
      queue.writeBuffer(lookback.history, 0, history, 0, HISTORY_HEADER_BYTES);
      const stride = historyStride(lookback.history, this.rows) * HISTORY_TOKEN_BYTES;
      for (let row = 0; row < this.rows; row++) {
        queue.writeBuffer(lookback.history, HISTORY_HEADER_BYTES + row * stride, history, HISTORY_HEADER_BYTES);
      }
      queue.writeBuffer(lookback.breakers, 0, encodeBreakers(sampling, vocabSize));
      queue.writeBuffer(lookback.matches, 0, new Uint32Array(lookback.matches.size / 4));
    }
    this.#choosing = { list, topCount: sampling.topLogprobs, tokenStatistics: sampling.tokenStatistics };
  }

  #writeUsage({ sampling, promptTokens }: BeginRowsOptions, { lookback }: SamplerKind): void {
    const { device, vocabSize } = this.#options;
    const bias = new Float32Array(vocabSize);
    for (const [id, value] of sampling.logitBias) bias[id] = value;
    device.queue.writeBuffer(this.#buffers.bias, 0, bias);
    const usage = new Uint32Array(vocabSize);
    if (!lookback) for (const id of promptTokens) usage[id] = 0x80000000;
    for (let row = 0; row < this.rows; row++) {
      device.queue.writeBuffer(this.#buffers.usage, row * paddedWidth(vocabSize) * 4, usage);
    }
  }

  /**
   * The first token of each answer, from the prompt's last row.
   *
   * @param encoder holds what computes that row; finished and submitted here
   */
  first(
    encoder: GPUCommandEncoder,
    row: { x: GPUBuffer; offset: number },
    last: { position: number; token: number },
  ): Promise<readonly StepResult[]> {
    const rowBytes = paddedWidth(this.#options.hiddenSize) * 4;
    const { queue } = this.#options.device;
    for (let at = 0; at < this.rows; at++) {
      encoder.copyBufferToBuffer(row.x, row.offset, this.#x, at * rowBytes, rowBytes);
      const offset = at * RECORD_BYTES + POSITION_OFFSET;
      queue.writeBuffer(this.#sequences, offset, Uint32Array.of(last.position, last.token));
    }
    return this.#choose(encoder, this.#recorded().head);
  }

  step(): Promise<readonly StepResult[]> {
    const { body, head } = this.#recorded();
    return this.#choose(this.#options.device.createCommandEncoder({ label: "step" }), [...body, ...head]);
  }

  /** Behind what has been submitted. */
  end(row: number): void {
    this.#options.device.queue.writeBuffer(this.#sequences, row * RECORD_BYTES + DONE_OFFSET, Uint32Array.of(1));
  }

  async #choose(encoder: GPUCommandEncoder, before: readonly Dispatch[]): Promise<readonly StepResult[]> {
    const choosing = this.#choosing;
    if (choosing === undefined) throw new WordloomError("internal", "a step before beginRows()");
    const { list, topCount, tokenStatistics } = choosing;
    const pass = encoder.beginComputePass({ label: "step" });
    replay(pass, before, this.rows);
    replay(pass, list, this.rows);
    pass.end();
    const staging = this.#ring.take();
    if (staging === undefined)
      throw new WordloomError("internal", "more steps of several answers in flight than may be");
    const size = REPORT_BYTES + (topCount > 0 ? TOP_BYTES : 0);
    for (let row = 0; row < this.rows; row++) {
      encoder.copyBufferToBuffer(this.#sequences, row * RECORD_BYTES, staging, row * size, REPORT_BYTES);
      if (topCount === 0) continue;
      const { top } = this.#buffers;
      encoder.copyBufferToBuffer(top, row * TOP_BYTES, staging, row * size + REPORT_BYTES, TOP_BYTES);
    }
    this.#options.device.queue.submit([encoder.finish()]);
    const reports = await this.#ring.read(staging, this.rows * size);
    return Array.from({ length: this.rows }, (_, row) =>
      decodeReport(reports.slice(row * size, (row + 1) * size), topCount, tokenStatistics),
    );
  }

  #recorded(): Lists {
    if (this.#lists === undefined) throw new WordloomError("internal", "several answers before their lists were made");
    return this.#lists;
  }

  destroy(): void {
    this.#arena.destroy();
  }
}
