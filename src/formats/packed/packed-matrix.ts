/**
 * A matrix that a safetensors checkpoint holds in several tensors: small integers, their scales, maybe zero points. Each
 * scheme is a file beside this one; all of them give [outputs, inputs] as f32.
 *
 * Rounding: a weight is the exact product (q − zero) · scale of what the file holds (or q · scale + bias), rounded once
 * to f32. The libraries that write these formats compute the same product in the model's own half precision, so theirs
 * has lost up to 11 (bf16: 8) bits where this one has not.
 */
import { WordloomError } from "../../errors";
import { decodeFloats, type FloatDtype } from "../floats";
import type { SafetensorsTensor } from "../safetensors";

export interface PackedMatrix {
  rows: number;
  columns: number;
  /** The weights themselves: read as they stream by. */
  main: PackedPart;
  /** What else is needed, read whole before; much smaller than `main`. */
  sides: readonly PackedPart[];
  /** Bytes of `main` for each row; undefined where rows are spread over all of it, so that it has to be held whole. */
  rowBytes: number | undefined;
  /**
   * @param sides the bytes of each of `sides`
   * @throws WordloomError file-invalid for values that cannot be right
   */
  decoder(sides: readonly Uint8Array[]): DecodeRows;
  /**
   * The same weights as ggml's Q4_0, bit for bit; undefined where they are not of that form. A scheme that never is has no
   * such method.
   */
  q4_0?(sides: readonly Uint8Array[]): ((packed: Uint8Array, first: number, rows: number) => Uint8Array) | undefined;
}

/**
 * Decodes rows `first` … `first + rows` into `target` [rows, columns]. NaN and infinite scales give weights that are not
 * finite.
 *
 * @param packed the bytes of those rows of `main`; all of it where `rowBytes` is undefined
 */
export type DecodeRows = (packed: Uint8Array, first: number, rows: number, target: Float32Array) => void;

/** A tensor, and the name of the file that it is in, for messages. */
export interface PackedPart extends SafetensorsTensor {
  file: string;
}

/** A linear layer or an embedding, as config.json says it is. */
export interface PackedModule {
  /** Its name in the checkpoint: "model.layers.0.mlp.up_proj". */
  name: string;
  rows: number;
  columns: number;
  /** The checkpoint's tensor of that name; undefined where there is none. */
  find(name: string): PackedPart | undefined;
}

export const FLOAT_DTYPES: readonly FloatDtype[] = ["F32", "F16", "BF16"];

/**
 * The tensor `name`, which must be there.
 *
 * @param shapes those it may have
 * @throws WordloomError tensor-missing, tensor-mismatch
 */
export function needPart(
  module: PackedModule,
  name: string,
  dtypes: readonly string[],
  ...shapes: readonly (readonly number[])[]
): PackedPart {
  const part = module.find(name);
  if (part === undefined) {
    throw new WordloomError("tensor-missing", `${name} is not in the checkpoint, where ${module.name} is quantized`);
  }
  const isShape = (shape: readonly number[]) =>
    shape.length === part.shape.length && shape.every((dimension, i) => dimension === part.shape[i]);
  if (dtypes.includes(part.dtype) && shapes.some(isShape)) return part;
  const needed = `${dtypes.join(" or ")} ${shapes.map((shape) => `[${shape.join(", ")}]`).join(" or ")}`;
  const matrix = `[${module.rows}, ${module.columns}] quantized as config.json says`;
  throw new WordloomError(
    "tensor-mismatch",
    `${part.file}: ${name} is ${part.dtype} [${part.shape.join(", ")}]; ${matrix} has it as ${needed}`,
  );
}

/** @throws WordloomError tensor-mismatch where `size` is no multiple of `unit`, which the format cannot hold */
export function needMultiple({ name }: PackedModule, what: string, size: number, unit: number): void {
  if (size % unit === 0) return;
  const message = `${name} has ${size} ${what}; this quantization holds multiples of ${unit}`;
  throw new WordloomError("tensor-mismatch", message);
}

export function invalidPart({ name, file }: PackedPart, why: string): WordloomError {
  return new WordloomError("file-invalid", `${file}: ${name}: ${why}`);
}

/** All numbers of a float tensor. */
export function floatsOf({ dtype, shape }: PackedPart, bytes: Uint8Array): Float32Array {
  const values = new Float32Array(shape.reduce((product, dimension) => product * dimension, 1));
  decodeFloats(dtype as FloatDtype, bytes, values, values.length); // `needPart` has checked it
  return values;
}
