/** An origin private file system, locks and a quota in memory, for tests of what is kept in Node. */
import type { StorePlace } from "../storage/model-store";

export interface MemoryStorage extends StorePlace {
  /** Contents by path: "wordloom-models/…/model.json". */
  readonly contents: Map<string, Uint8Array<ArrayBuffer>>;
  /** Bytes that all files together may take. */
  quotaBytes: number;
  /** What `estimate` says of the quota, if not the truth. */
  saidQuotaBytes: number | undefined;
}

export interface MemoryStorageOptions {
  /** sync: as in a worker. writable: as on a page; what is written is there when the stream has been closed. */
  writes: "sync" | "writable" | "neither";
}

export function memoryStorage({ writes }: MemoryStorageOptions): MemoryStorage {
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  const directories = new Set<string>();
  const open = new Set<string>();
  const notFound = () => new DOMException("there is no such entry", "NotFoundError");
  const usage = () => [...contents.values()].reduce((sum, bytes) => sum + bytes.length, 0);

  const resized = (bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> => {
    const copy = new Uint8Array(size);
    copy.set(bytes.subarray(0, size));
    return copy;
  };
  const written = (bytes: Uint8Array<ArrayBuffer>, at: number, part: Uint8Array) => {
    const more = Math.max(0, at + part.length - bytes.length);
    if (usage() + more > storage.quotaBytes) throw new DOMException("no room", "QuotaExceededError");
    const size = Math.max(bytes.length, at + part.length);
    // Twice the room that is needed, so that many small writes do not copy everything each time.
    const roomy = bytes.buffer.byteLength < size ? resized(bytes, 2 * size) : bytes;
    const grown = new Uint8Array(roomy.buffer, 0, size);
    grown.set(part, at);
    return grown;
  };
  const exclusively = (path: string) => {
    if (open.has(path)) throw new DOMException(`${path} is open`, "NoModificationAllowedError");
    open.add(path);
  };

  const file = (path: string, name: string) => ({
    kind: "file",
    name,
    getFile: async () => {
      const bytes = contents.get(path);
      if (bytes === undefined) throw notFound();
      return new File([bytes], name);
    },
    ...(writes === "sync"
      ? {
          createSyncAccessHandle: async () => {
            exclusively(path);
            const set = (bytes: Uint8Array<ArrayBuffer>) => contents.set(path, bytes);
            const now = () => contents.get(path) ?? new Uint8Array();
            return {
              write: (bytes: Uint8Array, { at }: { at: number }) => {
                set(written(now(), at, bytes));
                return bytes.length;
              },
              truncate: (size: number) => set(resized(now(), size)),
              flush: () => {},
              close: () => open.delete(path),
            };
          },
        }
      : {}),
    ...(writes === "writable"
      ? {
          createWritable: async ({ keepExistingData }: { keepExistingData: boolean }) => {
            exclusively(path);
            const now = contents.get(path) ?? new Uint8Array();
            let bytes = resized(now, keepExistingData ? now.length : 0); // a copy, until it is closed
            return {
              write: async ({ position, data }: { position: number; data: Uint8Array }) => {
                bytes = written(bytes, position, data);
              },
              truncate: async (size: number) => {
                bytes = resized(bytes, size);
              },
              close: async () => {
                open.delete(path);
                contents.set(path, bytes);
              },
              abort: async () => void open.delete(path),
            };
          },
        }
      : {}),
  });

  const directory = (path: string, name: string): unknown => ({
    kind: "directory",
    name,
    getDirectoryHandle: async (child: string, { create = false } = {}) => {
      const childPath = `${path}${child}/`;
      if (!directories.has(childPath)) {
        if (!create) throw notFound();
        directories.add(childPath);
      }
      return directory(childPath, child);
    },
    getFileHandle: async (child: string, { create = false } = {}) => {
      if (!contents.has(path + child)) {
        if (!create) throw notFound();
        contents.set(path + child, new Uint8Array());
      }
      return file(path + child, child);
    },
    removeEntry: async (child: string) => {
      if (open.has(path + child)) throw new DOMException("it is open", "NoModificationAllowedError");
      const below = [...contents.keys()].filter((entry) => entry.startsWith(`${path}${child}/`));
      const isThere = contents.delete(path + child) || directories.delete(`${path}${child}/`);
      for (const entry of below) contents.delete(entry);
      if (!isThere) throw notFound();
    },
    entries: async function* () {
      const children = (paths: Iterable<string>) =>
        [...paths].filter((entry) => entry.startsWith(path) && /^[^/]+\/?$/.test(entry.slice(path.length)));
      for (const entry of children(contents.keys())) yield [entry.slice(path.length), file(entry, entry)];
      for (const entry of children(directories)) {
        const child = entry.slice(path.length, -1);
        yield [child, directory(entry, child)];
      }
    },
  });

  const storage: MemoryStorage = {
    contents,
    quotaBytes: Infinity,
    saidQuotaBytes: undefined,
    root: directory("", "") as FileSystemDirectoryHandle, // as much of it as is used
    locks: { request: memoryLocks() as LockManager["request"] },
    estimate: async () => ({ quota: storage.saidQuotaBytes ?? Math.min(storage.quotaBytes, 2 ** 50), usage: usage() }),
  };
  return storage;
}

interface Held {
  mode: LockMode;
  name: string;
}

/** Web Locks: first come, first served. */
function memoryLocks() {
  const held = new Set<Held>();
  const waiting: { wanted: Held; grant: () => void }[] = [];
  const isFree = ({ name, mode }: Held) =>
    ![...held].some((lock) => lock.name === name && (mode === "exclusive" || lock.mode === "exclusive"));
  const serve = () => {
    for (let at = waiting.findIndex(({ wanted }) => isFree(wanted)); at >= 0;) {
      const [next] = waiting.splice(at, 1);
      if (next !== undefined) {
        held.add(next.wanted);
        next.grant();
      }
      at = waiting.findIndex(({ wanted }) => isFree(wanted));
    }
  };
  return async (name: string, options: LockOptions, callback: (lock: Held | null) => Promise<unknown>) => {
    const wanted: Held = { name, mode: options.mode ?? "exclusive" };
    options.signal?.throwIfAborted();
    if (options.ifAvailable === true && !isFree(wanted)) return callback(null);
    await new Promise<void>((grant, reject) => {
      const entry = { wanted, grant };
      options.signal?.addEventListener("abort", () => {
        const at = waiting.indexOf(entry);
        if (at >= 0) waiting.splice(at, 1);
        reject(options.signal?.reason as Error);
      });
      waiting.push(entry);
      serve();
    });
    try {
      return await callback(wanted);
    } finally {
      held.delete(wanted);
      serve();
    }
  };
}
