/**
 * AWQ in its GEMM layout: 4-bit integers packed along the outputs, a scale and a zero point for each group of inputs
 * and each output.
 *
 *   qweight [inputs, outputs / 8]  I32   nibble n of a word is output ORDER[n] of its eight
 *   qzeros  [groups, outputs / 8]  I32   the same
 *   scales  [groups, outputs]      float
 *   weight[o, i] = scales[g, o] · (q[i, o] − zero[g, o]), g = i / groupSize
 *
 * Source: Lin et al. 2023, "AWQ"; AutoAWQ's `WQLinear_GEMM` and its packing_utils.
 */
import { wordsOf } from "./bit-fields";
import { FLOAT_DTYPES, floatsOf, needMultiple, needPart, type PackedMatrix, type PackedModule } from "./packed-matrix";

/** Which output of its eight each nibble holds. */
const ORDER = [0, 2, 4, 6, 1, 3, 5, 7];

/** Bits to shift a word by, for each of its outputs. */
const SHIFTS = Uint8Array.from(ORDER, (_, output) => 4 * ORDER.indexOf(output));

/** Inputs decoded together, so that the words of eight outputs are read from memory once. */
const TILE = 64;

export interface AwqOptions {
  /** Inputs that share a scale; undefined: all. */
  groupSize: number | undefined;
}

/** Undefined where the checkpoint holds the module as floats. */
export function awqMatrix(module: PackedModule, options: AwqOptions): PackedMatrix | undefined {
  const { name, rows: outputs, columns: inputs } = module;
  if (module.find(`${name}.qweight`) === undefined) return undefined;
  const groupSize = options.groupSize ?? inputs;
  needMultiple(module, "outputs", outputs, 8);
  needMultiple(module, "inputs", inputs, groupSize);
  const groups = inputs / groupSize;
  const stride = outputs / 8;
  const main = needPart(module, `${name}.qweight`, ["I32"], [inputs, stride]);
  const zeroPart = needPart(module, `${name}.qzeros`, ["I32"], [groups, stride]);
  const scalePart = needPart(module, `${name}.scales`, FLOAT_DTYPES, [groups, outputs]);
  return {
    rows: outputs,
    columns: inputs,
    main,
    sides: [zeroPart, scalePart],
    rowBytes: undefined,
    decoder([zeroBytes, scaleBytes]) {
      const scales = floatsOf(scalePart, scaleBytes as Uint8Array); // as many as `sides`
      const zeroWords = wordsOf(zeroBytes as Uint8Array);
      return (packed, first, rows, target) => {
        const words = wordsOf(packed);
        for (let tile = 0; tile < inputs; tile += TILE) {
          const end = Math.min(inputs, tile + TILE);
          for (let r = 0; r < rows; r++) {
            // All indices are inside by the shapes.
            const output = first + r;
            const shift = SHIFTS[output & 7] as number;
            for (let input = tile; input < end; input++) {
              const group = Math.floor(input / groupSize);
              const zero = ((zeroWords[group * stride + (output >> 3)] as number) >>> shift) & 15;
              const q = ((words[input * stride + (output >> 3)] as number) >>> shift) & 15;
              target[r * inputs + input] = (q - zero) * (scales[group * outputs + output] as number);
            }
          }
        }
      };
    },
  };
}
