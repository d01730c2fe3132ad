/** Writing a file of the origin private file system, in whichever way this thread can. */

/** What TypeScript's DOM types leave out, since it exists in dedicated workers only. */
interface SyncAccessHandle {
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  flush(): void;
  close(): void;
}

export interface FileWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** Only what has been closed is certain to be there at the next visit. */
  close(): Promise<void>;
  /** After a failure: gives the file free, whatever is in it. */
  abandon(): Promise<void>;
}

/**
 * In workers through a sync access handle, the only way of Safari before 26; else through a writable stream.
 *
 * @param keepBytes of the file's beginning that stay; what follows is overwritten
 * @throws DOMException as the browser gives it, QuotaExceededError among them; a TypeError where there is neither way
 */
export async function openFileWriter(handle: FileSystemFileHandle, keepBytes = 0): Promise<FileWriter> {
  let at = keepBytes;
  if ("createSyncAccessHandle" in handle) {
    const open = handle.createSyncAccessHandle as () => Promise<SyncAccessHandle>;
    const access = await open.call(handle);
    access.truncate(keepBytes);
    return {
      write: async (bytes) => {
        for (let done = 0; done < bytes.length;) {
          const written = access.write(bytes.subarray(done), { at: at + done });
          if (written === 0) throw new DOMException("nothing could be written", "QuotaExceededError");
          done += written;
        }
        at += bytes.length;
      },
      close: async () => {
        access.flush();
        access.close();
      },
      abandon: async () => access.close(),
    };
  }
  const writable = await handle.createWritable({ keepExistingData: keepBytes > 0 });
  if (keepBytes > 0) await writable.truncate(keepBytes);
  return {
    write: async (bytes) => {
      // Never shared memory here, which is all that the wider type would add.
      await writable.write({ type: "write", position: at, data: bytes as Uint8Array<ArrayBuffer> });
      at += bytes.length;
    },
    close: () => writable.close(),
    abandon: () => writable.abort(),
  };
}

/** The file's text is `text` and nothing else. */
export async function writeText(directory: FileSystemDirectoryHandle, name: string, text: string): Promise<void> {
  const writer = await openFileWriter(await directory.getFileHandle(name, { create: true }));
  try {
    await writer.write(new TextEncoder().encode(text));
  } catch (error) {
    await writer.abandon();
    throw error;
  }
  await writer.close();
}

/** Undefined where there is no such file, or it holds no JSON: a closed tab may have left half of it. */
export async function readStoredJson(directory: FileSystemDirectoryHandle, name: string): Promise<unknown> {
  try {
    const file = await (await directory.getFileHandle(name)).getFile();
    return JSON.parse(await file.text()) as unknown;
  } catch (error) {
    if (isNotFound(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export async function removeIfThere(directory: FileSystemDirectoryHandle, name: string): Promise<void> {
  try {
    await directory.removeEntry(name, { recursive: true });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof DOMException && error.name === "NotFoundError";
}
