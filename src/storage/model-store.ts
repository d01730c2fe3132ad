/**
 * Models that are kept on this device, in the origin private file system: one folder for each source and revision, in
 * it for each file its segments and a record (kept-bytes), and one record for the whole.
 */
import { WordloomError } from "../errors";
import { isNotFound, readStoredJson, removeIfThere, writeText } from "./file-writer";
import { asRecord } from "./kept-bytes";
import type { ModelIdentity } from "./model-files";
import { sha256OfText } from "./sha256";

const FOLDER = "wordloom-models";
const MODEL_RECORD = "model.json";
/** Folder names are hashes, so no file of ours has this name. */
const RECALLED = "recalled.";

/** What the store needs of a browser; tests give their own. */
export interface StorePlace {
  root: FileSystemDirectoryHandle;
  locks: Pick<LockManager, "request">;
  estimate: () => Promise<StorageEstimate>;
}

export interface StoredFile {
  name: string;
  /** That are here. */
  bytes: number;
  /** Of the whole file; undefined where the source did not say. */
  sizeBytes: number | undefined;
  /** Of the bytes that are here. */
  sha256: string;
  whole: boolean;
}

export interface StoredModel {
  /** For `delete`. */
  id: string;
  /** "hf:org/name", or an address without its query. */
  source: string;
  /** A commit of the hub; "" elsewhere. */
  revision: string;
  /** That the model takes here. */
  bytes: number;
  /** It has been loaded from here, or can be. */
  complete: boolean;
  /** When it was last loaded whole; undefined if it never was. */
  usedAt: Date | undefined;
  files: StoredFile[];
}

interface ModelRecord {
  source: string;
  revision: string;
  complete: boolean;
  /** Milliseconds since 1970. */
  usedAtMs?: number | undefined;
  /** Name of what is recalled with it. */
  recalled?: string | undefined;
}

/** Where this thread can keep files, or why it cannot. */
export async function browserPlace(): Promise<StorePlace | string> {
  const { storage, locks } = (globalThis as { navigator?: Partial<Navigator> }).navigator ?? {}; // neither is in Node
  if (storage === undefined || typeof storage.getDirectory !== "function" || locks === undefined) {
    return "this browser has no private file system for this page (it takes https or localhost)";
  }
  try {
    return { root: await storage.getDirectory(), locks, estimate: () => storage.estimate() };
  } catch (error) {
    return `this browser does not let the page keep files: ${messageOf(error)}`;
  }
}

export class ModelStore {
  constructor(readonly place: StorePlace) {}

  /**
   * The model's folder, held against deletion until `release`.
   *
   * @param options.create makes it if need be
   * @returns undefined where there is none
   * @throws DOMException where the browser refuses; `signal.reason` if it aborts
   */
  async open(
    identity: ModelIdentity,
    { signal, create }: { signal: AbortSignal | undefined; create: boolean },
  ): Promise<KeptModel | undefined> {
    const id = sha256OfText(identity.key).slice(0, 32);
    const release = await takeLock(this.place.locks, `${FOLDER}/${id}`, "shared", signal);
    try {
      const folder = await this.#folder();
      const directory = create ? await folder.getDirectoryHandle(id, { create }) : await existingDirectory(folder, id);
      if (directory === undefined) {
        release();
        return undefined;
      }
      const model = new KeptModel(id, directory, identity, this.place, release);
      if (create) await model.note({}, signal);
      return model;
    } catch (error) {
      release();
      throw error;
    }
  }

  async list(): Promise<StoredModel[]> {
    const models: StoredModel[] = [];
    const folder = await this.#folder();
    for await (const [id, handle] of entriesOf(folder)) {
      if (handle.kind !== "directory") continue;
      const directory = handle as FileSystemDirectoryHandle;
      const record = asModelRecord(await readStoredJson(directory, MODEL_RECORD));
      const files: StoredFile[] = [];
      for await (const [name] of entriesOf(directory)) {
        if (!name.endsWith(".json") || name === MODEL_RECORD) continue;
        const file = asRecord(await readStoredJson(directory, name));
        if (file === undefined || file.absent) continue;
        const { bytes, sizeBytes, sha256, whole } = file;
        files.push({ name: file.name, bytes, sizeBytes, sha256, whole });
      }
      files.sort((a, b) => (a.name < b.name ? -1 : 1));
      models.push({
        id,
        source: record?.source ?? "",
        revision: record?.revision ?? "",
        bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
        complete: record?.complete ?? false,
        usedAt: record?.usedAtMs === undefined ? undefined : new Date(record.usedAtMs),
        files,
      });
    }
    return models;
  }

  /**
   * @param id of `list`; one that is not there is deleted already
   * @throws WordloomError storage-failed while the model is being loaded, here or in another tab
   */
  async delete(id: string): Promise<void> {
    const deleted = await this.#ifUnused(id, async (folder, directory) => {
      const record = asModelRecord(await readStoredJson(directory, MODEL_RECORD));
      if (record?.recalled !== undefined) await removeIfThere(folder, record.recalled);
      await removeIfThere(folder, id);
    });
    if (!deleted) {
      throw new WordloomError("storage-failed", "the model is being loaded, so it cannot be deleted now", {
        remedy: "Wait until it is loaded, or stop that, here and in other tabs; then delete it.",
      });
    }
  }

  /** A folder without a file: of a model that turned out to be none. What the storage refuses to that changes nothing. */
  async deleteIfEmpty(id: string): Promise<void> {
    try {
      await this.#ifUnused(id, async (folder, directory) => {
        for await (const [name] of entriesOf(directory)) if (name !== MODEL_RECORD) return;
        await removeIfThere(folder, id);
      });
    } catch {
      return; // it goes on being listed, with no bytes
    }
  }

  /** @returns false where the model is being loaded; a folder that is not there is nothing to do */
  async #ifUnused(
    id: string,
    act: (folder: FileSystemDirectoryHandle, directory: FileSystemDirectoryHandle) => Promise<void>,
  ): Promise<boolean> {
    const folder = await this.#folder();
    return this.place.locks.request(`${FOLDER}/${id}`, { ifAvailable: true }, async (lock) => {
      if (lock === null) return false;
      const directory = await existingDirectory(folder, id);
      if (directory !== undefined) await act(folder, directory);
      return true;
    });
  }

  /** What `remember` was given for this key, with a model that was loaded whole. */
  async recall(key: string): Promise<unknown> {
    return readStoredJson(await this.#folder(), RECALLED + sha256OfText(key).slice(0, 32));
  }

  /** Until the model is deleted. */
  async remember(key: string, value: unknown, model: KeptModel): Promise<void> {
    const name = RECALLED + sha256OfText(key).slice(0, 32);
    const folder = await this.#folder();
    await exclusively(this.place.locks, `${FOLDER}/${name}`, () => writeText(folder, name, JSON.stringify(value)));
    await model.note({ recalled: name });
  }

  #folder(): Promise<FileSystemDirectoryHandle> {
    return this.place.root.getDirectoryHandle(FOLDER, { create: true });
  }
}

/** One model's folder while it is being loaded. */
export class KeptModel {
  constructor(
    readonly id: string,
    readonly directory: FileSystemDirectoryHandle,
    private readonly identity: ModelIdentity,
    private readonly place: StorePlace,
    readonly release: () => void,
  ) {}

  /** Changes the model's record, which is made if there is none. */
  note(change: Partial<ModelRecord>, signal?: AbortSignal): Promise<void> {
    return this.exclusively(
      MODEL_RECORD,
      async () => {
        const { source, revision } = this.identity;
        const known = asModelRecord(await readStoredJson(this.directory, MODEL_RECORD));
        const record = { ...(known ?? { source, revision, complete: false }), ...change };
        if (known === undefined || Object.keys(change).length > 0) {
          await writeText(this.directory, MODEL_RECORD, JSON.stringify(record));
        }
      },
      signal,
    );
  }

  /** A browser lets one at a time write a file, and refuses the second. */
  exclusively(name: string, act: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    return exclusively(this.place.locks, `${FOLDER}/${this.id}/${name}`, act, signal);
  }

  /** One at a time writes a file; another tab waits here, and then finds it. */
  lockFile(name: string, signal: AbortSignal | undefined): Promise<() => void> {
    return takeLock(this.place.locks, `${FOLDER}/${this.id}/${name}`, "exclusive", signal);
  }

  /** Bytes that may still be written; undefined where the browser does not say. */
  async freeBytes(): Promise<number | undefined> {
    const { quota, usage } = await this.place.estimate();
    return quota === undefined || usage === undefined ? undefined : quota - usage;
  }
}

/** Resolves when the lock is held, with what gives it back; it is given back by itself when the tab ends. */
function takeLock(
  locks: StorePlace["locks"],
  name: string,
  mode: LockMode,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const held = () => new Promise<void>((release) => resolve(release));
    locks.request(name, { mode, ...(signal === undefined ? {} : { signal }) }, held).catch(reject);
  });
}

export async function exclusively(
  locks: StorePlace["locks"],
  name: string,
  act: () => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const release = await takeLock(locks, name, "exclusive", signal);
  try {
    await act();
  } finally {
    release();
  }
}

function asModelRecord(value: unknown): ModelRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { source, revision, complete, usedAtMs } = value as Partial<ModelRecord>; // looked at before it is believed
  const isOurs =
    typeof source === "string" &&
    typeof revision === "string" &&
    typeof complete === "boolean" &&
    (usedAtMs === undefined || Number.isFinite(usedAtMs));
  return isOurs ? (value as ModelRecord) : undefined;
}

async function existingDirectory(folder: FileSystemDirectoryHandle, name: string) {
  try {
    return await folder.getDirectoryHandle(name);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** TypeScript's DOM types leave out that a directory can be gone through. */
export function entriesOf(directory: FileSystemDirectoryHandle): AsyncIterable<[string, FileSystemHandle]> {
  return (directory as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries();
}

/** Why a file could not be written, in words. */
export function storageFailure(error: unknown): string {
  const isQuota = error instanceof DOMException && error.name === "QuotaExceededError";
  return isQuota
    ? "there is no room left in this browser's storage"
    : `this browser's storage failed (${messageOf(error)})`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error || error instanceof DOMException ? `${error.name}: ${error.message}` : String(error);
}
