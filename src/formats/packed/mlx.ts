/**
 * MLX's affine quantization: integers packed along the inputs, a scale and a bias for each group of them.
 *
 *   weight [outputs, inputs · bits / 32]      U32   see bit-fields
 *   scales [outputs, inputs / groupSize]      float
 *   biases [outputs, inputs / groupSize]      float
 *   w[o, i] = scales[o, g] · q[o, i] + biases[o, g], g = i / groupSize
 *
 * Source: MLX's documentation of `mlx.core.quantize`; its `affine_dequantize`.
 */
import { unpackFields, wordsOf } from "./bit-fields";
import { FLOAT_DTYPES, floatsOf, needMultiple, needPart, type PackedMatrix, type PackedModule } from "./packed-matrix";

export interface MlxOptions {
  /** 2, 3, 4, 5, 6 or 8. */
  bits: number;
  groupSize: number;
}

/** Undefined where the checkpoint holds the module as floats. */
export function mlxMatrix(module: PackedModule, { bits, groupSize }: MlxOptions): PackedMatrix | undefined {
  const { name, rows, columns } = module;
  if (module.find(`${name}.weight`)?.dtype !== "U32") return undefined;
  needMultiple(module, "inputs", columns, groupSize);
  needMultiple(module, "inputs", columns * bits, 32);
  const groups = columns / groupSize;
  const wordsPerRow = (columns * bits) / 32;
  const main = needPart(module, `${name}.weight`, ["U32"], [rows, wordsPerRow]);
  const scalePart = needPart(module, `${name}.scales`, FLOAT_DTYPES, [rows, groups]);
  const biasPart = needPart(module, `${name}.biases`, FLOAT_DTYPES, [rows, groups]);
  return {
    rows,
    columns,
    main,
    sides: [scalePart, biasPart],
    rowBytes: 4 * wordsPerRow,
    decoder([scaleBytes, biasBytes]) {
      const scales = floatsOf(scalePart, scaleBytes as Uint8Array); // as many as `sides`
      const biases = floatsOf(biasPart, biasBytes as Uint8Array);
      return (packed, first, count, target) => {
        const words = wordsOf(packed);
        for (let r = 0; r < count; r++) {
          unpackFields(words, r * wordsPerRow, 1, bits, columns, target, r * columns);
          for (let g = 0, to = r * columns; g < groups; g++) {
            // All indices are inside by the shapes.
            const scale = scales[(first + r) * groups + g] as number;
            const bias = biases[(first + r) * groups + g] as number;
            for (const end = to + groupSize; to < end; to++) target[to] = (target[to] as number) * scale + bias;
          }
        }
      };
    },
  };
}
