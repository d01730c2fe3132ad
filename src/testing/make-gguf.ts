/** GGUF files for tests, also broken ones: the caller says what stands in them, nothing is checked. */

/** Numbers of the format's value types. */
export const GGUF_TYPE = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  array: 9,
  u64: 10,
};
type ScalarType = Exclude<keyof typeof GGUF_TYPE, "array">;
const SIZES: Readonly<Record<string, number>> = {
  ...{ u8: 1, i8: 1, bool: 1, u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, u64: 8 },
};

/** A value with its type; a list has the type of its items. */
export type MadeValue = readonly [type: ScalarType, value: unknown] | readonly [type: "array", items: MadeValue];

export interface MadeTensor {
  name: string;
  /** Rows first. */
  shape: readonly number[];
  /** ggml's number: 0 is F32. */
  type: number;
  bytes: Uint8Array;
  /** Default: after the one before, aligned. */
  offset?: number;
}

export interface MadeGguf {
  version?: number;
  metadata: readonly (readonly [key: string, value: MadeValue])[];
  tensors?: readonly MadeTensor[];
  alignment?: number;
}

export function makeGguf({ version = 3, metadata, tensors = [], alignment = 32 }: MadeGguf): Uint8Array<ArrayBuffer> {
  const head = new Writer();
  head.raw(new TextEncoder().encode("GGUF"));
  head.number("u32", version);
  head.number("u64", tensors.length);
  head.number("u64", metadata.length);
  for (const [key, value] of metadata) {
    head.text(key);
    head.typed(value);
  }
  let offset = 0;
  const places = tensors.map((tensor) => {
    const place = tensor.offset ?? offset;
    offset = Math.ceil((place + tensor.bytes.length) / alignment) * alignment;
    return place;
  });
  tensors.forEach(({ name, shape, type }, i) => {
    head.text(name);
    head.number("u32", shape.length);
    for (const dimension of shape.toReversed()) head.number("u64", dimension);
    head.number("u32", type);
    head.number("u64", places[i] ?? 0);
  });
  head.pad(alignment);
  const start = head.length;
  const end = tensors.reduce((most, { bytes }, i) => Math.max(most, (places[i] ?? 0) + bytes.length), 0);
  const file = new Uint8Array(start + end);
  file.set(head.bytes());
  tensors.forEach(({ bytes }, i) => file.set(bytes, start + (places[i] ?? 0)));
  return file;
}

/** A float32 tensor. */
export function f32Tensor(name: string, shape: readonly number[], values: ArrayLike<number>): MadeTensor {
  return { name, shape, type: 0, bytes: new Uint8Array(Float32Array.from(values).buffer) };
}

const encoder = new TextEncoder();

class Writer {
  length = 0;
  #parts: Uint8Array[] = [];

  raw(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.length += bytes.length;
  }

  text(text: string): void {
    const bytes = encoder.encode(text);
    this.number("u64", bytes.length);
    this.raw(bytes);
  }

  number(type: ScalarType, value: number): void {
    const bytes = new Uint8Array(SIZES[type] ?? 0); // not for texts, which have none
    const view = new DataView(bytes.buffer);
    if (type === "f32") view.setFloat32(0, value, true);
    else if (type === "u64") view.setBigUint64(0, BigInt(value), true);
    else for (let i = 0, rest = value; i < bytes.length; i++, rest = Math.floor(rest / 256)) bytes[i] = rest;
    this.raw(bytes);
  }

  typed([type, value]: MadeValue): void {
    this.number("u32", GGUF_TYPE[type]);
    this.value([type, value] as MadeValue); // the same pair
  }

  value(pair: MadeValue): void {
    if (pair[0] === "array") {
      const [type, items] = pair[1] as [ScalarType | "array", readonly unknown[]]; // a list of its items
      this.number("u32", GGUF_TYPE[type]);
      this.number("u64", items.length);
      for (const item of items) this.value([type, item] as MadeValue); // of that type
    } else if (pair[0] === "string") this.text(String(pair[1]));
    else this.number(pair[0], Number(pair[1]));
  }

  pad(alignment: number): void {
    this.raw(new Uint8Array((alignment - (this.length % alignment)) % alignment));
  }

  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}
