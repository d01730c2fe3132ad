/**
 * A plain way from a float32 safetensors file to a backend's weights, for tests: everything in memory, no checks. It
 * shares no code with the shipped loader, so that each is a check on the other.
 */
import type { WeightSink } from "../backends/backend";
import type { DecoderSpec, TensorBinding } from "../models/decoder-spec";

export interface CheckpointTensor {
  shape: readonly number[];
  values: Float32Array;
}

/** @param bytes a whole safetensors file whose tensors are F32 */
export function readFloat32Safetensors(bytes: Uint8Array): Map<string, CheckpointTensor> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dataStart = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, dataStart))) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >; // as the safetensors format says
  const tensors = new Map<string, CheckpointTensor>();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    if (dtype !== "F32") throw new Error(`${name} is ${dtype}; this reader knows F32 only`);
    const [start, end] = data_offsets;
    // Copied by the constructor, for alignment (a Node Buffer's own slice would not copy).
    const values = new Float32Array(new Uint8Array(bytes.subarray(dataStart + start, dataStart + end)).buffer);
    tensors.set(name, { shape, values });
  }
  return tensors;
}

/** Writes all of a decoder's tensors from a checkpoint. */
export function fillFromCheckpoint(
  sink: WeightSink,
  spec: DecoderSpec,
  checkpoint: ReadonlyMap<string, CheckpointTensor>,
): void {
  for (const binding of spec.tensors) sink.write(binding.name, 0, bindTensor(binding, checkpoint));
}

/** @returns [rows, columns] of one decoder tensor */
export function bindTensor(
  { name, from, shape: [rows, columns], transpose, rows: part, offset = 0 }: TensorBinding,
  checkpoint: ReadonlyMap<string, CheckpointTensor>,
): Float32Array {
  const source = from.map((candidate) => checkpoint.get(candidate)).find((tensor) => tensor !== undefined);
  if (source === undefined) throw new Error(`${name}: none of ${from.join(", ")} is in the checkpoint`);
  // Of a convolution: [columns, 1, taps].
  const shape = source.shape.length === 3 ? source.shape.filter((_, dimension) => dimension !== 1) : source.shape;
  const isVector = shape.length === 1;
  const wholeRows = part?.of ?? (isVector ? columns : rows);
  const expected = isVector ? [wholeRows] : transpose ? [columns, wholeRows] : [wholeRows, columns];
  if (String(shape) !== String(expected)) {
    throw new Error(`${name}: the checkpoint has [${source.shape}], the config says [${expected}]`);
  }
  const { size, stride } = part?.blocks ?? { size: rows * columns, stride: 0 };
  /** Of the decoder's row (a vector: element) in the checkpoint. */
  const sourceRow = (row: number) => (part?.first ?? 0) + Math.floor(row / size) * stride + (row % size);
  return Float32Array.from({ length: rows * columns }, (_, index) => {
    const [row, column] = [Math.floor(index / columns), index % columns];
    const at = isVector
      ? sourceRow(index)
      : transpose
        ? column * wholeRows + sourceRow(row)
        : sourceRow(row) * columns + column;
    return (source.values[at] as number) + offset; // inside, by the check above
  });
}
