/**
 * Rounding of one group of 32 weights to a shared f16 scale and small integers.
 *
 * Both functions round with the scale as it is held (already f16), so that the rounding of the scale costs no accuracy.
 */
import { f16ToNumber, numberToF16 } from "./floats";

/** Adding and subtracting 1.5 · 2^52 rounds a float64 to the nearest whole number, ties to even; faster than Math.round. */
const ROUND = 6755399441055744;

/**
 * weight ≈ scale · q with q in -127..127. The largest magnitude sets the scale: at 8 bits, clipping it to make the steps
 * finer loses more on that weight than it gains on the 31 others.
 *
 * @param values [32] f32, finite, magnitude at most 127 · 65504
 * @param quants [32], filled
 * @returns the scale's f16 bits
 */
export function quantizeGroupQ8(values: Float32Array, quants: Int8Array): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i] as number)); // i < length
  const half = numberToF16(largest / 127);
  const scale = f16ToNumber(half);
  if (scale === 0) {
    quants.fill(0);
    return half;
  }
  const inverse = 1 / scale;
  for (let i = 0; i < values.length; i++) {
    const q = (values[i] as number) * inverse + ROUND - ROUND; // i < length
    quants[i] = q > 127 ? 127 : q < -127 ? -127 : q; // a scale that was rounded down would give 128
  }
  return half;
}

/**
 * Where the weight of largest magnitude is put, in steps of the scale with its sign turned (so that it may use -8, the
 * longer side). 8 alone is llama.cpp's Q4_0. Measured on normally distributed groups, squared error relative to Q4_0:
 * 8 with a fitted scale 0.955, these seven 0.888, nineteen 0.887.
 */
const Q4_PEAKS: readonly number[] = [8, 7.1, 7.4, 7.7, 8.3, 8.6, 8.9];

/**
 * weight ≈ scale · q with q in -8..7: of a few roundings, each with the scale that fits it best (least squares), the one
 * with the smallest squared error.
 *
 * @param values [32] f32, finite, magnitude at most 7 · 65504
 * @param quants [32], filled
 * @returns the scale's f16 bits; the scale may be negative
 */
export function quantizeGroupQ4(values: Float32Array, quants: Int8Array): number {
  let peak = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number; // i < length
    if (Math.abs(value) > Math.abs(peak)) peak = value;
  }
  let bestScale = 0;
  let bestGain = -1;
  for (let candidate = 0; candidate < Q4_PEAKS.length && peak !== 0; candidate++) {
    const inverse = -(Q4_PEAKS[candidate] as number) / peak; // candidate < length
    let dot = 0;
    let norm = 0;
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number; // i < length
      let q = value * inverse + ROUND - ROUND;
      q = q > 7 ? 7 : q < -8 ? -8 : q;
      dot += value * q;
      norm += q * q;
    }
    // With the scale dot / norm the squared error is Σ value² - dot² / norm.
    const gain = (dot * dot) / norm;
    if (gain > bestGain) {
      bestGain = gain;
      bestScale = dot / norm;
    }
  }
  let half = numberToF16(bestScale);
  if ((half & 0x7c00) === 0x7c00) half -= 1; // infinite: the largest finite one of this sign
  const scale = f16ToNumber(half);
  if (scale === 0) {
    quants.fill(0);
    return half;
  }
  const inverse = 1 / scale;
  for (let i = 0; i < values.length; i++) {
    const q = (values[i] as number) * inverse + ROUND - ROUND; // i < length
    quants[i] = q > 7 ? 7 : q < -8 ? -8 : q;
  }
  return half;
}
