/**
 * From a checkpoint to a backend: weights stream through, converted to f32 on the way, and never pile up. Matrices that
 * the file holds as the backend does go there as they are, without that detour.
 *
 * All headers are read and checked first (checkpoint-plan). Then each file is read once, in file order, in pieces of
 * whole rows. The exception is a transposed matrix, whose rows are spread over all of it: it is held whole, one at a time.
 */
import type { WeightSink } from "../backends/backend";
import { WordloomError } from "../errors";
import { firstNonFinite } from "../formats/floats";
import { decodeGgml } from "../formats/ggml-decode";
import { allFinite, keepRows, keptAs, type KeptRows } from "../formats/ggml-kept";
import { blockSize } from "../formats/ggml-types";
import type { DecoderSpec } from "../models/decoder-spec";
import type { ModelFile, ModelFiles } from "../storage/model-files";
import { ByteReader } from "./byte-reader";
import {
  planCheckpoint,
  type Checkpoint,
  type PackedTensor,
  type PlainTensor,
  type PlannedFile,
  type PlannedTensor,
  type TensorUse,
} from "./checkpoint-plan";
import { SideReader } from "./side-reader";

/** Bytes handed over at a time, as f32 or as they are: one writeBuffer, measured fastest in Chrome. A longer row goes alone. */
export const PIECE_BYTES = 4 * 1024 * 1024;

/** Bytes written between two waits for the sink, each for what was written before the wait before it. */
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
  let onPassed: (file: ModelFile, position: number) => void = () => undefined;
  const loader = new Loader(sink, new SideReader(plan, (file, position) => onPassed(file, position)));
  let bytesBefore = 0;
  for (const planned of plan) {
    const { file, start, end } = planned;
    let reportedMs = -Infinity;
    let reached = start;
    const report = (position: number) => {
      // What lies beside quantized matrices may be fetched first, and with it what is before it.
      reached = Math.max(reached, Math.min(position, end));
      const nowMs = performance.now();
      if (position < end && nowMs - reportedMs < REPORT_INTERVAL_MS) return;
      reportedMs = nowMs;
      onProgress?.({ file: file.name, loadedBytes: bytesBefore + reached - start, totalBytes });
    };
    onPassed = (passed, position) => {
      if (passed === file) report(position);
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
  #keptBuffers: KeptRows["reusable"];
  /** Rows of a transposed matrix. */
  #turned = new Float32Array(0);
  #undrained = 0;
  #draining: Promise<void> = Promise.resolve();

  constructor(
    private readonly sink: WeightSink,
    private readonly sides: SideReader,
  ) {}

  async loadFile(
    { file, tensors, start, end }: PlannedFile,
    onRead: (position: number) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const [first] = tensors;
    if (first === undefined) return onRead(end); // all that is needed of it lies beside matrices of other files
    // The sides of quantized matrices may come from the file's end: before the stream is open, so that it need not wait.
    if (first.packed !== undefined) await this.sides.fetch(first.packed, signal);
    const stream = await file.stream({ start, end, ...(signal === undefined ? {} : { signal }) });
    const reader = new ByteReader(stream, start, file.name, onRead);
    try {
      for (const tensor of tensors) {
        await reader.skipTo(tensor.source.start);
        if (tensor.packed !== undefined) {
          await this.#loadPacked(reader, tensor, signal);
          continue;
        }
        const isKept = (use: TensorUse) => this.#isKept(use, tensor);
        const [kept, others] = [tensor.uses.filter(isKept), tensor.uses.filter((use) => !isKept(use))];
        const whole = others.some(({ transpose }) => transpose);
        const rowsAtOnce = whole
          ? tensor.rows
          : rowsPerPiece(others.length > 0 ? 4 * tensor.columns : rowBytes(tensor));
        for (let row = 0; row < tensor.rows; row += rowsAtOnce) {
          const rows = Math.min(rowsAtOnce, tensor.rows - row);
          const bytes = await this.#read(reader, rows * rowBytes(tensor));
          if (others.length > 0) {
            const values = this.#decode(tensor, bytes, row, rows);
            for (const use of others) await this.#hand(use, tensor, row, rows, values, signal);
          }
          if (kept.length > 0) {
            if (others.length === 0 && !allFinite(tensor.dtype, bytes)) this.#decode(tensor, bytes, row, rows);
            const packed = keepRows(tensor.dtype, bytes, rows, tensor.columns, this.#keptBuffers);
            this.#keptBuffers = packed.reusable ?? this.#keptBuffers;
            for (const use of kept) await this.#handKept(use, row, rows, packed, signal);
          }
          signal?.throwIfAborted();
        }
      }
      if (reader.position < end) onRead(end); // what is needed after the last of them was read beside it
    } finally {
      await reader.close();
    }
  }

  /** A quantized matrix: decoded in pieces of rows, from what is read of them, or from all of it held. */
  async #loadPacked(reader: ByteReader, tensor: PackedTensor, signal: AbortSignal | undefined): Promise<void> {
    const { matrix } = tensor.packed;
    const { rowBytes } = matrix;
    const sides = await this.sides.take(tensor.packed, signal);
    const decode = matrix.decoder(sides);
    const wantsQ4 = ({ name }: TensorUse) => this.sink.kept?.formatOf(name) === keptAs("Q4_0");
    const q4_0 = tensor.uses.some(wantsQ4) ? matrix.q4_0?.(sides) : undefined;
    const [kept, others] = [tensor.uses.filter(wantsQ4), tensor.uses.filter((use) => !wantsQ4(use))];
    const { start, end } = matrix.main;
    const whole = rowBytes === undefined ? await this.#read(reader, end - start) : undefined;
    const rowsAtOnce = rowsPerPiece(4 * tensor.columns);
    for (let row = 0; row < tensor.rows; row += rowsAtOnce) {
      const rows = Math.min(rowsAtOnce, tensor.rows - row);
      const bytes = whole ?? (await this.#read(reader, rows * (rowBytes ?? 0)));
      if (q4_0 === undefined || others.length > 0) {
        const values = this.#valuesOf(rows * tensor.columns);
        decode(bytes, row, rows, values);
        checkFinite(tensor, values, row);
        for (const use of q4_0 === undefined ? tensor.uses : others) {
          await this.#hand(use, tensor, row, rows, values, signal);
        }
      }
      if (q4_0 !== undefined) {
        const packed = keepRows("Q4_0", q4_0(bytes, row, rows), rows, tensor.columns, this.#keptBuffers);
        this.#keptBuffers = packed.reusable ?? this.#keptBuffers;
        for (const use of kept) await this.#handKept(use, row, rows, packed, signal);
      }
      signal?.throwIfAborted();
    }
  }

  /** Whether the sink holds this part of the tensor in the file's own format. */
  #isKept(use: TensorUse, { dtype, source }: PlainTensor): boolean {
    const format = keptAs(dtype);
    const isMatrix = source.shape.length === 2 && !use.transpose;
    return isMatrix && format !== undefined && this.sink.kept?.formatOf(use.name) === format;
  }

  /** The next bytes; the result is overwritten by the next call. */
  async #read(reader: ByteReader, byteCount: number): Promise<Uint8Array> {
    if (this.#bytes.length < byteCount) this.#bytes = new Uint8Array(Math.ceil(byteCount / 4) * 4);
    const bytes = this.#bytes.subarray(0, byteCount);
    await reader.readInto(bytes);
    return bytes;
  }

  /**
   * @returns f32; overwritten by the next call
   * @throws file-invalid for a weight that is not finite
   */
  #decode(tensor: PlainTensor, bytes: Uint8Array, row: number, rows: number): Float32Array {
    const count = rows * tensor.columns;
    const values = this.#valuesOf(count);
    decodeGgml(tensor.dtype, bytes, values, count);
    checkFinite(tensor, values, row);
    return values;
  }

  /** Room for so many; that of the call before is the same. */
  #valuesOf(count: number): Float32Array {
    if (this.#values.length < count) this.#values = new Float32Array(count);
    return this.#values.subarray(0, count);
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
    const step = rowsPerPiece(4 * use.columns);
    for (const run of use.runs) {
      const to = Math.min(row + rows, run.from + run.count);
      for (let at = Math.max(row, run.from); at < to; at += step) {
        const until = Math.min(to, at + step);
        const part = values.subarray((at - row) * use.columns, (until - row) * use.columns);
        await this.#write(use.name, at - run.from + run.to, part, signal);
      }
    }
  }

  /** As #hand, in the file's own format; a piece of it, or of as many rows as a transposed use needs at once. */
  async #handKept(
    use: TensorUse,
    row: number,
    rows: number,
    packed: KeptRows,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    for (const run of use.runs) {
      const [from, to] = [Math.max(row, run.from), Math.min(row + rows, run.from + run.count)];
      if (from >= to) continue;
      const part = packed.slice(from - row, to - row);
      this.sink.kept?.write(use.name, from - run.from + run.to, to - from, part);
      this.parameterCount += (to - from) * use.columns;
      await this.#wrote(part.quants.byteLength + (part.scales?.byteLength ?? 0), signal);
    }
  }

  /** `values` is the whole matrix [use.columns, tensor.columns]; its columns are the rows that are wanted. */
  async #handTransposed(
    use: TensorUse,
    tensor: PlannedTensor,
    values: Float32Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const step = rowsPerPiece(4 * use.columns);
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

  async #write(name: string, firstRow: number, values: Float32Array, signal: AbortSignal | undefined): Promise<void> {
    this.sink.write(name, firstRow, values);
    this.parameterCount += values.length;
    await this.#wrote(values.byteLength, signal);
  }

  /** Waits for what was written longer ago: one stretch of bytes is taken up while the next one is read. */
  async #wrote(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    this.#undrained += bytes;
    if (this.#undrained < DRAIN_BYTES) return;
    this.#undrained = 0;
    const before = this.#draining;
    this.#draining = this.sink.drained();
    this.#draining.catch(() => undefined); // awaited at the next stretch, or by the sink's last drain
    await before;
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

/** @param values rows `row` … of the tensor */
function checkFinite({ source, file, columns }: PlannedTensor, values: Float32Array, row: number): void {
  const bad = firstNonFinite(values);
  if (bad < 0) return;
  const place = `[${row + Math.floor(bad / columns)}, ${bad % columns}]`;
  throw new WordloomError("file-invalid", `${file}: ${source.name}${place} is ${values[bad]}; weights must be finite`);
}

/** In the file. */
function rowBytes({ dtype, columns }: PlainTensor): number {
  const { elements, bytes } = blockSize(dtype);
  return (columns / elements) * bytes; // rows are whole blocks
}

function rowsPerPiece(bytesPerRow: number): number {
  return Math.max(1, Math.floor(PIECE_BYTES / bytesPerRow));
}
