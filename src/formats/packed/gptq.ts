/**
 * GPTQ: integers packed along the inputs, a scale and a zero point for each group of inputs and each output.
 *
 *   qweight [inputs · bits / 32, outputs]  I32   32 inputs are `bits` words below each other, see bit-fields
 *   qzeros  [groups, outputs · bits / 32]  I32   the same along the outputs
 *   scales  [groups, outputs]              float
 *   g_idx   [inputs]                       I32   the group of each input; where it is missing, input / groupSize
 *   weight[o, i] = scales[g, o] · (q[i, o] − zero[g, o]), g = g_idx[i]
 *
 * Files of the first format ("gptq") hold zero − 1, modulo 2^bits; those of "gptq_v2" the zero point itself.
 *
 * Source: Frantar et al. 2022, "GPTQ"; AutoGPTQ's and GPTQModel's `QuantLinear`.
 */
import { unpackFields, wordsOf } from "./bit-fields";
import {
  FLOAT_DTYPES,
  floatsOf,
  invalidPart,
  needMultiple,
  needPart,
  type DecodeRows,
  type PackedMatrix,
  type PackedModule,
} from "./packed-matrix";

export interface GptqOptions {
  /** 2, 3, 4 or 8. */
  bits: number;
  /** Inputs that share a scale; undefined: all. */
  groupSize: number | undefined;
  /** Added to the zero points that the file holds. */
  zeroOffset: 0 | 1;
  /** The groups are not in the inputs' order (desc_act), so that g_idx has to be there. */
  ordered: boolean;
}

/** Inputs that fill whole words. */
const PACK = 32;

/** Undefined where the checkpoint holds the module as floats. */
export function gptqMatrix(module: PackedModule, options: GptqOptions): PackedMatrix | undefined {
  const { name, rows: outputs, columns: inputs } = module;
  if (module.find(`${name}.qweight`) === undefined) return undefined;
  const { bits, zeroOffset } = options;
  needMultiple(module, "inputs", inputs, PACK);
  needMultiple(module, "outputs", outputs, PACK);
  const groupSize = options.groupSize ?? inputs;
  const groups = Math.ceil(inputs / groupSize);
  const main = needPart(module, `${name}.qweight`, ["I32"], [(inputs * bits) / 32, outputs]);
  const zeroPart = needPart(module, `${name}.qzeros`, ["I32"], [groups, (outputs * bits) / 32]);
  const scalePart = needPart(module, `${name}.scales`, FLOAT_DTYPES, [groups, outputs]);
  const hasIndex = !options.ordered || module.find(`${name}.g_idx`) !== undefined;
  const indexPart = hasIndex ? needPart(module, `${name}.g_idx`, ["I32"], [inputs]) : undefined;
  return {
    rows: outputs,
    columns: inputs,
    main,
    sides: [zeroPart, scalePart, ...(indexPart === undefined ? [] : [indexPart])],
    rowBytes: undefined,
    decoder([zeroBytes, scaleBytes, indexBytes]) {
      const scales = floatsOf(scalePart, scaleBytes as Uint8Array); // as many as `sides`
      const zeroWords = wordsOf(zeroBytes as Uint8Array);
      const zeros = new Uint8Array(groups * outputs);
      const zeroStride = (outputs * bits) / 32;
      for (let g = 0; g < groups; g++) unpackFields(zeroWords, g * zeroStride, 1, bits, outputs, zeros, g * outputs);
      for (let i = 0; i < zeros.length; i++) zeros[i] = ((zeros[i] as number) + zeroOffset) & (2 ** bits - 1); // i < length
      const groupOf = Uint32Array.from({ length: inputs }, (_, input) => Math.floor(input / groupSize));
      if (indexPart !== undefined && indexBytes !== undefined) {
        wordsOf(indexBytes).forEach((group, input) => {
          if (group >= groups) throw invalidPart(indexPart, `input ${input} is in group ${group | 0} of ${groups}`);
          groupOf[input] = group;
        });
      }
      return gptqRows(bits, outputs, inputs, { scales, zeros, groupOf });
    },
  };
}

function gptqRows(
  bits: number,
  outputs: number,
  inputs: number,
  { scales, zeros, groupOf }: { scales: Float32Array; zeros: Uint8Array; groupOf: Uint32Array },
): DecodeRows {
  const fields = new Uint8Array(PACK);
  return (packed, first, rows, target) => {
    const words = wordsOf(packed);
    // Down the file's rows outside, so that it is read in order.
    for (let input = 0, wordRow = 0; input < inputs; input += PACK, wordRow += bits) {
      for (let r = 0; r < rows; r++) {
        const output = first + r;
        unpackFields(words, wordRow * outputs + output, outputs, bits, PACK, fields);
        const to = r * inputs + input;
        for (let j = 0; j < PACK; j++) {
          // All indices are inside by the shapes; a group by the check of g_idx.
          const at = (groupOf[input + j] as number) * outputs + output;
          target[to + j] = ((fields[j] as number) - (zeros[at] as number)) * (scales[at] as number);
        }
      }
    }
  };
}
