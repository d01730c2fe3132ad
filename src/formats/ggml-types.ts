/**
 * The element types of GGUF files: how many weights share a block, and how many bytes that block has.
 *
 * Source: ggml's `enum ggml_type` and its block structures (ggml-common.h).
 */

/** Types that are decoded (ggml-decode.ts). */
export type GgmlType = keyof typeof DECODED;

interface BlockSize {
  /** Weights in a block, along the row. */
  elements: number;
  bytes: number;
}

const size = (elements: number, bytes: number): BlockSize => ({ elements, bytes });

const DECODED = {
  F32: size(1, 4),
  F16: size(1, 2),
  BF16: size(1, 2),
  Q4_0: size(32, 18),
  Q4_1: size(32, 20),
  Q5_0: size(32, 22),
  Q5_1: size(32, 24),
  Q8_0: size(32, 34),
  Q2_K: size(256, 84),
  Q3_K: size(256, 110),
  Q4_K: size(256, 144),
  Q5_K: size(256, 176),
  Q6_K: size(256, 210),
  IQ4_NL: size(32, 18),
  IQ4_XS: size(256, 136),
} as const;

/** Known by their size, so that a file that has them can be checked; refused where one of them is needed. */
const OTHERS: Readonly<Record<string, BlockSize>> = {
  ...{ Q8_1: size(32, 36), Q8_K: size(256, 292) },
  ...{ IQ1_S: size(256, 50), IQ1_M: size(256, 56), IQ2_XXS: size(256, 66), IQ2_XS: size(256, 74) },
  ...{ IQ2_S: size(256, 82), IQ3_XXS: size(256, 98), IQ3_S: size(256, 110) },
  ...{ TQ1_0: size(256, 54), TQ2_0: size(256, 66), MXFP4: size(32, 17) },
  ...{ I8: size(1, 1), I16: size(1, 2), I32: size(1, 4), I64: size(1, 8), F64: size(1, 8) },
};

/** By the number that stands in the file. */
const NAMES: Readonly<Record<number, string>> = {
  ...{ 0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1" },
  ...{ 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K" },
  ...{ 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS" },
  ...{ 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16" },
  ...{ 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4" },
};

/** Undefined for a number that names no type (or one that ggml has removed). */
export function ggmlTypeOf(number: number): { name: string; block: BlockSize } | undefined {
  const name = NAMES[number];
  if (name === undefined) return undefined;
  const block = isDecoded(name) ? DECODED[name] : OTHERS[name];
  return block === undefined ? undefined : { name, block };
}

export function isDecoded(name: string): name is GgmlType {
  return Object.hasOwn(DECODED, name);
}

export const DECODED_TYPES = Object.keys(DECODED) as readonly GgmlType[]; // the keys of that object

export function blockSize(type: GgmlType): BlockSize {
  return DECODED[type];
}
