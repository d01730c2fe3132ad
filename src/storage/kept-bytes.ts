/**
 * The beginning of one file, kept on this device as it comes: in segments, so that what is finished can be read while
 * more is written, and a closed tab loses no more than one of them.
 */
import { isNotFound, openFileWriter, readStoredJson, removeIfThere, writeText, type FileWriter } from "./file-writer";
import { guardedStream } from "./guarded-stream";

export const SEGMENT_BYTES = 16 * 2 ** 20;

/** What stands beside a file's segments. */
export interface FileRecord {
  name: string;
  /** Of the whole file; undefined where that was not known. */
  sizeBytes?: number | undefined;
  /** Of the beginning that is kept and hashed. */
  bytes: number;
  /** Of those bytes: once the file is whole, the file's. */
  sha256: string;
  /** As ModelFile's, when the first byte came. */
  validator?: string | undefined;
  /** The source, or the caller, says what its hash must be. */
  vouched: boolean;
  /** All bytes are there, and their hash is the expected one, where one was. */
  whole: boolean;
  /** The source has no such file. */
  absent: boolean;
}

/** Names of a file's entries; the file's own may hold what a file system does not allow. */
const encoded = (name: string) => encodeURIComponent(name);
const segmentName = (name: string, index: number) => `${encoded(name)}.${index}`;
const recordName = (name: string) => `${encoded(name)}.json`;

export async function readRecord(directory: FileSystemDirectoryHandle, name: string): Promise<FileRecord | undefined> {
  return asRecord(await readStoredJson(directory, recordName(name)));
}

/** Anything else than what `writeRecord` wrote is as good as nothing. */
export function asRecord(value: unknown): FileRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as Partial<FileRecord>; // each field is looked at before it is believed
  const isOurs =
    typeof record.name === "string" &&
    Number.isSafeInteger(record.bytes) &&
    typeof record.sha256 === "string" &&
    typeof record.vouched === "boolean" &&
    typeof record.whole === "boolean" &&
    typeof record.absent === "boolean";
  return isOurs ? (record as FileRecord) : undefined;
}

export function writeRecord(directory: FileSystemDirectoryHandle, record: FileRecord): Promise<void> {
  return writeText(directory, recordName(record.name), JSON.stringify(record));
}

/** Record and segments; nothing is left. */
export async function removeKept(directory: FileSystemDirectoryHandle, name: string): Promise<void> {
  await removeIfThere(directory, recordName(name)); // first: segments without a record are nothing
  for (let index = 0; await hasEntry(directory, segmentName(name, index)); index++) {
    await removeIfThere(directory, segmentName(name, index));
  }
}

async function hasEntry(directory: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  try {
    await directory.getFileHandle(name);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

export class KeptBytes {
  /** Written so far. */
  bytes: number;
  /** Closed so far: can be read. */
  readable: number;
  #writer: FileWriter | undefined;

  /**
   * @param bytes that are there, in whole segments but for the last
   */
  constructor(
    readonly directory: FileSystemDirectoryHandle,
    readonly name: string,
    bytes = 0,
  ) {
    this.bytes = bytes;
    this.readable = bytes;
  }

  /** Whether the segments hold what a record says; a browser may have lost some. */
  async isThere(): Promise<boolean> {
    for (let start = 0; start < this.bytes; start += SEGMENT_BYTES) {
      if ((await this.#segment(start)).size < Math.min(SEGMENT_BYTES, this.bytes - start)) return false;
    }
    return true;
  }

  /** @returns whether a segment was finished: time to write the record */
  async append(bytes: Uint8Array): Promise<boolean> {
    let finished = false;
    for (let done = 0; done < bytes.length;) {
      const inSegment = this.bytes % SEGMENT_BYTES;
      this.#writer ??= await openFileWriter(await this.#handle(this.bytes, true), inSegment);
      const part = bytes.subarray(done, done + SEGMENT_BYTES - inSegment);
      await this.#writer.write(part);
      done += part.length;
      this.bytes += part.length;
      if (this.bytes % SEGMENT_BYTES === 0) {
        await this.close();
        finished = true;
      }
    }
    return finished;
  }

  /** All that was written can be read afterwards, and more can be appended. */
  async close(): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.close();
    this.readable = this.bytes;
  }

  /** Also after a failed write. */
  async remove(): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.abandon().catch(() => undefined); // a writer that has failed may refuse even that
    this.bytes = 0;
    this.readable = 0;
    await removeKept(this.directory, this.name);
  }

  /** Bytes from `start` to `end`, both within `readable`. */
  stream(start: number, end: number, signal: AbortSignal | undefined, failure: (cause: unknown) => Error) {
    let at = start;
    let openedAt = start;
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            while (at < end) {
              if (reader === undefined) {
                const inSegment = at % SEGMENT_BYTES;
                openedAt = at;
                const part = (await this.#segment(at)).slice(inSegment, inSegment + end - at);
                reader = guardedStream(part.stream(), { signal, failure }).getReader();
              }
              const { done, value } = await reader.read();
              if (done) {
                reader = undefined;
                const short = at === openedAt || at % SEGMENT_BYTES !== 0;
                if (at < end && short) throw failure(`it ends at byte ${at}, before ${end}`);
                continue;
              }
              at += value.length;
              controller.enqueue(value);
              return;
            }
            controller.close();
          } catch (error) {
            controller.error(signal?.aborted === true ? signal.reason : error);
          }
        },
        cancel: (reason) => reader?.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  #handle(position: number, create: boolean): Promise<FileSystemFileHandle> {
    return this.directory.getFileHandle(segmentName(this.name, Math.floor(position / SEGMENT_BYTES)), { create });
  }

  async #segment(position: number): Promise<Blob> {
    try {
      return await (await this.#handle(position, false)).getFile();
    } catch (error) {
      if (isNotFound(error)) return new Blob([]);
      throw error;
    }
  }
}
