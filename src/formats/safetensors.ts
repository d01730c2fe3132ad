/**
 * The safetensors file format: 8 bytes of header length (little-endian), a JSON header, then the tensors' bytes.
 *
 * Only the header is read here; the tensors stay in the file. As the format asks, the tensors must cover the data part
 * exactly: no overlap, no hole, nothing after them. Tensors may begin at any byte, be empty, and be scalars.
 *
 * Source: the format's own description, https://github.com/huggingface/safetensors#format
 */
import { WordloomError } from "../errors";
import { foreignContent } from "./foreign-content";
import { parseUniqueJson } from "./unique-json";

/** The format's own limit on the header. */
export const MAX_HEADER_BYTES = 100_000_000;
/** In one file, or named by one index; the largest models that a browser could hold have a tenth of it. */
export const MAX_TENSORS = 20_000;
export const MAX_RANK = 8;
/** The header, a tensor's entry, its shape. */
const MAX_HEADER_DEPTH = 3;

/** Bits of one element; a dtype that is not listed has an unknown size and is refused only where it is used. */
const DTYPE_BITS: Readonly<Record<string, number>> = {
  ...{ BOOL: 8, U8: 8, I8: 8, U16: 16, I16: 16, U32: 32, I32: 32, U64: 64, I64: 64 },
  ...{ F16: 16, BF16: 16, F32: 32, F64: 64, C64: 64 },
  ...{ F4: 4, F6_E2M3: 6, F6_E3M2: 6, F8_E4M3: 8, F8_E5M2: 8, F8_E8M0: 8 },
};

export interface SafetensorsTensor {
  name: string;
  /** As the header spells it: "F32", "BF16", … or one that is not known here. */
  dtype: string;
  shape: readonly number[];
  /** First byte in the file, and the byte after the last. */
  start: number;
  end: number;
}

export interface SafetensorsHeader {
  /** In file order. */
  tensors: ReadonlyMap<string, SafetensorsTensor>;
  /** `__metadata__`, free text of the writer. */
  metadata: Readonly<Record<string, string>>;
  /** Bytes before the tensors' data. */
  dataStart: number;
}

/**
 * Length of the whole header (the 8 bytes of its length included), from the first 8 bytes or more of the file.
 *
 * @throws WordloomError file-invalid if this is not the start of a safetensors file of `fileSizeBytes` (if known)
 */
export function safetensorsHeaderBytes(
  firstBytes: Uint8Array,
  fileSizeBytes: number | undefined,
  file: string,
): number {
  const foreign = foreignContent(firstBytes);
  if (foreign !== undefined) {
    throw invalid(
      file,
      `this is ${foreign}, not a safetensors file`,
      "Check the address, and download the file itself.",
    );
  }
  if (firstBytes.length < 8) throw invalid(file, `${firstBytes.length} bytes cannot be a safetensors file`);
  const view = new DataView(firstBytes.buffer, firstBytes.byteOffset, 8);
  const statedLength = view.getBigUint64(0, true);
  if (statedLength > MAX_HEADER_BYTES) {
    const stated = `a header of ${statedLength} bytes, over the format's ${MAX_HEADER_BYTES}`;
    throw invalid(file, `not a safetensors file: ${stated}`);
  }
  const length = Number(statedLength);
  if (length < 2) throw invalid(file, `a header of ${length} bytes cannot be JSON`);
  if (fileSizeBytes !== undefined && 8 + length > fileSizeBytes) {
    throw invalid(file, `truncated: ${fileSizeBytes} bytes, and the header alone needs ${8 + length}`);
  }
  return 8 + length;
}

/**
 * @param bytes the file from its start; at least the whole header (see `safetensorsHeaderBytes`), more is ignored
 * @param fileSizeBytes to check that all tensors are inside the file; undefined where nobody knows it
 * @param file its name, for messages
 * @throws WordloomError file-invalid
 */
export function parseSafetensorsHeader(
  bytes: Uint8Array,
  fileSizeBytes: number | undefined,
  file = "model.safetensors",
): SafetensorsHeader {
  const dataStart = safetensorsHeaderBytes(bytes, fileSizeBytes, file);
  if (bytes.length < dataStart) {
    throw invalid(file, `truncated: the header needs ${dataStart} bytes, there are ${bytes.length}`);
  }
  const headerBytes = bytes.subarray(8, dataStart);
  if (headerBytes[0] !== 0x7b) throw invalid(file, "the header does not begin with “{”");
  const header = parseUniqueJson(headerBytes, `${file}: its header`, MAX_HEADER_DEPTH);
  if (!isRecord(header)) throw invalid(file, "its header is not a JSON object");
  const entries = Object.entries(header);
  if (entries.length > MAX_TENSORS) throw invalid(file, `${entries.length} tensors; at most ${MAX_TENSORS} are read`);

  let metadata: Readonly<Record<string, string>> = {};
  const tensors: SafetensorsTensor[] = [];
  for (const [name, entry] of entries) {
    if (name === "__metadata__") metadata = readMetadata(entry, file);
    else tensors.push(readTensor(name, entry, dataStart, file));
  }
  // An empty tensor comes before the one that begins at the same byte.
  tensors.sort((a, b) => a.start - b.start || a.end - b.end);
  checkCover(tensors, dataStart, fileSizeBytes, file);
  return { tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])), metadata, dataStart };
}

function readMetadata(entry: unknown, file: string): Record<string, string> {
  if (!isRecord(entry)) throw invalid(file, "__metadata__ is not an object");
  for (const [key, value] of Object.entries(entry)) {
    if (typeof value !== "string") throw invalid(file, `__metadata__.${shown(key)} is not a string`);
  }
  return entry as Record<string, string>; // checked just above
}

function readTensor(name: string, entry: unknown, dataStart: number, file: string): SafetensorsTensor {
  const what = `tensor ${shown(name)}`;
  if (!isRecord(entry)) throw invalid(file, `${what} is not described by an object`);
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== "string") throw invalid(file, `${what} has no dtype`);
  if (!isCounts(shape)) throw invalid(file, `${what} has no shape of whole numbers`);
  if (shape.length > MAX_RANK)
    throw invalid(file, `${what} has ${shape.length} dimensions; at most ${MAX_RANK} are read`);
  if (!isCounts(offsets) || offsets.length !== 2) throw invalid(file, `${what} has no two data_offsets`);
  const [begin, end] = offsets as [number, number]; // the length was checked
  if (begin > end) throw invalid(file, `${what} ends (${end}) before it begins (${begin})`);

  const elements = shape.reduce((product, dimension) => product * dimension, 1);
  const bits = Object.hasOwn(DTYPE_BITS, dtype) ? DTYPE_BITS[dtype] : undefined;
  // Beyond 2^53 the product is rounded, but no difference of two safe integers equals it.
  if (bits !== undefined && (elements * bits) / 8 !== end - begin) {
    throw invalid(file, `${what}: ${dtype} [${shape}] needs ${(elements * bits) / 8} bytes, it has ${end - begin}`);
  }
  return { name, dtype, shape, start: dataStart + begin, end: dataStart + end };
}

function checkCover(
  tensors: readonly SafetensorsTensor[],
  dataStart: number,
  fileSizeBytes: number | undefined,
  file: string,
): void {
  let covered = dataStart;
  let before = "the header";
  for (const { name, start, end } of tensors) {
    const what = `tensor ${shown(name)}`;
    if (start < covered) throw invalid(file, `${what} begins at byte ${start}, inside ${before} (to ${covered})`);
    if (start > covered)
      throw invalid(file, `${start - covered} bytes between ${before} and ${what} belong to nothing`);
    if (fileSizeBytes !== undefined && end > fileSizeBytes) {
      throw invalid(file, `truncated: ${what} ends at byte ${end}, the file has ${fileSizeBytes}`);
    }
    covered = end;
    before = what;
  }
  if (fileSizeBytes !== undefined && fileSizeBytes > covered) {
    throw invalid(file, `${fileSizeBytes} bytes, but its header describes only ${covered}`);
  }
}

export interface SafetensorsIndex {
  /** Tensor name → the file that holds it. */
  files: ReadonlyMap<string, string>;
}

/**
 * model.safetensors.index.json. Its total_size is only for planning and often wrong, so it is not read.
 *
 * @param value the parsed JSON
 * @throws WordloomError file-invalid
 */
export function parseSafetensorsIndex(value: unknown, file = "model.safetensors.index.json"): SafetensorsIndex {
  if (!isRecord(value) || !isRecord(value["weight_map"])) throw invalid(file, "no weight_map in it");
  const entries = Object.entries(value["weight_map"]);
  if (entries.length === 0) throw invalid(file, "its weight_map is empty");
  if (entries.length > MAX_TENSORS) throw invalid(file, `${entries.length} tensors; at most ${MAX_TENSORS} are read`);
  const files = new Map<string, string>();
  for (const [tensor, shard] of entries) {
    // Only a name beside the index: no other folder, no other server.
    if (typeof shard !== "string" || !/^[^/\\:?#]+\.safetensors$/.test(shard)) {
      throw invalid(
        file,
        `tensor ${shown(tensor)} is listed in ${shown(JSON.stringify(shard))}, which is not a file name`,
      );
    }
    files.set(tensor, shard);
  }
  return { files };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && (item as number) >= 0);
}

/** A name from the file, short enough for a message. */
function shown(name: string): string {
  return name.length <= 120 ? name : `${name.slice(0, 117)}…`;
}

function invalid(file: string, message: string, remedy?: string): WordloomError {
  return new WordloomError("file-invalid", `${file}: ${message}`, remedy === undefined ? {} : { remedy });
}
