/** In which format each matrix is held, and what that takes. */
import { packedBytes, type HeldDtype, type WeightDtype } from "../../formats/quantization";
import type { TensorName } from "../../models/decoder-spec";
import type { FusedMatrix } from "./fuse";

export type FormatOf = (name: TensorName) => HeldDtype;

/** Every matrix as its file has it, where that is a format of blocks that can be held. */
export interface PublishedFormats {
  /** Of most weights. */
  dtype: HeldDtype;
  /** All, that of most weights first. */
  formats: readonly HeldDtype[];
  formatOf: FormatOf;
  bytes: number;
}

/**
 * @param fileFormats how the file holds matrices; those it does not name are of other types
 * @returns undefined where most weights are floats, or of types that cannot be held as they are
 */
export function publishedFormats(
  matrices: readonly FusedMatrix[],
  fileFormats: ReadonlyMap<TensorName, HeldDtype>,
): PublishedFormats | undefined {
  const inFile = new Map<TensorName, HeldDtype>();
  for (const { weights, gated } of matrices) {
    const formats = weights.map(({ name }) => fileFormats.get(name));
    // The epilogue of a gated product takes a gate and its up from one dispatch, and so from one format.
    const differ = gated && new Set(formats).size > 1;
    weights.forEach(({ name }, i) => {
      const format = differ ? undefined : formats[i];
      if (format !== undefined && format !== "f32" && format !== "f16") inFile.set(name, format);
    });
  }
  const [most] = byElements(matrices, (name) => inFile.get(name));
  if (most === undefined) return undefined;
  /** Of what has another type: no coarser than most of the file. */
  const rest: WeightDtype = most === "q4" ? "q4" : "q8";
  const formatOf: FormatOf = (name) => inFile.get(name) ?? rest;
  const formats = byElements(matrices, formatOf);
  return { dtype: formats[0] ?? most, formats, formatOf, bytes: weightBytes(matrices, formatOf) };
}

/** The formats there are, that of most weights first. */
function byElements<Format>(matrices: readonly FusedMatrix[], formatOf: (name: TensorName) => Format): Format[] {
  const elements = new Map<Format, number>();
  for (const { name, rows, columns } of tensorsOf(matrices)) {
    const format = formatOf(name);
    elements.set(format, (elements.get(format) ?? 0) + rows * columns);
  }
  return [...elements].sort(([, a], [, b]) => b - a).map(([format]) => format);
}

/** Bytes that the weights will take, before anything is allocated. */
export function weightBytes(matrices: readonly FusedMatrix[], formatOf: FormatOf): number {
  return tensorsOf(matrices).reduce(
    (sum, { name, rows, columns }) => sum + packedBytes(formatOf(name), rows, columns),
    0,
  );
}

/** Each once, also where two operations read it. */
function tensorsOf(matrices: readonly FusedMatrix[]) {
  const tensors = new Map<TensorName, { name: TensorName; rows: number; columns: number }>();
  for (const { weights, columns } of matrices) {
    for (const { name, rows } of weights) tensors.set(name, { name, rows, columns });
  }
  return [...tensors.values()];
}
