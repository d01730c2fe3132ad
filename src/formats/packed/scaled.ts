/**
 * One byte a weight, an int8 or an 8-bit float, times a scale: of the whole matrix, of each row, or of each block.
 *
 *   weight [rows, columns]  I8 or F8_E4M3
 *   scale  [rows / block rows, columns / block columns]  float
 *   w[r, c] = (weight[r, c] − zero) · scale, both of the block that has r and c
 *
 * Sources: bitsandbytes' `int8_vectorwise_dequant`; compressed-tensors' `dequantize`; transformers'
 * `integrations/finegrained_fp8.py`; for the 8-bit float Micikevicius et al. 2022, "FP8 Formats for Deep Learning".
 */
import {
  FLOAT_DTYPES,
  floatsOf,
  invalidPart,
  needPart,
  type DecodeRows,
  type PackedMatrix,
  type PackedModule,
  type PackedPart,
} from "./packed-matrix";

/** Rows and columns that share a scale; Infinity: all of them. */
export type ScaleBlock = readonly [rows: number, columns: number];

export interface ScaledOptions {
  /** Names that the scales may have, after the module's: ".weight_scale". */
  scales: readonly string[];
  block: ScaleBlock;
  /** The name of the zero points, where there are any. */
  zeroPoint?: string | undefined;
  /** Of the scales; default 1. */
  divisor?: number;
  /** A tensor of one byte that has to be 0 where it is there: another value names a layout that is not read here. */
  layout?: string;
}

const BYTE_DTYPES = ["I8", "F8_E4M3"] as const;

/** Undefined where the checkpoint holds the module as floats. */
export function scaledMatrix(module: PackedModule, options: ScaledOptions): PackedMatrix | undefined {
  const { name, rows, columns } = module;
  const dtype = BYTE_DTYPES.find((each) => each === module.find(`${name}.weight`)?.dtype);
  if (dtype === undefined) return undefined;
  const { block, zeroPoint, divisor = 1 } = options;
  const main = needPart(module, `${name}.weight`, [dtype], [rows, columns]);
  const grid = [Math.max(1, Math.ceil(rows / block[0])), Math.max(1, Math.ceil(columns / block[1]))] as const;
  // One column of scales, and a single scale, are also written with fewer dimensions.
  const shapes = [grid, ...(grid[1] === 1 ? [[grid[0]]] : []), ...(grid[0] * grid[1] === 1 ? [[]] : [])];
  const scaleName = options.scales.find((scale) => module.find(name + scale) !== undefined) ?? options.scales[0] ?? "";
  const scalePart = needPart(module, name + scaleName, FLOAT_DTYPES, ...shapes);
  const zeroPart = zeroPoint === undefined ? undefined : needPart(module, name + zeroPoint, ["I8"], ...shapes);
  const layoutPart = options.layout === undefined ? undefined : findLayout(module, name + options.layout);
  return {
    rows,
    columns,
    main,
    sides: [
      scalePart,
      ...(zeroPart === undefined ? [] : [zeroPart]),
      ...(layoutPart === undefined ? [] : [layoutPart]),
    ],
    rowBytes: columns,
    decoder(sides) {
      const layout = layoutPart === undefined ? 0 : (sides.at(-1)?.[0] ?? 0);
      if (layoutPart !== undefined && layout !== 0) {
        throw invalidPart(layoutPart, `it is ${layout}; only rows one after the other (0) can be read`);
      }
      return scaledRows(valuesOfBytes(dtype), columns, {
        block,
        scalesPerRow: grid[1],
        scales: floatsOf(scalePart, sides[0] as Uint8Array), // as many as `sides`
        zeros: zeroPart === undefined ? undefined : new Int8Array((sides[1] as Uint8Array).slice().buffer),
        divisor,
      });
    },
  };
}

function findLayout(module: PackedModule, name: string): PackedPart | undefined {
  return module.find(name) === undefined ? undefined : needPart(module, name, ["U8"], [], [1]);
}

interface Scales {
  block: ScaleBlock;
  scalesPerRow: number;
  scales: Float32Array;
  zeros: Int8Array | undefined;
  divisor: number;
}

function scaledRows(
  values: Float32Array,
  columns: number,
  { block: [blockRows, blockColumns], scalesPerRow, scales, zeros, divisor }: Scales,
): DecodeRows {
  return (packed, first, rows, target) => {
    for (let r = 0, at = 0; r < rows; r++) {
      const scaleRow = blockRows === Infinity ? 0 : Math.floor((first + r) / blockRows);
      for (let b = 0, column = 0; column < columns; b++) {
        // All indices are inside by the shapes; a byte is below 256.
        const index = scaleRow * scalesPerRow + b;
        const scale = scales[index] as number;
        const zero = zeros === undefined ? 0 : (zeros[index] as number);
        const end = Math.min(columns, column + blockColumns);
        for (; column < end; column++, at++) {
          target[at] = (((values[packed[at] as number] as number) - zero) * scale) / divisor;
        }
      }
    }
  };
}

/** What each of the 256 bytes stands for. */
function valuesOfBytes(dtype: (typeof BYTE_DTYPES)[number]): Float32Array {
  return Float32Array.from({ length: 256 }, (_, byte) => (dtype === "I8" ? (byte << 24) >> 24 : e4m3(byte)));
}

/** Sign, 4 bits of exponent (bias 7), 3 of mantissa; no infinities, and NaN only where all seven bits are set. */
function e4m3(byte: number): number {
  const exponent = (byte >> 3) & 15;
  const mantissa = byte & 7;
  if (exponent === 15 && mantissa === 7) return NaN;
  const magnitude = exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10);
  return byte < 128 ? magnitude : -magnitude;
}
