/** Small files of a model folder, read whole: bytes and JSON. */
import { WordloomError } from "../errors";
import type { ModelFile, ModelFiles } from "../storage/model-files";
import { foreignContent } from "./foreign-content";

/** Settings, and the index of a model's tensors: 2 MiB at most in use. */
export const MAX_JSON_BYTES = 8 * 1024 * 1024;
/** Of tokenizer.json; the largest in use is about 34 MB. */
export const MAX_TOKENIZER_BYTES = 64 * 1024 * 1024;
/** Objects and lists inside each other; tokenizer.json, the deepest, has eight. */
const MAX_JSON_DEPTH = 64;

/** Where a file's size is unknown, and what is set aside at most on a server's word for it. */
const FIRST_BYTES = 4096;
const MOST_BYTES_AHEAD = 64 * 1024 * 1024;

export interface ReadJsonOptions {
  signal?: AbortSignal | undefined;
  /**
   * The model works without this file, so a web page in its place (servers that answer everything with their start
   * page) counts as absent. Otherwise it is refused.
   */
  optional?: boolean;
  /** Default: MAX_JSON_BYTES. */
  maxBytes?: number;
}

/**
 * The file's JSON value; undefined if there is no such file.
 *
 * @throws WordloomError file-invalid (not UTF-8, not JSON, too deep, a web page, too large), and what `files` throws
 */
export async function readJson(files: ModelFiles, name: string, options: ReadJsonOptions = {}): Promise<unknown> {
  const file = await files.find(name, options.signal);
  if (file === undefined) return undefined;
  const bytes = await readBytes(file, { maxBytes: options.maxBytes ?? MAX_JSON_BYTES, signal: options.signal });
  const foreign = foreignContent(bytes);
  if (foreign === "an HTML page" && options.optional === true) return undefined;
  if (foreign !== undefined) {
    throw new WordloomError("file-invalid", `${name} from ${files.description} is ${foreign}, not JSON`, {
      remedy: "Check the address: the server answered with something else than the file.",
    });
  }
  return parseJson(bytes, name);
}

/** @throws WordloomError file-invalid, naming the file */
export function parseJson(bytes: Uint8Array, name: string): unknown {
  checkDepth(bytes, name, MAX_JSON_DEPTH);
  return parseJsonText(decodeUtf8(bytes, name), name);
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** Brackets and braces differ in this bit alone. */
const BRACE_BIT = 0x20;
const [OPEN, CLOSE] = [0x7b, 0x7d];

/**
 * Before JSON.parse, which takes most of a second for a megabyte of brackets, and hundreds of MiB.
 *
 * @param maxDepth objects and lists inside each other
 * @throws WordloomError file-invalid, naming the file
 */
export function checkDepth(bytes: Uint8Array, name: string, maxDepth: number): void {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number; // at < length
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if ((byte | BRACE_BIT) === OPEN && ++depth > maxDepth) {
      throw new WordloomError("file-invalid", `${name} has brackets inside each other, more than ${maxDepth} deep`);
    } else if ((byte | BRACE_BIT) === CLOSE) depth--;
  }
}

/** @throws WordloomError file-invalid, naming the file */
export function decodeUtf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new WordloomError("file-invalid", `${name} (${bytes.length} bytes) is not UTF-8 text`, { cause });
  }
}

/** @throws WordloomError file-invalid, naming the file */
export function parseJsonText(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WordloomError("file-invalid", `${name} (${text.length} characters) is not JSON: ${reason}`, { cause });
  }
}

/**
 * The file's bytes from `start` (default 0) up to `end` or the file's end, whichever comes first.
 *
 * @throws WordloomError file-invalid if that is more than `maxBytes`
 */
export async function readBytes(
  file: ModelFile,
  options: {
    start?: number;
    end?: number;
    maxBytes: number;
    signal?: AbortSignal | undefined;
    onPassed?: ((position: number) => void) | undefined;
  },
): Promise<Uint8Array> {
  const { start = 0, end, maxBytes, signal, onPassed } = options;
  const tooLarge = (bytes: string) =>
    new WordloomError("file-invalid", `${file.name} has ${bytes} bytes; at most ${maxBytes} are allowed for it`);
  const stated = end === undefined && file.sizeBytes !== undefined ? file.sizeBytes - start : 0;
  if (stated > maxBytes) throw tooLarge(String(stated));
  const stream = await file.stream({
    start,
    ...(end === undefined ? {} : { end }),
    ...(signal === undefined ? {} : { signal }),
    ...(onPassed === undefined ? {} : { onPassed }),
  });
  const expected = (end ?? file.sizeBytes ?? start) - start;
  let bytes = new Uint8Array(Math.min(Math.max(expected, FIRST_BYTES), maxBytes, MOST_BYTES_AHEAD));
  let length = 0;
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const needed = length + value.length;
      if (needed > maxBytes) throw tooLarge(`${needed} or more`);
      if (needed > bytes.length) {
        const larger = new Uint8Array(Math.min(Math.max(needed, 2 * bytes.length), maxBytes));
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(value, length);
      length = needed;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // after the end or an error there is nothing left to cancel
  }
  return bytes.subarray(0, length);
}
