/** The reference backend's weights: float32 arrays, rounded on the way in to what the chosen dtype can hold. */
import { WordloomError } from "../../errors";
import type { DecoderSpec, TensorName } from "../../models/decoder-spec";
import type { KeptSink, WeightDtype, WeightSink } from "../backend";

/**
 * What values become when held as `dtype`.
 *
 * @param values [rows, columns]; may be changed in place and returned
 */
export type RoundRows = (
  dtype: Exclude<WeightDtype, "f32">,
  values: Float32Array,
  rows: number,
  columns: number,
) => Float32Array;

/** The values that rows in a format stand for. @returns [rows, columns] f32 */
export type UnpackRows = (
  format: WeightDtype,
  packed: Parameters<KeptSink["write"]>[3],
  rows: number,
  columns: number,
) => Float32Array;

/** Rows that are taken as they are, and how. */
export interface TakenAsTheyAre {
  format: WeightDtype;
  unpack: UnpackRows;
}

interface StoredTensor {
  rows: number;
  columns: number;
  rowsWritten: number;
  values: Float32Array;
}

export class ReferenceWeights implements WeightSink {
  private readonly tensors: ReadonlyMap<TensorName, StoredTensor>;
  readonly sizeBytes: number;

  readonly kept: KeptSink | undefined;

  /**
   * @param matrices the tensors that `round` applies to (see `weightMatrices`)
   * @param round undefined: keep float32
   * @param taken rows in a format, which are not rounded; undefined: none
   */
  constructor(
    spec: DecoderSpec,
    private readonly matrices: ReadonlySet<TensorName>,
    private readonly round: ((values: Float32Array, rows: number, columns: number) => Float32Array) | undefined,
    taken?: TakenAsTheyAre,
  ) {
    this.kept = taken && {
      formatOf: (name) => (matrices.has(name) ? taken.format : undefined),
      write: (name, firstRow, rows, packed) => {
        this.store(name, firstRow, taken.unpack(taken.format, packed, rows, this.tensor(name).columns));
      },
    };
    this.tensors = new Map(
      spec.tensors.map(({ name, shape: [rows, columns] }) => [
        name,
        { rows, columns, rowsWritten: 0, values: new Float32Array(rows * columns) },
      ]),
    );
    this.sizeBytes = [...this.tensors.values()].reduce((sum, { values }) => sum + values.byteLength, 0);
  }

  /** @throws internal for an unknown tensor, parts of rows, rows beyond the tensor, and rows out of turn */
  write(name: TensorName, firstRow: number, values: Float32Array): void {
    const { columns } = this.tensor(name);
    const round = this.matrices.has(name) ? this.round : undefined;
    const rows = values.length / columns;
    this.store(name, firstRow, round && Number.isInteger(rows) ? round(values.slice(), rows, columns) : values);
  }

  private store(name: TensorName, firstRow: number, values: Float32Array): void {
    const tensor = this.tensor(name);
    const rows = values.length / tensor.columns;
    if (!Number.isInteger(rows) || firstRow !== tensor.rowsWritten || firstRow + rows > tensor.rows) {
      throw new WordloomError(
        "internal",
        `${name} takes row ${tensor.rowsWritten} of ${tensor.rows} next, in rows of ${tensor.columns}; ` +
          `${values.length} values for row ${firstRow} were written`,
      );
    }
    tensor.values.set(values, firstRow * tensor.columns);
    tensor.rowsWritten += rows;
  }

  async drained(): Promise<void> {}

  /** [rows, columns] */
  get(name: TensorName): Float32Array {
    return this.tensor(name).values;
  }

  /** @throws internal naming the first tensor that has not been written to its end */
  assertComplete(): void {
    for (const [name, { rows, rowsWritten }] of this.tensors) {
      if (rowsWritten < rows) throw new WordloomError("internal", `${name} has ${rowsWritten} of ${rows} rows`);
    }
  }

  private tensor(name: TensorName): StoredTensor {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) throw new WordloomError("internal", `the decoder has no tensor ${name}`);
    return tensor;
  }
}
