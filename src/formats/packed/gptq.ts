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
import { f16ToNumber, numberToF16 } from "../floats";
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
  const hasIndex = options.ordered || module.find(`${name}.g_idx`) !== undefined;
  const indexPart = hasIndex ? needPart(module, `${name}.g_idx`, ["I32"], [inputs]) : undefined;
  const readSides = ([zeroBytes, scaleBytes, indexBytes]: readonly Uint8Array[]): GptqSides => {
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
    return { bits, outputs, inputs, scales, zeros, groupOf };
  };
  return {
    rows: outputs,
    columns: inputs,
    main,
    sides: [zeroPart, scalePart, ...(indexPart === undefined ? [] : [indexPart])],
    rowBytes: undefined,
    decoder: (sides) => gptqRows(readSides(sides)),
    q4_0: (sides) => (bits === 4 ? q4Blocks(readSides(sides)) : undefined),
  };
}

interface GptqSides {
  bits: number;
  outputs: number;
  inputs: number;
  /** [groups, outputs] */
  scales: Float32Array;
  zeros: Uint8Array;
  /** [inputs] */
  groupOf: Uint32Array;
}

function gptqRows({ bits, outputs, inputs, scales, zeros, groupOf }: GptqSides): DecodeRows {
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

/**
 * Symmetric ones whose scales are half floats, and whose groups are whole neighbouring blocks: a block is its scale, then
 * byte j with weight j in the low nibble and 16 + j in the high one.
 */
function q4Blocks({
  outputs,
  inputs,
  scales,
  zeros,
  groupOf,
}: GptqSides): ((packed: Uint8Array, first: number, rows: number) => Uint8Array) | undefined {
  if (!zeros.every((zero) => zero === 8)) return undefined;
  if (!groupOf.every((group, input) => group === groupOf[input - (input % PACK)])) return undefined;
  const halves = Uint16Array.from(scales, numberToF16);
  const isHeld = (scale: number, i: number) => f16ToNumber(halves[i] as number) === scale && Number.isFinite(scale);
  if (!scales.every(isHeld)) return undefined; // i < length
  return (packed, first, rows) => {
    const words = wordsOf(packed);
    const blocks = new Uint8Array((rows * inputs * 18) / PACK);
    for (let r = 0, at = 0; r < rows; r++) {
      for (let input = 0; input < inputs; input += PACK, at += 18) {
        // All indices are inside by the shapes; a group by the check of g_idx.
        const half = halves[(groupOf[input] as number) * outputs + first + r] as number;
        blocks[at] = half & 0xff;
        blocks[at + 1] = half >> 8;
        for (let j = 0; j < 16; j++) {
          const word = (input >> 3) + (j >> 3);
          const low = (words[word * outputs + first + r] as number) >>> (4 * (j & 7));
          const high = (words[(word + 2) * outputs + first + r] as number) >>> (4 * (j & 7));
          blocks[at + 2 + j] = (low & 15) | ((high & 15) << 4);
        }
      }
    }
    return blocks;
  };
}
