/**
 * A file of parts, each with its length and its SHA-256, so that it can be written and read a part at a time, and what
 * is damaged is known before any of it is used.
 *
 *   magic, 8 bytes; then for each part: length (u32, little endian), SHA-256 (32 bytes), the part
 */
import { WordloomError } from "../errors";
import { Sha256 } from "./sha256";

const HEAD_BYTES = 4 + 32;

export interface FrameKind {
  /** 8 ASCII characters. */
  magic: string;
  /** What the file is, for messages. */
  name: string;
}

export function magicBytes({ magic }: FrameKind): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(magic);
}

/** What stands before a part. */
export function frameHead(part: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(HEAD_BYTES);
  new DataView(head.buffer).setUint32(0, part.length, true);
  head.set(hashOf(part), 4);
  return head;
}

/**
 * The parts in order, each checked; no more than one is held.
 *
 * @throws WordloomError file-invalid for another kind of file, for one that ends too soon, and for changed bytes
 */
export async function* readFrames(file: Blob, kind: FrameKind): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const bytesOf = async (start: number, end: number) => {
    if (end > file.size) {
      throw damaged(kind, `it has ${file.size} bytes, and ends in the middle of a part that ends at byte ${end}`);
    }
    return new Uint8Array(await file.slice(start, end).arrayBuffer());
  };
  const magic = magicBytes(kind);
  const isOurs = file.size >= magic.length && same(await bytesOf(0, magic.length), magic);
  if (!isOurs) throw damaged(kind, `its first bytes are not "${kind.magic}"`);
  for (let at = magic.length; at < file.size;) {
    const head = await bytesOf(at, at + HEAD_BYTES);
    const start = at + HEAD_BYTES;
    at = start + new DataView(head.buffer).getUint32(0, true);
    const part = await bytesOf(start, at);
    if (!same(hashOf(part), head.subarray(4))) throw damaged(kind, `bytes ${start} to ${at} are not those written`);
    yield part;
  }
}

export function damaged({ name }: FrameKind, reason: string): WordloomError {
  return new WordloomError("file-invalid", `this is no whole ${name}: ${reason}`, {
    remedy: "It is damaged, or something else: choose another file, or begin anew.",
  });
}

function hashOf(part: Uint8Array): Uint8Array {
  const hash = new Sha256();
  hash.update(part);
  return Uint8Array.from(hash.hex().match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
