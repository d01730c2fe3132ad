/**
 * llama.cpp's plain rounding to Q4_0, to compare with ours: groups of 32 along the row, scale = (weight of largest
 * magnitude) / -8 in f16, quant = trunc(weight / scale + 8.5), at most 15, minus 8, by the scale before its rounding.
 *
 * Source: ggml, `quantize_row_q4_0_ref`.
 */
import { f16ToNumber, numberToF16 } from "../formats/floats";

/**
 * @param values f32, a row (or rows of a multiple of 32 columns)
 * @returns the values that the quantized ones stand for
 */
export function ggmlQ4RoundTrip(values: Float32Array): Float32Array {
  const result = new Float32Array(values.length);
  for (let first = 0; first < values.length; first += 32) {
    const group = values.subarray(first, first + 32);
    const peak = group.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
    const scale = Math.fround(peak / -8);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    const held = f16ToNumber(numberToF16(scale));
    group.forEach((value, i) => {
      const quant = Math.min(15, Math.trunc(Math.fround(Math.fround(value * inverse) + 8.5)));
      result[first + i] = (quant - 8) * held;
    });
  }
  return result;
}
