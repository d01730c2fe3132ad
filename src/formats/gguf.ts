/**
 * The GGUF file format, versions 2 and 3: metadata and a table of tensors, then the tensors' bytes.
 *
 * Only what stands before the tensors is read here. Our own parser, because `@huggingface/gguf` (0.4.6, looked at) reads
 * from an address by requests of its own only (no File, no stream, no server without Range), accepts the other byte
 * order, replaces bytes that are not UTF-8, and checks neither overlaps nor where tensors end; its limits inspired ours.
 *
 * Source: the format's description, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import { WordloomError } from "../errors";
import { FOREIGN_CONTENT_BYTES, foreignContent } from "./foreign-content";
import { ggmlTypeOf } from "./ggml-types";

/** Everything before the tensors. The largest vocabularies in use (262,144 pieces, 280,000 merges) need 8 MiB. */
export const MAX_GGUF_HEADER_BYTES = 32 * 2 ** 20;
export const MAX_GGUF_KEYS = 4096;
export const MAX_GGUF_TENSORS = 20_000;
/** The format's own limit on a key. */
export const MAX_KEY_BYTES = 65_535;
/** ggml itself holds 63. */
export const MAX_NAME_BYTES = 255;
/** Chat templates are the longest, some 20 KiB. */
export const MAX_STRING_BYTES = 4 * 2 ** 20;
/** As many as a vocabulary may have (models/sizes.ts). */
export const MAX_ARRAY_LENGTH = 2 ** 22;
/** Arrays inside arrays. */
export const MAX_ARRAY_DEPTH = 2;
/** In one file, those inside others counted, too: 12 bytes of the file become an object of some hundred bytes each. */
export const MAX_ARRAYS = 2 ** 16;
/** ggml's. */
export const MAX_DIMENSIONS = 4;
const MAX_DIMENSION = 2 ** 40;

/** Numbers of 64 bits beyond 2^53 are rounded: whoever uses one checks that it is far below. */
export type GgufValue = number | boolean | string | GgufArray;
export type GgufArray =
  | readonly string[]
  | readonly boolean[]
  | readonly GgufArray[]
  | readonly number[]
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

export interface GgufTensor {
  name: string;
  /** "Q4_K" and so on; see ggml-types.ts. */
  dtype: string;
  /** Rows first, as everywhere here; the file has them in the other order. */
  shape: readonly number[];
  /** First byte in the file, and the byte after the last. */
  start: number;
  end: number;
}

export interface GgufHeader {
  version: number;
  metadata: ReadonlyMap<string, GgufValue>;
  /** In file order. */
  tensors: ReadonlyMap<string, GgufTensor>;
  /** Bytes before the tensors' data. */
  dataStart: number;
}

/** There are not enough bytes yet. */
export interface GgufNeeds {
  /** The whole header has at least this many. */
  neededBytes: number;
}

/**
 * @param bytes the file from its start: any number of them, up to all
 * @param fileSizeBytes undefined where nobody knows it; where the file is known to end with `bytes`, its length
 * @param file its name, for messages
 * @throws WordloomError file-invalid; model-unsupported (version, byte order, tensor type)
 */
export function parseGgufHeader(
  bytes: Uint8Array,
  fileSizeBytes: number | undefined,
  file = "model.gguf",
): GgufHeader | GgufNeeds {
  const cursor = new Cursor(bytes, fileSizeBytes, file);
  try {
    return parse(cursor, file);
  } catch (error) {
    if (error instanceof MoreBytes) return { neededBytes: error.end };
    throw error;
  }
}

/** Thrown by the cursor at the end of the bytes at hand; never leaves this file. */
class MoreBytes extends Error {
  constructor(readonly end: number) {
    super("more bytes are needed");
  }
}

function parse(cursor: Cursor, file: string): GgufHeader {
  checkMagic(cursor, file);
  const version = cursor.u32();
  if ((version & 0xffff) === 0 && version !== 0) {
    throw unsupported(file, `this is a big-endian GGUF file (version ${swapped(version)}); only little-endian is read`);
  }
  if (version !== 2 && version !== 3) throw unsupported(file, `GGUF version ${version}; versions 2 and 3 are read`);
  const tensorCount = cursor.count("tensors", MAX_GGUF_TENSORS, 24);
  const keyCount = cursor.count("metadata keys", MAX_GGUF_KEYS, 13);

  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < keyCount; i++) {
    const key = cursor.string("a metadata key", MAX_KEY_BYTES);
    if (metadata.has(key)) throw invalid(file, `the metadata key ${shown(key)} is there twice`);
    metadata.set(key, readValue(cursor, cursor.u32(), key));
  }
  const alignment = readAlignment(metadata, file);

  const tensors: GgufTensor[] = [];
  for (let i = 0; i < tensorCount; i++) tensors.push(readTensor(cursor, file));
  const dataStart = Math.ceil(cursor.position / alignment) * alignment;
  for (const tensor of tensors) {
    if (tensor.start % alignment !== 0) {
      throw invalid(file, `${what(tensor)} begins at byte ${tensor.start} of the data, not aligned to ${alignment}`);
    }
    tensor.start += dataStart;
    tensor.end += dataStart;
  }
  tensors.sort((a, b) => a.start - b.start);
  checkPlaces(tensors, cursor.fileSizeBytes, file);
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  if (byName.size !== tensors.length) {
    const twice = tensors.find((tensor) => byName.get(tensor.name) !== tensor);
    throw invalid(file, `${twice === undefined ? "a tensor" : what(twice)} is there twice`);
  }
  return { version, metadata, tensors: byName, dataStart };
}

function checkMagic(cursor: Cursor, file: string): void {
  const first = cursor.start(FOREIGN_CONTENT_BYTES);
  const foreign = foreignContent(first);
  if (foreign !== undefined) {
    throw invalid(file, `this is ${foreign}, not a GGUF file`, "Check the address, and download the file itself.");
  }
  const magic = cursor.bytes(4);
  if (String.fromCharCode(...magic) !== "GGUF") {
    const hex = Array.from(magic, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    throw invalid(file, `not a GGUF file: it begins with the bytes ${hex}`);
  }
}

/** Type number → size in bytes of a value of fixed size. */
const FIXED_BYTES: Readonly<Record<number, number>> = {
  ...{ 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 },
};
const STRING = 8;
const ARRAY = 9;

function readValue(cursor: Cursor, type: number, key: string, depth = 0): GgufValue {
  if (type === STRING) return cursor.string(shown(key), MAX_STRING_BYTES);
  if (type === ARRAY) return readArray(cursor, key, depth);
  if (FIXED_BYTES[type] === undefined) throw invalid(cursor.file, `${shown(key)} is of the unknown type ${type}`);
  return readFixed(cursor, type, key);
}

function readFixed(cursor: Cursor, type: number, key: string): number | boolean {
  const at = cursor.take(FIXED_BYTES[type] ?? 0); // one of them, by the caller
  const { view } = cursor;
  switch (type) {
    case 0:
      return view.getUint8(at);
    case 1:
      return view.getInt8(at);
    case 2:
      return view.getUint16(at, true);
    case 3:
      return view.getInt16(at, true);
    case 4:
      return view.getUint32(at, true);
    case 5:
      return view.getInt32(at, true);
    case 6:
      return view.getFloat32(at, true);
    case 10:
      return Number(view.getBigUint64(at, true));
    case 11:
      return Number(view.getBigInt64(at, true));
    case 12:
      return view.getFloat64(at, true);
    default: {
      const byte = view.getUint8(at);
      if (byte > 1) throw invalid(cursor.file, `${shown(key)} should be true or false, its byte is ${byte}`);
      return byte === 1;
    }
  }
}

function readArray(cursor: Cursor, key: string, depth: number): GgufArray {
  if (depth >= MAX_ARRAY_DEPTH) {
    throw invalid(cursor.file, `${shown(key)} has arrays ${depth + 1} deep; at most ${MAX_ARRAY_DEPTH} are read`);
  }
  if (++cursor.arrays > MAX_ARRAYS) throw invalid(cursor.file, `more than ${MAX_ARRAYS} lists; no more are read`);
  const type = cursor.u32();
  const itemBytes = type === STRING ? 8 : type === ARRAY ? 12 : FIXED_BYTES[type];
  if (itemBytes === undefined) throw invalid(cursor.file, `${shown(key)} is a list of the unknown type ${type}`);
  const length = cursor.count(`items of ${shown(key)}`, MAX_ARRAY_LENGTH, itemBytes);
  if (type === STRING) {
    const strings: string[] = [];
    for (let i = 0; i < length; i++) strings.push(cursor.string(shown(key), MAX_STRING_BYTES));
    return strings;
  }
  if (type === ARRAY) {
    const arrays: GgufArray[] = [];
    for (let i = 0; i < length; i++) arrays.push(readArray(cursor, key, depth + 1));
    return arrays;
  }
  cursor.need(length * itemBytes); // nothing is set aside for bytes that are not there
  if (type === 7) return Array.from({ length }, () => readFixed(cursor, type, key) as boolean); // type 7 is boolean
  return readNumbers(cursor, type, length, itemBytes);
}

function readNumbers(cursor: Cursor, type: number, length: number, itemBytes: number): GgufArray {
  const { buffer, byteOffset } = cursor.view;
  const at = byteOffset + cursor.take(length * itemBytes);
  // Every machine with WebGPU is little-endian, as the file is. Copied, for alignment and so that the rest may go.
  const bytes = buffer.slice(at, at + length * itemBytes);
  switch (type) {
    case 0:
      return new Uint8Array(bytes);
    case 1:
      return new Int8Array(bytes);
    case 2:
      return new Uint16Array(bytes);
    case 3:
      return new Int16Array(bytes);
    case 4:
      return new Uint32Array(bytes);
    case 5:
      return new Int32Array(bytes);
    case 6:
      return new Float32Array(bytes);
    case 10:
      return Float64Array.from(new BigUint64Array(bytes), Number);
    case 11:
      return Float64Array.from(new BigInt64Array(bytes), Number);
    default:
      return new Float64Array(bytes);
  }
}

function readAlignment(metadata: ReadonlyMap<string, GgufValue>, file: string): number {
  const alignment = metadata.get("general.alignment") ?? 32;
  const isPowerOfTwo = typeof alignment === "number" && Number.isInteger(Math.log2(alignment));
  if (!isPowerOfTwo || alignment < 8 || alignment > 2 ** 20) {
    throw invalid(file, `general.alignment is ${String(alignment)}; a power of two from 8 to 1048576 is expected`);
  }
  return alignment;
}

/** `start` and `end` are still counted from the beginning of the data. */
function readTensor(cursor: Cursor, file: string): GgufTensor {
  const name = cursor.string("a tensor's name", MAX_NAME_BYTES);
  const tensor = `tensor ${shown(name)}`;
  const rank = cursor.u32();
  if (rank < 1 || rank > MAX_DIMENSIONS) {
    throw invalid(file, `${tensor} has ${rank} dimensions; 1 to ${MAX_DIMENSIONS} are expected`);
  }
  const shape: number[] = [];
  let elements = 1;
  for (let i = 0; i < rank; i++) {
    const dimension = cursor.u64();
    if (dimension < 1 || dimension > MAX_DIMENSION) throw invalid(file, `${tensor} has a dimension of ${dimension}`);
    shape.unshift(dimension);
    elements *= dimension;
  }
  if (!Number.isSafeInteger(elements))
    throw invalid(file, `${tensor} [${shape}] has more elements than can be counted`);
  const number = cursor.u32();
  const type = ggmlTypeOf(number);
  if (type === undefined) throw unsupported(file, `${tensor} is of type ${number}, which is not known`);
  const { block } = type;
  const columns = shape[shape.length - 1] ?? 0; // there is at least one
  if (columns % block.elements !== 0) {
    throw invalid(file, `${tensor}: rows of ${columns} do not divide into blocks of ${block.elements} (${type.name})`);
  }
  const start = cursor.u64();
  const bytes = (elements / block.elements) * block.bytes;
  if (!Number.isSafeInteger(start + bytes)) throw invalid(file, `${tensor} begins at byte ${start}, beyond any file`);
  return { name, dtype: type.name, shape, start, end: start + bytes };
}

function checkPlaces(tensors: readonly GgufTensor[], fileSizeBytes: number | undefined, file: string): void {
  let before: GgufTensor | undefined;
  for (const tensor of tensors) {
    if (before !== undefined && tensor.start < before.end) {
      if (tensor.name === before.name) throw invalid(file, `${what(tensor)} is there twice`);
      throw invalid(file, `${what(tensor)} begins at byte ${tensor.start}, inside ${what(before)} (to ${before.end})`);
    }
    if (fileSizeBytes !== undefined && tensor.end > fileSizeBytes) {
      throw invalid(file, `truncated: ${what(tensor)} ends at byte ${tensor.end}, the file has ${fileSizeBytes}`);
    }
    before = tensor;
  }
}

/** Reads forward, and asks for more bytes where there are none yet. */
class Cursor {
  position = 0;
  arrays = 0;
  readonly view: DataView;

  constructor(
    private readonly data: Uint8Array,
    readonly fileSizeBytes: number | undefined,
    readonly file: string,
  ) {
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  /** The first bytes, at most `most`; fewer where the file is shorter. */
  start(most: number): Uint8Array {
    const wanted = Math.min(most, this.fileSizeBytes ?? most);
    if (this.data.length < wanted) throw new MoreBytes(wanted);
    return this.data.subarray(0, wanted);
  }

  /** @throws if the file cannot have `count` more bytes, MoreBytes if they are not at hand */
  need(count: number): void {
    const end = this.position + count;
    if (this.fileSizeBytes !== undefined && end > this.fileSizeBytes) {
      throw invalid(this.file, `truncated: byte ${end} of its header is needed, the file has ${this.fileSizeBytes}`);
    }
    if (end > MAX_GGUF_HEADER_BYTES) {
      throw invalid(this.file, `its header is longer than the ${MAX_GGUF_HEADER_BYTES} bytes allowed`);
    }
    if (end > this.data.length) throw new MoreBytes(end);
  }

  /** @returns where the next `count` bytes begin, and moves past them */
  take(count: number): number {
    this.need(count);
    const at = this.position;
    this.position += count;
    return at;
  }

  bytes(count: number): Uint8Array {
    const at = this.take(count);
    return this.data.subarray(at, at + count);
  }

  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  /** Rounded beyond 2^53. */
  u64(): number {
    const at = this.take(8);
    return this.view.getUint32(at, true) + 2 ** 32 * this.view.getUint32(at + 4, true);
  }

  /** A number of things of at least `bytesEach`, none of which may lie beyond the file's end. */
  count(things: string, most: number, bytesEach: number): number {
    const count = this.u64();
    if (count > most) throw invalid(this.file, `${count} ${things}; at most ${most} are read`);
    const end = this.position + count * bytesEach;
    if (this.fileSizeBytes !== undefined && end > this.fileSizeBytes) {
      throw invalid(this.file, `${count} ${things} need ${end} bytes at least, the file has ${this.fileSizeBytes}`);
    }
    return count;
  }

  string(place: string, most: number): string {
    const length = this.u64();
    if (length > most) throw invalid(this.file, `${place} is a text of ${length} bytes; at most ${most} are read`);
    const bytes = this.bytes(length);
    const short = length < 32 ? shortText(bytes) : undefined;
    if (short !== undefined) return short;
    try {
      return UTF8.decode(bytes);
    } catch (cause) {
      throw new WordloomError("file-invalid", `${this.file}: ${place} (${length} bytes) is not UTF-8`, { cause });
    }
  }
}

/**
 * Most pieces of a vocabulary, quicker than a call of the decoder for each of 262,144; undefined for what is not made of
 * ASCII and characters of two or three bytes that cannot be mistaken (the decoder then judges).
 */
function shortText(bytes: Uint8Array): string | undefined {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    // Bytes beyond the end are undefined, which `& 0xc0` makes 0: no continuation.
    const first = bytes[at] as number;
    const second = bytes[at + 1] as number;
    const third = bytes[at + 2] as number;
    if (first < 0x80) {
      text += String.fromCharCode(first);
      at += 1;
    } else if (first >= 0xc2 && first < 0xe0 && (second & 0xc0) === 0x80) {
      text += String.fromCharCode(((first & 31) << 6) | (second & 63));
      at += 2;
    } else if (first > 0xe0 && first < 0xed && (second & 0xc0) === 0x80 && (third & 0xc0) === 0x80) {
      text += String.fromCharCode(((first & 15) << 12) | ((second & 63) << 6) | (third & 63));
      at += 3;
    } else return undefined;
  }
  return text;
}

// A text may begin with U+FEFF, which would be dropped otherwise.
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function swapped(value: number): number {
  return ((value >>> 24) | ((value >>> 8) & 0xff00)) >>> 0;
}

function what(tensor: GgufTensor): string {
  return `tensor ${shown(tensor.name)}`;
}

/** A name from the file, short enough for a message. */
function shown(name: string): string {
  return name.length <= 120 ? name : `${name.slice(0, 117)}…`;
}

function invalid(file: string, message: string, remedy?: string): WordloomError {
  return new WordloomError("file-invalid", `${file}: ${message}`, remedy === undefined ? {} : { remedy });
}

function unsupported(file: string, message: string): WordloomError {
  return new WordloomError("model-unsupported", `${file}: ${message}`, {
    remedy: "Choose a GGUF file as llama.cpp writes it today, little-endian.",
  });
}
