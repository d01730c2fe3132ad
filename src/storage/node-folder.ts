/**
 * A model as a local folder, in Node.
 *
 * Node's modules come from `process.getBuiltinModule`, not from an import: nothing for a browser bundle to resolve.
 */
import type { FileHandle } from "node:fs/promises";
import { WordloomError } from "../errors";
import { isGguf } from "./gguf-files";
import { guardedStream } from "./guarded-stream";
import type { ModelFile, ModelFiles } from "./model-files";

/** One read from disk. */
const CHUNK_BYTES = 256 * 1024;

/** @param path of the folder, or of a .gguf file in it; or a file: URL */
export function openNodeFolder(path: string): ModelFiles {
  const { basename, dirname, join } = process.getBuiltinModule("node:path");
  const { readdir, stat } = process.getBuiltinModule("node:fs/promises");
  const named = path.startsWith("file:") ? process.getBuiltinModule("node:url").fileURLToPath(path) : path;
  const folder = isGguf(named) ? dirname(named) : named;
  return {
    description: `the folder ${folder}`,
    chosen: isGguf(named) ? basename(named) : undefined,
    async list(signal) {
      signal?.throwIfAborted();
      const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
        const code = (cause as NodeJS.ErrnoException).code; // what Node's file functions throw
        if (code === "ENOENT" || code === "ENOTDIR") return []; // noticed at its first file
        throw failure(folder, cause);
      });
      return entries.flatMap((entry) => (entry.isDirectory() ? [] : [entry.name]));
    },
    async find(name, signal) {
      signal?.throwIfAborted();
      const filePath = join(folder, name);
      try {
        const facts = await stat(filePath);
        return facts.isFile() ? nodeFile(name, filePath, facts.size) : undefined;
      } catch (cause) {
        const code = (cause as NodeJS.ErrnoException).code; // what Node's file functions throw
        if (code === "ENOENT" || code === "ENOTDIR") return undefined;
        throw failure(filePath, cause);
      }
    },
  };
}

function nodeFile(name: string, path: string, sizeBytes: number): ModelFile {
  return {
    name,
    sizeBytes,
    async stream({ start = 0, end = sizeBytes, signal } = {}) {
      signal?.throwIfAborted();
      const { open } = process.getBuiltinModule("node:fs/promises");
      const file = await open(path).catch((cause: unknown) => {
        throw failure(path, cause);
      });
      const source = fileStream(file, start, Math.min(end, sizeBytes));
      return guardedStream(source, { signal, failure: (cause) => failure(path, cause) });
    },
  };
}

function fileStream(file: FileHandle, start: number, end: number): ReadableStream<Uint8Array> {
  let at = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const buffer = new Uint8Array(Math.max(0, Math.min(CHUNK_BYTES, end - at)));
        const { bytesRead } = buffer.length === 0 ? { bytesRead: 0 } : await file.read(buffer, 0, buffer.length, at);
        if (bytesRead === 0) {
          await file.close();
          controller.close();
          return;
        }
        at += bytesRead;
        controller.enqueue(buffer.subarray(0, bytesRead));
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
}

function failure(path: string, cause: unknown): WordloomError {
  const code = (cause as NodeJS.ErrnoException).code; // what Node's file functions throw
  const denied = code === "EACCES" || code === "EPERM";
  const reason = cause instanceof Error ? cause.message : String(cause);
  return denied
    ? new WordloomError("access-denied", `${path} may not be read: ${reason}`, {
        remedy: "Give this program the right to read the file.",
        cause,
      })
    : new WordloomError("file-invalid", `${path} could not be read: ${reason}`, { cause });
}
