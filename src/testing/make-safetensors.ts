/** Safetensors files made in memory. */
import { f32BitsToF16, type FloatDtype } from "../formats/floats";

export interface TensorToWrite {
  name: string;
  /** Default F32. */
  dtype?: FloatDtype;
  shape: readonly number[];
  values: ArrayLike<number>;
}

/**
 * A whole file; tensors in the order given, without padding, so that data may begin at any byte.
 * F16 rounds to nearest even, BF16 cuts.
 */
export function makeSafetensors(tensors: readonly TensorToWrite[], metadata?: Record<string, string>): Uint8Array {
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata };
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { name, dtype = "F32", shape, values } of tensors) {
    const elements = shape.reduce((product, dimension) => product * dimension, 1);
    if (elements !== values.length) throw new Error(`${name}: ${values.length} values for [${shape}]`);
    const part = encodeFloats(dtype, values);
    header[name] = { dtype, shape, data_offsets: [at, at + part.length] };
    parts.push(part);
    at += part.length;
  }
  return joinSafetensors(header, parts);
}

/** A file with any header at all (also a wrong one) before the given data. */
export function joinSafetensors(header: unknown, parts: readonly Uint8Array[] = []): Uint8Array {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  return concat([length, text, ...parts]);
}

function encodeFloats(dtype: FloatDtype, values: ArrayLike<number>): Uint8Array {
  const floats = new Float32Array(values);
  if (dtype === "F32") return new Uint8Array(floats.buffer);
  const bits = new Uint32Array(floats.buffer);
  const halves = new Uint16Array(bits.length);
  for (let i = 0; i < bits.length; i++) {
    const word = bits[i] as number; // i < length
    halves[i] = dtype === "F16" ? f32BitsToF16(word) : word >>> 16;
  }
  return new Uint8Array(halves.buffer);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
