/** The weights in GPU buffers: allocated from the fused list, filled piece by piece while they load. */
import { WordloomError } from "../../errors";
import { isKFormat } from "../../formats/k-quants";
import { packRows, rowLayout, type HeldDtype, type PackedRows } from "../../formats/quantization";
import type { BufferArena } from "../../gpu/buffers";
import { paddedWidth, type MatrixPart, type NormInput, type QueryKeyNormInput } from "../../kernels/kernel";
import type { AttentionSpec, DecoderSpec, TensorName } from "../../models/decoder-spec";
import type { KeptSink, WeightSink } from "../backend";
import type { FusedVector, FusedMatrix, FusedNorm, FusedQueryKeyNorm } from "./fuse";
import type { FormatOf } from "./held-formats";

/** Where some rows of a tensor go. */
interface Destination {
  /** Rows `firstRow` … `firstRow + rows − 1` of the tensor. */
  firstRow: number;
  rows: number;
  /** Packs and uploads rows; `row` is the index within this destination. */
  write(row: number, rows: number, values: Float32Array): void;
  /** Uploads rows that are packed already; undefined where they are not held in a matrix's format. */
  writePacked?(row: number, rows: number, packed: PackedRows): void;
}

interface Stretch {
  format: HeldDtype;
  from: number;
  /** Exclusive. */
  to: number;
}

export class WeightStore implements WeightSink {
  #destinations = new Map<TensorName, Destination[]>();
  #shapes: ReadonlyMap<TensorName, readonly [rows: number, columns: number]>;
  #matrices = new Map<string, MatrixPart[]>();
  #vectorBuffers = new Map<string, GPUBuffer>();
  #reuse: PackedRows | undefined;

  constructor(
    private readonly device: GPUDevice,
    private readonly arena: BufferArena,
    spec: DecoderSpec,
    private readonly formatOf: FormatOf,
    /** Most bytes one buffer of weights may have. */
    private readonly maxPartBytes: number,
  ) {
    this.#shapes = new Map(spec.tensors.map(({ name, shape }) => [name, shape]));
  }

  /**
   * A matrix of one or more tensors, split by rows where its format changes and where one binding would be too large.
   * Asked for twice (a tied head), it is the same.
   */
  matrix(matrix: FusedMatrix): readonly MatrixPart[] {
    const key = matrix.weights.map(({ name }) => name).join();
    const known = this.#matrices.get(key);
    if (known !== undefined) return known;
    const stretches = this.#stretches(matrix);
    const parts = stretches.flatMap((stretch) => this.#parts(matrix, key, stretch));
    this.#matrices.set(key, parts);
    return parts;
  }

  /** Rows of the product (gated: of gates) that are held in one format. */
  #stretches({ weights, gated }: FusedMatrix): Stretch[] {
    const all: Stretch[] = [];
    let at = 0;
    for (const { name, rows } of gated ? weights.slice(0, 1) : weights) {
      const format = this.formatOf(name);
      const last = all.at(-1);
      if (last?.format === format) last.to += rows;
      else all.push({ format, from: at, to: at + rows });
      at += rows;
    }
    return all;
  }

  #parts({ weights, columns, gated }: FusedMatrix, key: string, { format, from, to }: Stretch): MatrixPart[] {
    const { wordsPerRow, scaleWordsPerRow } = rowLayout(format, columns);
    const most = Math.floor(this.maxPartBytes / (wordsPerRow * 4));
    const sources = gated ? weights.length : 1;
    const rowsPerPart = Math.floor(most / sources);
    if (rowsPerPart < 1) {
      throw new WordloomError(
        "device-limit",
        `one row of ${key} has ${wordsPerRow * 4} bytes; this GPU binds ${this.maxPartBytes}`,
      );
    }
    const parts: MatrixPart[] = [];
    for (let firstRow = from; firstRow < to; firstRow += rowsPerPart) {
      const rows = Math.min(rowsPerPart, to - firstRow);
      const held = rows * sources;
      const label = to - from > rowsPerPart || from > 0 ? `${key} rows ${firstRow}…` : key;
      const part: MatrixPart = {
        format,
        rows: held,
        columns,
        firstRow,
        weights: this.arena.storage(label, held * wordsPerRow * 4),
        scales: scaleWordsPerRow === 0 ? undefined : this.arena.storage(`${label} scales`, held * scaleWordsPerRow * 4),
      };
      parts.push(part);
      if (gated) {
        // The same span of gates and of ups, one after the other.
        weights.forEach(({ name }, index) => this.#send(name, firstRow, rows, part, index * rows));
      } else {
        this.#sendSpan(weights, firstRow, rows, part);
      }
    }
    return parts;
  }

  /** Rows `firstRow` … of tensors laid one after the other, wherever the tensors' borders fall. */
  #sendSpan(weights: FusedMatrix["weights"], firstRow: number, rows: number, part: MatrixPart): void {
    let start = 0;
    for (const { name, rows: ofTensor } of weights) {
      const from = Math.max(firstRow, start);
      const to = Math.min(firstRow + rows, start + ofTensor);
      if (from < to) this.#send(name, from - start, to - from, part, from - firstRow);
      start += ofTensor;
    }
  }

  #send(name: TensorName, firstRow: number, rows: number, part: MatrixPart, partRow: number): void {
    const { format } = part;
    const { wordsPerRow, scaleWordsPerRow } = rowLayout(format, part.columns);
    const upload = (row: number, count: number, packed: PackedRows) => {
      const at = partRow + row;
      this.#upload(part.weights, at * wordsPerRow * 4, packed.quants, count * wordsPerRow);
      if (part.scales !== undefined && packed.scales !== undefined) {
        this.#upload(part.scales, at * scaleWordsPerRow * 4, packed.scales, count * scaleWordsPerRow);
      }
    };
    this.#addDestination(name, {
      firstRow,
      rows,
      write: (row, count, values) => {
        if (isKFormat(format))
          throw new WordloomError("internal", `${name} can be taken as ${format} only, not as f32`);
        this.#reuse = packRows(format, values, count, part.columns, this.#reuse);
        upload(row, count, this.#reuse);
      },
      writePacked: upload,
    });
  }

  #upload(buffer: GPUBuffer, offset: number, words: Uint32Array, count: number): void {
    this.device.queue.writeBuffer(buffer, offset, words, 0, count);
  }

  /** Vectors one after the other in f32, each padded as activations are: a norm's weight and shift. */
  norm({ spec, weight, bias }: FusedNorm): NormInput {
    const width = paddedWidth(this.#widthOf(weight));
    const parts = [
      { name: weight, rows: width },
      { name: bias, rows: width },
    ];
    return { kind: spec.kind, eps: spec.eps, weights: this.#vectors(parts) };
  }

  /** The norms of q and k as one buffer, without padding. */
  queryKeyNorm({ over, query, key }: FusedQueryKeyNorm, heads: AttentionSpec): QueryKeyNormInput {
    const [queryWidth, keyWidth] = [this.#widthOf(query.weight), this.#widthOf(key.weight)];
    const weights = this.#vectors([
      { name: query.weight, rows: queryWidth },
      { name: query.bias, rows: queryWidth },
      { name: key.weight, rows: keyWidth },
      { name: key.bias, rows: keyWidth },
    ]);
    const [queryParts, keyParts] = over === "all" ? [1, 1] : [heads.headCount, heads.keyValueHeadCount];
    return {
      kind: query.spec.kind,
      eps: query.spec.eps,
      query: { parts: queryParts, width: queryWidth },
      key: { parts: keyParts, width: keyWidth },
      weights,
    };
  }

  /** Biases one after the other in f32, without padding; undefined if there are none. */
  bias(biases: readonly FusedVector[]): GPUBuffer | undefined {
    return biases.length === 0 ? undefined : this.#vectors(biases);
  }

  /** A matrix that stays f32: [rows, columns padded to 4]. */
  plainRows(name: TensorName): GPUBuffer {
    const columns = this.#widthOf(name);
    const rows = this.rowsOf(name);
    const { wordsPerRow } = rowLayout("f32", columns);
    const buffer = this.arena.storage(name, rows * wordsPerRow * 4);
    this.#addDestination(name, {
      firstRow: 0,
      rows,
      write: (row, count, values) => {
        const packed = packRows("f32", values, count, columns);
        this.#upload(buffer, row * wordsPerRow * 4, packed.quants, count * wordsPerRow);
      },
    });
    return buffer;
  }

  /** Vectors one after the other in f32, each with room for `rows` numbers; those without a name stay zero. */
  #vectors(parts: readonly FusedVector[]): GPUBuffer {
    const key = parts.map(({ name, rows }) => name ?? String(rows)).join();
    const known = this.#vectorBuffers.get(key);
    if (known !== undefined) return known;
    const width = parts.reduce((sum, { rows }) => sum + rows, 0);
    const buffer = this.arena.storage(key, width * 4);
    let first = 0;
    for (const { name, rows } of parts) {
      const at = first;
      first += rows;
      if (name === undefined) continue;
      this.#addDestination(name, {
        firstRow: 0,
        rows: 1,
        write: (_row, _rows, values) => this.device.queue.writeBuffer(buffer, at * 4, new Float32Array(values)),
      });
    }
    this.#vectorBuffers.set(key, buffer);
    return buffer;
  }

  rowsOf(name: TensorName): number {
    return this.#shapeOf(name)[0];
  }

  #widthOf(name: TensorName): number {
    return this.#shapeOf(name)[1];
  }

  #shapeOf(name: TensorName): readonly [rows: number, columns: number] {
    const shape = this.#shapes.get(name);
    if (shape === undefined) throw new WordloomError("internal", `the model has no tensor ${name}`);
    return shape;
  }

  #addDestination(name: TensorName, destination: Destination): void {
    const list = this.#destinations.get(name);
    if (list === undefined) this.#destinations.set(name, [destination]);
    else list.push(destination);
  }

  readonly kept: KeptSink = {
    formatOf: (name) =>
      this.#destinationsOf(name).every(({ writePacked }) => writePacked) ? this.formatOf(name) : undefined,
    write: (name, firstRow, rows, packed) => {
      this.#write(name, firstRow, rows, (destination, from, to) =>
        destination.writePacked?.(firstRow + from - destination.firstRow, to - from, rowsOf(packed, rows, from, to)),
      );
    },
  };

  write(name: TensorName, firstRow: number, values: Float32Array): void {
    const columns = this.#widthOf(name);
    this.#write(name, firstRow, values.length / columns, (destination, from, to) => {
      const part = values.subarray(from * columns, to * columns);
      try {
        destination.write(firstRow + from - destination.firstRow, to - from, part);
      } catch (error) {
        if (!(error instanceof WordloomError)) throw error;
        // Which rows do not fit is known below, which tensor they are of only here.
        const { code, message, remedy } = error;
        throw new WordloomError(code, `${name}, from row ${firstRow + from}: ${message}`, { remedy, cause: error });
      }
    });
  }

  /** Calls `hand` for each destination that has some of the rows, which are counted from `firstRow` on. */
  #write(
    name: TensorName,
    firstRow: number,
    rows: number,
    hand: (destination: Destination, from: number, to: number) => void,
  ): void {
    for (const destination of this.#destinationsOf(name)) {
      const from = Math.max(firstRow, destination.firstRow);
      const to = Math.min(firstRow + rows, destination.firstRow + destination.rows);
      if (from < to) hand(destination, from - firstRow, to - firstRow);
    }
  }

  #destinationsOf(name: TensorName): readonly Destination[] {
    const destinations = this.#destinations.get(name);
    if (destinations === undefined) throw new WordloomError("internal", `no operation reads the tensor ${name}`);
    return destinations;
  }

  async drained(): Promise<void> {
    await this.device.queue.onSubmittedWorkDone();
  }
}

/** Rows `from` to `to` of `rows` packed ones. */
function rowsOf({ quants, scales }: PackedRows, rows: number, from: number, to: number): PackedRows {
  const part = (words: Uint32Array) => words.subarray((from * words.length) / rows, (to * words.length) / rows);
  return { quants: part(quants), scales: scales && part(scales) };
}
