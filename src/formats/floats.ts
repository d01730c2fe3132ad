/**
 * Half floats and bfloat16, exactly: no rounding on the way up to f32, round to nearest even on the way down.
 *
 * `Float16Array` and `Math.f16round` are too new to rely on. Multi-byte values in files are little-endian, and are put
 * together byte by byte, so that they may begin at any byte.
 */

/** Element types of a checkpoint that can be decoded to f32. */
export type FloatDtype = "F32" | "F16" | "BF16";

export const FLOAT_BYTES: Readonly<Record<FloatDtype, number>> = { F32: 4, F16: 2, BF16: 2 };

/** The largest finite half float. */
export const F16_MAX = 65504;

/** Bits of the f32 equal to the half float with these bits; a NaN keeps its sign and payload. */
function f16ToF32Bits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 0x1f;
  const mantissa = half & 0x3ff;
  if (exponent === 0x1f) return (sign | 0x7f800000 | (mantissa << 13)) >>> 0;
  if (exponent !== 0) return (sign | ((exponent + 112) << 23) | (mantissa << 13)) >>> 0;
  if (mantissa === 0) return sign >>> 0;
  // A subnormal half, mantissa · 2^-24, is a normal f32: its leading one becomes the implied one.
  const shift = Math.clz32(mantissa) - 21;
  return (sign | ((113 - shift) << 23) | (((mantissa << shift) & 0x3ff) << 13)) >>> 0;
}

let tableBits: Uint32Array | undefined;

/** The f32 bits of all 65536 half floats (256 KiB, made at first use). */
function f16Table(): Uint32Array {
  tableBits ??= Uint32Array.from({ length: 65536 }, (_, half) => f16ToF32Bits(half));
  return tableBits;
}

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** The value of the half float with these bits. */
export function f16ToNumber(half: number): number {
  scratchBits[0] = f16ToF32Bits(half);
  return scratch[0] as number; // index 0 exists
}

/**
 * Bits of the half float nearest to the f32 with these bits, ties to even; 65520 and more become infinite, a NaN
 * becomes the quiet NaN of its sign.
 */
export function f32BitsToF16(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x38800000) {
    // at least 2^-14: a normal half, or too large
    if (magnitude > 0x7f800000) return sign | 0x7e00;
    if (magnitude >= 0x477ff000) return sign | 0x7c00;
    const rebased = magnitude - 0x38000000;
    return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
  }
  if (magnitude <= 0x33000000) return sign; // at most 2^-25, half of the smallest half float: even is zero
  const significand = (magnitude & 0x7fffff) | 0x800000;
  const shift = 126 - (magnitude >>> 23);
  const floor = significand >>> shift;
  const rest = significand & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (floor + (rest > half || (rest === half && (floor & 1) === 1) ? 1 : 0));
}

/** Bits of the half float nearest to `value` (rounded to f32 first, as all weights are f32 here). */
export function numberToF16(value: number): number {
  scratch[0] = value;
  return f32BitsToF16(scratchBits[0] as number); // index 0 exists
}

/**
 * Decodes `count` little-endian floats.
 *
 * @param bytes begins with the first float, at any alignment; holds at least `count` of them
 * @param target f32, at least [count]; filled from its start
 */
export function decodeFloats(dtype: FloatDtype, bytes: Uint8Array, target: Float32Array, count: number): void {
  if (bytes.length < count * FLOAT_BYTES[dtype] || target.length < count) {
    throw new RangeError(`${count} ${dtype} from ${bytes.length} bytes into ${target.length} elements`);
  }
  if (dtype === "F32") {
    // every machine with WebGPU is little-endian, as the file is
    new Uint8Array(target.buffer, target.byteOffset, count * 4).set(bytes.subarray(0, count * 4));
    return;
  }
  const bits = new Uint32Array(target.buffer, target.byteOffset, count);
  // The indices below are within the lengths checked above; `as number` only says so to the compiler.
  if (dtype === "BF16") {
    for (let i = 0, at = 0; i < count; i++, at += 2) {
      bits[i] = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 24);
    }
    return;
  }
  const table = f16Table();
  for (let i = 0, at = 0; i < count; i++, at += 2) {
    bits[i] = table[(bytes[at] as number) | ((bytes[at + 1] as number) << 8)] as number;
  }
}

/** Index of the first NaN or infinity among the first `count` values, or -1. */
export function firstNonFinite(values: Float32Array, count = values.length): number {
  let taint = 0; // 0 · x is NaN just for NaN and the infinities, and NaN stays
  for (let i = 0; i < count; i++) taint += 0 * (values[i] as number);
  if (taint === 0) return -1;
  for (let i = 0; i < count; i++) if (!Number.isFinite(values[i])) return i;
  return -1;
}

/**
 * Whether the first `count` half floats are all finite.
 *
 * @param bytes begins at an even place of its buffer
 */
export function allFiniteF16(bytes: Uint8Array, count: number): boolean {
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, count);
  // Two at once, where the first is at a whole word: one step more carries an exponent of all ones into the sign's place.
  const odd = (bytes.byteOffset >> 1) & 1;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + 2 * odd, Math.max(0, (count - odd) >> 1));
  let carried = 0;
  for (let i = 0; i < words.length; i++) carried |= ((words[i] as number) & 0x7c007c00) + 0x04000400; // i < length
  if ((carried & 0x80008000) !== 0) return false;
  const isFinite = (half: number | undefined) => half === undefined || (half & 0x7c00) !== 0x7c00;
  return isFinite(halves[0]) && isFinite(halves[count - 1]);
}
