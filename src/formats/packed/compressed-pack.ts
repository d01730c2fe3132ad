/**
 * compressed-tensors' "pack-quantized": integers packed along the inputs, offset so that none is negative.
 *
 *   weight_packed     [outputs, inputs · bits / 32]  I32   q + 2^(bits − 1), see bit-fields; the last word may be padded
 *   weight_scale      [outputs, groups]              float
 *   weight_zero_point [outputs · bits / 32, groups]  I32   the same along the outputs; only where it is asymmetric
 *   weight_g_idx      [inputs]                       I32   the group of each input; where it is missing, input / groupSize
 *   weight_shape      [2]                            I64   outputs, inputs
 *   w[o, i] = (q[o, i] − zero[o, g]) · scale[o, g]
 *
 * Source: compressed-tensors' `compressors/quantized_compressors/pack_quantized.py`.
 */
import { WordloomError } from "../../errors";
import { unpackFields, wordsOf } from "./bit-fields";
import {
  FLOAT_DTYPES,
  floatsOf,
  invalidPart,
  needPart,
  type PackedMatrix,
  type PackedModule,
  type PackedPart,
} from "./packed-matrix";

export interface CompressedPackOptions {
  /** 4 or 8. */
  bits: number;
  /** Inputs that share a scale; undefined: all of a row. */
  groupSize: number | undefined;
  symmetric: boolean;
  /** Groups follow the order in which the inputs were quantized, so that weight_g_idx has to be there. */
  ordered: boolean;
}

/** Undefined where the checkpoint holds the module as floats. */
export function compressedPackMatrix(module: PackedModule, options: CompressedPackOptions): PackedMatrix | undefined {
  const { name, rows, columns } = module;
  const weight = `${name}.weight`;
  if (module.find(`${weight}_packed`) === undefined) return undefined;
  const { bits, symmetric, ordered } = options;
  const groupSize = options.groupSize ?? columns;
  const groups = Math.ceil(columns / groupSize);
  const wordsPerRow = Math.ceil((columns * bits) / 32);
  const main = needPart(module, `${weight}_packed`, ["I32"], [rows, wordsPerRow]);
  const scalePart = needPart(module, `${weight}_scale`, FLOAT_DTYPES, [rows, groups]);
  const shapePart = needPart(module, `${weight}_shape`, ["I64", "I32"], [2]);
  const zeroRows = Math.ceil((rows * bits) / 32);
  const zeroPart = symmetric ? undefined : needPart(module, `${weight}_zero_point`, ["I32"], [zeroRows, groups]);
  const indexPart = ordered ? needPart(module, `${weight}_g_idx`, ["I32"], [columns]) : undefined;
  const optional = [zeroPart, indexPart].filter((part) => part !== undefined);
  return {
    rows,
    columns,
    main,
    sides: [scalePart, shapePart, ...optional],
    rowBytes: 4 * wordsPerRow,
    decoder([scaleBytes, shapeBytes, ...rest]) {
      checkShape(shapePart, shapeBytes as Uint8Array, rows, columns); // as many as `sides`, as below
      const scales = floatsOf(scalePart, scaleBytes as Uint8Array);
      const zeros = new Uint8Array(rows * groups).fill(2 ** (bits - 1));
      if (zeroPart !== undefined) {
        const words = wordsOf(rest[0] as Uint8Array);
        const column = new Uint8Array(rows);
        for (let g = 0; g < groups; g++) {
          unpackFields(words, g, groups, bits, rows, column);
          for (let r = 0; r < rows; r++) zeros[r * groups + g] = column[r] as number; // r < rows
        }
      }
      const groupOf = Uint32Array.from({ length: columns }, (_, input) => Math.floor(input / groupSize));
      if (indexPart !== undefined) {
        wordsOf(rest.at(-1) as Uint8Array).forEach((group, input) => {
          if (group >= groups) throw invalidPart(indexPart, `input ${input} is in group ${group | 0} of ${groups}`);
          groupOf[input] = group;
        });
      }
      return (packed, first, count, target) => {
        const words = wordsOf(packed);
        for (let r = 0; r < count; r++) {
          unpackFields(words, r * wordsPerRow, 1, bits, columns, target, r * columns);
          for (let input = 0, to = r * columns; input < columns; input++, to++) {
            // All indices are inside by the shapes; a group by the check of g_idx.
            const at = (first + r) * groups + (groupOf[input] as number);
            target[to] = ((target[to] as number) - (zeros[at] as number)) * (scales[at] as number);
          }
        }
      };
    },
  };
}

function checkShape(part: PackedPart, bytes: Uint8Array, rows: number, columns: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const shape = [0, 1].map((i) =>
    part.dtype === "I64" ? Number(view.getBigInt64(8 * i, true)) : view.getInt32(4 * i, true),
  );
  if (shape[0] === rows && shape[1] === columns) return;
  const message = `${part.file}: ${part.name} says [${shape.join(", ")}]; by config.json it should be [${rows}, ${columns}]`;
  throw new WordloomError("tensor-mismatch", message);
}
