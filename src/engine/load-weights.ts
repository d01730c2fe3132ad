/**
 * From a checkpoint to a backend: weights stream through, converted to f32 on the way, and never pile up. Those that lie
 * on the grid on which the backend holds matrices go there as they are, too.
 *
 * All headers are read and checked first (checkpoint-plan). Then each file is read once, in file order, in pieces of
 * whole rows. The exception is a transposed matrix, whose rows are spread over all of it: it is held whole, one at a time.
 */
import type { WeightSink } from "../backends/backend";
import { WordloomError } from "../errors";
import { firstNonFinite } from "../formats/floats";
import { decodeGgml } from "../formats/ggml-decode";
import { keepRows, keptAs, type KeptRows } from "../formats/ggml-kept";
import { blockSize } from "../formats/ggml-types";
import type { DecoderSpec } from "../models/decoder-spec";
import type { PackedRows } from "../formats/quantization";
import type { ModelFiles } from "../storage/model-files";
import { ByteReader } from "./byte-reader";
import {
  planCheckpoint,
  type Checkpoint,
  type PlannedFile,
  type PlannedTensor,
  type TensorUse,
} from "./checkpoint-plan";

/** f32 bytes handed over at a time: one writeBuffer, measured fastest in Chrome. A longer row goes alone. */
export const PIECE_BYTES = 4 * 1024 * 1024;

/** f32 bytes written between two waits for the sink. */
const DRAIN_BYTES = 4 * PIECE_BYTES;

/** Between two reports while bytes come: often enough for a person to see them move, also where the network is slow. */
const REPORT_INTERVAL_MS = 100;

export interface WeightProgress {
  file: string;
  /** Over all files; from the first to the last needed tensor of each. */
  loadedBytes: number;
  totalBytes: number;
}

export interface LoadWeightsOptions {
  files: ModelFiles;
  spec: DecoderSpec;
  /** Where its headers have been read already; see planCheckpoint. */
  checkpoint?: Checkpoint | undefined;
  sink: WeightSink;
  /** Called at the start and the end of each file, and on the way as bytes come. */
  onProgress?: ((progress: WeightProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * @returns the bytes read, and the number of weights handed to the sink
 * @throws WordloomError model-not-found, tensor-missing, tensor-mismatch, model-unsupported (dtype): before any weight;
 *   file-invalid (also for NaN and infinite weights), network-failed, access-denied; `signal.reason` if it aborts
 */
export async function loadWeights({
  files,
  spec,
  checkpoint,
  sink,
  onProgress,
  signal,
}: LoadWeightsOptions): Promise<{ loadedBytes: number; parameterCount: number }> {
  signal?.throwIfAborted();
  const plan = await planCheckpoint(files, spec, signal, checkpoint);
  const totalBytes = plan.reduce((sum, { start, end }) => sum + end - start, 0);
  const loader = new Loader(sink);
  let bytesBefore = 0;
  for (const planned of plan) {
    const { file, start, end } = planned;
    let reportedMs = -Infinity;
    const report = (position: number) => {
      const nowMs = performance.now();
      if (position < end && nowMs - reportedMs < REPORT_INTERVAL_MS) return;
      reportedMs = nowMs;
      onProgress?.({ file: file.name, loadedBytes: bytesBefore + position - start, totalBytes });
    };
    report(start);
    await loader.loadFile(planned, report, signal);
    bytesBefore += end - start;
  }
  await sink.drained();
  signal?.throwIfAborted();
  return { loadedBytes: bytesBefore, parameterCount: loader.parameterCount };
}

/** Holds the buffers that all pieces of all files go through. */
class Loader {
  parameterCount = 0;
  #bytes = new Uint8Array(0);
  #values = new Float32Array(0);
  /** The rows that were read last, as the sink holds them; undefined where they have to be rounded to that. */
  #kept: KeptRows | undefined;
  #keptBuffers: KeptRows | undefined;
  /** Rows of a transposed matrix. */
  #turned = new Float32Array(0);
  #undrained = 0;

  constructor(private readonly sink: WeightSink) {}

  async loadFile(
    { file, tensors, start, end }: PlannedFile,
    onRead: (position: number) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const stream = await file.stream({ start, end, ...(signal === undefined ? {} : { signal }) });
    const reader = new ByteReader(stream, start, file.name, onRead);
    try {
      for (const tensor of tensors) {
        await reader.skipTo(tensor.source.start);
        const whole = tensor.uses.some(({ transpose }) => transpose);
        const rowsAtOnce = whole ? tensor.rows : rowsPerPiece(tensor.columns);
        for (let row = 0; row < tensor.rows; row += rowsAtOnce) {
          const rows = Math.min(rowsAtOnce, tensor.rows - row);
          const values = await this.#read(reader, tensor, row, rows);
          for (const use of tensor.uses) await this.#hand(use, tensor, row, rows, values, signal);
          signal?.throwIfAborted();
        }
      }
    } finally {
      await reader.close();
    }
  }

  /** The next `rows` rows; the result is overwritten by the next call. */
  async #read(reader: ByteReader, tensor: PlannedTensor, row: number, rows: number): Promise<Float32Array> {
    const count = rows * tensor.columns;
    const { elements, bytes: blockBytes } = blockSize(tensor.dtype);
    const byteCount = (count / elements) * blockBytes; // rows are whole blocks
    if (this.#bytes.length < byteCount) this.#bytes = new Uint8Array(byteCount);
    if (this.#values.length < count) this.#values = new Float32Array(count);
    const bytes = this.#bytes.subarray(0, byteCount);
    await reader.readInto(bytes);
    const values = this.#values.subarray(0, count);
    decodeGgml(tensor.dtype, bytes, values, count);
    const bad = firstNonFinite(values);
    if (bad >= 0) {
      const place = `[${row + Math.floor(bad / tensor.columns)}, ${bad % tensor.columns}]`;
      const message = `${tensor.file}: ${tensor.source.name}${place} is ${values[bad]}; weights must be finite`;
      throw new WordloomError("file-invalid", message);
    }
    const isKept = this.sink.format !== undefined && this.sink.format === keptAs(tensor.dtype);
    this.#kept = isKept ? keepRows(tensor.dtype, bytes, rows, tensor.columns, this.#keptBuffers) : undefined;
    this.#keptBuffers = this.#kept ?? this.#keptBuffers;
    return values;
  }

  /** Writes what rows `row` … `row + rows` of the checkpoint's tensor hold of a decoder tensor. */
  async #hand(
    use: TensorUse,
    tensor: PlannedTensor,
    row: number,
    rows: number,
    values: Float32Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (use.transpose) return this.#handTransposed(use, tensor, values, signal);
    if (tensor.source.shape.length === 1) return this.#write(use.name, 0, vectorOf(use, values), signal);
    const step = rowsPerPiece(use.columns);
    for (const run of use.runs) {
      const to = Math.min(row + rows, run.from + run.count);
      for (let at = Math.max(row, run.from); at < to; at += step) {
        const until = Math.min(to, at + step);
        const part = values.subarray((at - row) * use.columns, (until - row) * use.columns);
        await this.#write(use.name, at - run.from + run.to, part, signal, this.#kept?.slice(at - row, until - row));
      }
    }
  }

  /** `values` is the whole matrix [use.columns, tensor.columns]; its columns are the rows that are wanted. */
  async #handTransposed(
    use: TensorUse,
    tensor: PlannedTensor,
    values: Float32Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const step = rowsPerPiece(use.columns);
    for (const run of use.runs) {
      for (let at = 0; at < run.count; at += step) {
        const rows = Math.min(step, run.count - at);
        if (this.#turned.length < rows * use.columns) this.#turned = new Float32Array(rows * use.columns);
        const turned = this.#turned.subarray(0, rows * use.columns);
        // Down the file's rows outside, so that it is read in order.
        for (let column = 0; column < use.columns; column++) {
          const from = column * tensor.columns + run.from + at;
          for (let r = 0; r < rows; r++) turned[r * use.columns + column] = values[from + r] as number; // inside by the plan
        }
        await this.#write(use.name, run.to + at, turned, signal);
      }
    }
  }

  async #write(
    name: string,
    firstRow: number,
    values: Float32Array,
    signal: AbortSignal | undefined,
    kept?: PackedRows,
  ): Promise<void> {
    this.sink.write(name, firstRow, values, kept);
    this.parameterCount += values.length;
    this.#undrained += values.byteLength;
    if (this.#undrained < DRAIN_BYTES) return;
    this.#undrained = 0;
    await this.sink.drained();
    signal?.throwIfAborted();
  }
}

/** The elements of a checkpoint's vector that are the decoder's, in an array of their own only where they are changed. */
function vectorOf({ runs, columns, offset }: TensorUse, values: Float32Array): Float32Array {
  const [first] = runs;
  if (runs.length === 1 && first !== undefined && offset === 0)
    return values.subarray(first.from, first.from + columns);
  const own = new Float32Array(columns);
  for (const { from, to, count } of runs) own.set(values.subarray(from, from + count), to);
  return offset === 0 ? own : own.map((value) => value + offset);
}

function rowsPerPiece(columns: number): number {
  return Math.max(1, Math.floor(PIECE_BYTES / (4 * columns)));
}
