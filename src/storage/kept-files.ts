/** A model's files, kept on this device while they are read, and read from here when they are whole. */
import { isNotFound } from "./file-writer";
import { KeptBytes, readRecord, removeKept, writeRecord, type FileRecord } from "./kept-bytes";
import { KeptFile } from "./kept-file";
import type { ModelFile, ModelFiles } from "./model-files";
import { messageOf, storageFailure, type KeptModel } from "./model-store";
import { WordloomError } from "../errors";

/** How the loading of a model ended, for what is kept of it. */
export type LoadOutcome =
  /** It runs. */
  | "loaded"
  /** Something else failed, or it was stopped: what has come is worth keeping. */
  | "stopped"
  /** Its files are wrong: what no hash vouches for is deleted. */
  | "broken";

export interface KeptFilesOptions {
  /** Undefined: files are only hashed. */
  model: KeptModel | undefined;
  /** By file name, as the caller gave them. */
  sha256: Readonly<Record<string, string>>;
  foreign: (firstBytes: Uint8Array) => string | undefined;
  /** Asks the source whether what is here is still its state. */
  refresh: boolean;
  /** Nothing is written. */
  readOnly: boolean;
  signal: AbortSignal | undefined;
}

/** A rest of a file that nothing was read of is fetched for the hash's sake, if it is no larger. */
const REST_BYTES = 64 * 2 ** 20;

export class KeptFiles implements ModelFiles {
  readonly description: string;
  readonly chosen: string | undefined;
  readonly list: ModelFiles["list"];
  readonly #opened = new Map<string, KeptFile>();
  /** Files that the source was found not to have. */
  readonly #absent = new Set<string>();
  /** Why something is not kept; undefined while all is. */
  notKept: string | undefined;
  /** Files that came from here, and whether a hash vouches for them. */
  readonly #fromHere = new Map<string, boolean>();

  constructor(
    private readonly files: ModelFiles,
    private readonly options: KeptFilesOptions,
  ) {
    this.description = files.description;
    this.chosen = files.chosen;
    this.list = files.list;
  }

  /** Whether every file that was read came from here. */
  get cameFromHere(): boolean {
    return this.#fromHere.size > 0 && this.#opened.size === 0;
  }

  async find(name: string, signal?: AbortSignal): Promise<ModelFile | undefined> {
    signal?.throwIfAborted();
    const { model, refresh, readOnly } = this.options;
    const record = model === undefined ? undefined : await this.#recordOf(model, name);
    if (model !== undefined && record !== undefined && !refresh) {
      if (record.absent) return undefined;
      if (record.whole) return this.#whole(model, record);
    }
    const remote = await this.files.find(name, signal);
    if (remote === undefined) {
      this.#absent.add(name);
      return undefined;
    }
    const expected = this.options.sha256[name] ?? remote.sha256;
    const isSame =
      record?.whole === true &&
      record.sizeBytes === remote.sizeBytes &&
      (expected === undefined ? record.validator === remote.validator : record.sha256 === expected);
    if (model !== undefined && record !== undefined && isSame) return this.#whole(model, record);
    const writes = model !== undefined && !readOnly && this.notKept === undefined;
    if (!writes && expected === undefined) return remote;
    const file = new KeptFile(remote, {
      model: writes ? model : undefined,
      sha256: expected,
      foreign: this.options.foreign,
      onNotKept: (reason) => (this.notKept ??= reason),
    });
    const before = this.#opened.get(name);
    if (before !== undefined) await before.release(); // the same file twice: the second waits for no lock of the first
    this.#opened.set(name, file);
    return file;
  }

  /**
   * To be called once, when loading has ended.
   *
   * @returns whether all that was read is kept
   * @throws WordloomError file-invalid if the rest of a file shows that its hash is wrong
   */
  async settle(outcome: LoadOutcome): Promise<boolean> {
    const { model, signal, readOnly } = this.options;
    try {
      if (outcome === "loaded") {
        for (const file of this.#opened.values()) await this.#finish(file, signal);
        this.#checkNames();
      } else if (outcome === "broken" && !readOnly) {
        for (const file of this.#opened.values()) if (file.sha256 === undefined) await file.forget();
        for (const [name, vouched] of this.#fromHere) if (!vouched) await this.#attempt((dir) => removeKept(dir, name));
      }
      for (const file of this.#opened.values()) await file.release();
      const allWhole = [...this.#opened.values()].every((file) => file.isWhole || file.frontier === 0);
      if (model === undefined || readOnly || outcome !== "loaded" || this.notKept !== undefined || !allWhole)
        return false;
      const foreign = [...this.#opened.values()].flatMap(({ isForeign, name }) => (isForeign ? [name] : []));
      for (const name of [...this.#absent, ...foreign]) {
        const record = { name, bytes: 0, sha256: "", vouched: false, whole: false, absent: true };
        await this.#attempt((directory) => model.exclusively(name, () => writeRecord(directory, record), signal));
      }
      await this.#attempt(() => model.note({ complete: true, usedAtMs: Date.now() }));
      return this.notKept === undefined;
    } finally {
      for (const file of this.#opened.values()) await file.release();
      model?.release();
    }
  }

  async #recordOf(model: KeptModel, name: string): Promise<FileRecord | undefined> {
    try {
      const record = await readRecord(model.directory, name);
      if (record?.whole !== true) return record;
      const expected = this.options.sha256[name];
      const isRight = expected === undefined || expected === record.sha256;
      if (isRight && (await new KeptBytes(model.directory, name, record.bytes).isThere())) return record;
      await removeKept(model.directory, name);
    } catch (error) {
      this.notKept ??= storageFailure(error);
    }
    return undefined;
  }

  #whole(model: KeptModel, record: FileRecord): ModelFile {
    const { name, bytes, sha256, validator } = record;
    const kept = new KeptBytes(model.directory, name, bytes);
    this.#fromHere.set(name, record.vouched);
    const failure = (cause: unknown) =>
      new WordloomError("file-invalid", `what was kept of ${name} could not be read: ${messageOf(cause)}`, {
        remedy: isNotFound(cause)
          ? "Load again: it was deleted meanwhile."
          : "Delete the stored model, then load again.",
        cause,
      });
    return {
      name,
      sizeBytes: bytes,
      sha256,
      validator,
      stream: ({ start = 0, end = bytes, signal } = {}) => {
        if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
        return Promise.resolve(kept.stream(start, Math.min(end, bytes), signal, failure));
      },
    };
  }

  /** What the storage refuses costs the copy, not the model. */
  async #attempt(act: (directory: FileSystemDirectoryHandle) => Promise<void>): Promise<void> {
    const { model } = this.options;
    if (model === undefined) return;
    try {
      await act(model.directory);
    } catch (error) {
      this.notKept ??= storageFailure(error);
    }
  }

  /** A file whose end nobody read has no hash yet. */
  async #finish(file: KeptFile, signal: AbortSignal | undefined): Promise<void> {
    const { name, frontier, sizeBytes } = file;
    const asked = Object.hasOwn(this.options.sha256, name);
    if (file.isWhole || file.isForeign || (frontier === 0 && !asked)) return;
    if (!asked && sizeBytes !== undefined && sizeBytes - frontier > REST_BYTES) return;
    const rest = await file.stream({ start: frontier, ...(signal === undefined ? {} : { signal }) });
    for (const reader = rest.getReader(); !(await reader.read()).done;) continue;
  }

  /** A hash that was compared with nothing would be taken for a check. */
  #checkNames(): void {
    for (const name of Object.keys(this.options.sha256)) {
      if (this.#opened.has(name) || this.#fromHere.has(name)) continue;
      throw new WordloomError("option-invalid", `sha256 names ${name}, which is no file this model is read from`);
    }
  }
}
