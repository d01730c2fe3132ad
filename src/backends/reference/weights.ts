/** The reference backend's weights: float32 arrays, rounded on the way in to what the chosen dtype can hold. */
import { WordloomError } from "../../errors";
import type { DecoderSpec, TensorName } from "../../models/decoder-spec";
import type { WeightDtype, WeightSink } from "../backend";

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

interface StoredTensor {
  rows: number;
  columns: number;
  rowsWritten: number;
  values: Float32Array;
}

export class ReferenceWeights implements WeightSink {
  private readonly tensors: ReadonlyMap<TensorName, StoredTensor>;
  readonly sizeBytes: number;

  /**
   * @param matrices the tensors that `round` applies to (see `weightMatrices`)
   * @param round undefined: keep float32
   */
  constructor(
    spec: DecoderSpec,
    private readonly matrices: ReadonlySet<TensorName>,
    private readonly round: ((values: Float32Array, rows: number, columns: number) => Float32Array) | undefined,
    readonly format: WeightDtype = "f32",
  ) {
    this.tensors = new Map(
      spec.tensors.map(({ name, shape: [rows, columns] }) => [
        name,
        { rows, columns, rowsWritten: 0, values: new Float32Array(rows * columns) },
      ]),
    );
    this.sizeBytes = [...this.tensors.values()].reduce((sum, { values }) => sum + values.byteLength, 0);
  }

  /** @throws internal for an unknown tensor, parts of rows, rows beyond the tensor, and rows out of turn */
  write(name: TensorName, firstRow: number, values: Float32Array, kept?: Parameters<WeightSink["write"]>[3]): void {
    const tensor = this.tensor(name);
    const rows = values.length / tensor.columns;
    if (!Number.isInteger(rows) || firstRow !== tensor.rowsWritten || firstRow + rows > tensor.rows) {
      throw new WordloomError(
        "internal",
        `${name} takes row ${tensor.rowsWritten} of ${tensor.rows} next, in rows of ${tensor.columns}; ` +
          `${values.length} values for row ${firstRow} were written`,
      );
    }
    // What is kept as it is stands for just these values.
    const rounds = this.matrices.has(name) && kept === undefined;
    const rounded = rounds ? this.round?.(values.slice(), rows, tensor.columns) : undefined;
    tensor.values.set(rounded ?? values, firstRow * tensor.columns);
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
