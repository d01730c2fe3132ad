/** Short forms for the tables that say where a decoder's tensors come from. */
import type { TensorBinding } from "./decoder-spec";

/** A part of the table for one tensor: its own name, size and checkpoint names. */
type Fused = Pick<TensorBinding, "rows">;

/** A matrix that the checkpoint holds as it is, [rows, columns]. */
export function matrix(name: string, rows: number, columns: number, from: readonly string[]): TensorBinding {
  return { name, shape: [rows, columns], from, transpose: false };
}

/** A matrix that the checkpoint holds as [columns, rows]. */
export function transposed(
  name: string,
  rows: number,
  columns: number,
  from: readonly string[],
  fused: Fused = {},
): TensorBinding {
  return { name, shape: [rows, columns], from, transpose: true, ...fused };
}

export function vector(name: string, width: number, from: readonly string[], fused: Fused = {}): TensorBinding {
  return { name, shape: [1, width], from, transpose: false, ...fused };
}

/** `name` with the prefix that most exports have, and without it. */
export function withAndWithout(prefix: string, name: string): readonly string[] {
  return [prefix + name, name];
}
