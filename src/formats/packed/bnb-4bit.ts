/**
 * bitsandbytes' 4-bit formats (nf4, fp4): an index into sixteen values, and the largest magnitude of each block of
 * weights along the flattened matrix.
 *
 *   weight                [n / 2, 1]  U8    weight 2b is in the high nibble of byte b, weight 2b + 1 in the low one
 *   weight.quant_map      [16]        F32   the sixteen values
 *   weight.absmax         [n / block] F32   or, quantized in turn ("double"), U8 with
 *   weight.nested_absmax, weight.nested_quant_map [256] F32:
 *                                     absmax = nested_quant_map[q] · nested_absmax[b / nested block] + nested offset
 *   weight.quant_state.bitsandbytes__nf4  U8: JSON with the sizes of both blocks, the offset and the shape
 *   w[k] = quant_map[q[k]] · absmax[k / block]
 *
 * The nested absmax is rounded to f32 after each operation, as bitsandbytes computes it.
 *
 * Source: Dettmers et al. 2023, "QLoRA"; bitsandbytes' `QuantState.from_dict` and `dequantize_4bit`.
 */
import { WordloomError } from "../../errors";
import {
  floatsOf,
  invalidPart,
  needPart,
  type DecodeRows,
  type PackedMatrix,
  type PackedModule,
  type PackedPart,
} from "./packed-matrix";
import { parseJson } from "../read-json";

/** What the quant_state tensor says; a few hundred bytes. */
const MAX_STATE_BYTES = 64 * 1024;

/** Undefined where the checkpoint holds the module as floats. */
export function bnb4bitMatrix(module: PackedModule): PackedMatrix | undefined {
  const { name, rows, columns } = module;
  const weight = `${name}.weight`;
  if (module.find(weight)?.dtype !== "U8") return undefined;
  const count = rows * columns;
  const main = needPart(module, weight, ["U8"], [Math.ceil(count / 2), 1]);
  const statePart = quantState(module, weight);
  const mapPart = needPart(module, `${weight}.quant_map`, ["F32"], [16]);
  const absmaxPart = needVector(module, `${weight}.absmax`, ["F32", "U8"], count);
  const nested =
    absmaxPart.dtype === "U8"
      ? {
          absmax: needVector(module, `${weight}.nested_absmax`, ["F32"], count),
          map: needPart(module, `${weight}.nested_quant_map`, ["F32"], [256]),
        }
      : undefined;
  const rowBytes = columns % 2 === 0 ? columns / 2 : undefined;
  return {
    rows,
    columns,
    main,
    sides: [statePart, mapPart, absmaxPart, ...(nested === undefined ? [] : [nested.absmax, nested.map])],
    rowBytes,
    decoder([stateBytes, mapBytes, absmaxBytes, nestedBytes, nestedMapBytes]) {
      const state = readState(statePart, stateBytes as Uint8Array, [rows, columns]); // as many as `sides`
      const map = floatsOf(mapPart, mapBytes as Uint8Array);
      checkCount(absmaxPart, count, state.blockSize);
      const absmax =
        nested === undefined
          ? floatsOf(absmaxPart, absmaxBytes as Uint8Array)
          : nestedAbsmax(absmaxBytes as Uint8Array, {
              ...state,
              map: floatsOf(nested.map, nestedMapBytes as Uint8Array),
              absmax: floatsOf(nested.absmax, nestedBytes as Uint8Array),
              part: nested.absmax,
            });
      return nibbleRows(columns, rowBytes === undefined, map, absmax, state.blockSize);
    },
  };
}

function nibbleRows(
  columns: number,
  whole: boolean,
  map: Float32Array,
  absmax: Float32Array,
  blockSize: number,
): DecodeRows {
  return (packed, first, rows, target) => {
    const start = first * columns;
    const from = whole ? start : 0;
    for (let i = 0; i < rows * columns; i++) {
      // All indices are inside by the shapes, and by the check of the number of blocks.
      const pair = packed[(from + i) >> 1] as number;
      const q = ((from + i) & 1) === 0 ? pair >> 4 : pair & 15;
      target[i] = (map[q] as number) * (absmax[Math.floor((start + i) / blockSize)] as number);
    }
  };
}

interface QuantState {
  blockSize: number;
  nestedBlockSize: number;
  nestedOffset: number;
}

function quantState(module: PackedModule, weight: string): PackedPart {
  const found = ["nf4", "fp4"]
    .map((type) => module.find(`${weight}.quant_state.bitsandbytes__${type}`))
    .find((part) => part !== undefined);
  const name = found?.name ?? `${weight}.quant_state.bitsandbytes__nf4`;
  const bytes = found?.shape[0] ?? 0;
  return needPart(module, name, ["U8"], [Math.min(bytes, MAX_STATE_BYTES)]);
}

/** A vector of at most one element for each weight; how many, only the quant_state says. */
function needVector(module: PackedModule, name: string, dtypes: readonly string[], most: number): PackedPart {
  return needPart(module, name, dtypes, [Math.min(module.find(name)?.shape[0] ?? 0, most)]);
}

function readState(part: PackedPart, bytes: Uint8Array, shape: readonly number[]): QuantState {
  const state = parseJson(bytes, `${part.file}: ${part.name}`);
  if (typeof state !== "object" || state === null) throw invalidPart(part, "it holds no JSON object");
  const values = state as Record<string, unknown>; // any object is a record of unknowns
  const positive = (key: string, value: unknown): number => {
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number; // just checked
    throw invalidPart(part, `${key} is ${JSON.stringify(value)}; a positive whole number is expected`);
  };
  if (JSON.stringify(values["shape"]) !== JSON.stringify(shape)) {
    const says = `shape is ${JSON.stringify(values["shape"])}`;
    throw new WordloomError(
      "tensor-mismatch",
      `${part.file}: ${part.name}: ${says}; by config.json it should be [${shape.join(", ")}]`,
    );
  }
  const offset = values["nested_offset"] ?? 0;
  if (typeof offset !== "number") throw invalidPart(part, `nested_offset is ${JSON.stringify(offset)}`);
  return {
    blockSize: positive("blocksize", values["blocksize"]),
    nestedBlockSize: positive("nested_blocksize", values["nested_blocksize"] ?? 1),
    nestedOffset: Math.fround(offset),
  };
}

function checkCount(part: PackedPart, count: number, blockSize: number): void {
  const blocks = Math.ceil(count / blockSize);
  if (part.shape[0] === blocks) return;
  const message = `${part.file}: ${part.name} has ${part.shape[0]} elements; ${count} in blocks of ${blockSize} need ${blocks}`;
  throw new WordloomError("tensor-mismatch", message);
}

function nestedAbsmax(
  q: Uint8Array,
  {
    map,
    absmax,
    part,
    nestedBlockSize,
    nestedOffset,
  }: QuantState & { map: Float32Array; absmax: Float32Array; part: PackedPart },
): Float32Array {
  checkCount(part, q.length, nestedBlockSize);
  return Float32Array.from(
    q,
    // Inside: a byte of 256, and as many blocks as were just counted.
    (index, i) =>
      Math.fround((map[index] as number) * (absmax[Math.floor(i / nestedBlockSize)] as number)) + nestedOffset,
  );
}
