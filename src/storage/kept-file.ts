/**
 * A file that is hashed and kept while it streams to whoever loads the model: one pass over the network. Of a file that
 * is here in part the beginning comes from here, the rest by Range.
 */
import { WordloomError } from "../errors";
import { SEGMENT_BYTES, KeptBytes, readRecord, removeKept, writeRecord, type FileRecord } from "./kept-bytes";
import type { ModelFile } from "./model-files";
import { storageFailure, type KeptModel } from "./model-store";
import { Sha256 } from "./sha256";

export interface KeptFileOptions {
  /** Where it is kept; undefined: it is only hashed. */
  model: KeptModel | undefined;
  /** SHA-256 that the file must have; undefined where none is known. */
  sha256: string | undefined;
  /** What came in place of a file, from its first bytes ("an HTML page"): that is never kept. */
  foreign: (firstBytes: Uint8Array) => string | undefined;
  /** It is not kept after all, and why; the file goes on coming. */
  onNotKept: (reason: string) => void;
}

/** Room that must be left beside the file itself. */
const SPARE_BYTES = 2 ** 20;

export class KeptFile implements ModelFile {
  readonly name: string;
  readonly sizeBytes: number | undefined;
  readonly sha256: string | undefined;
  /** Whether something else than the file came. */
  isForeign = false;
  /** All of it has come, and the hash is the expected one. */
  isWhole = false;
  /** Bytes from the beginning that have been hashed (and are kept). */
  frontier = 0;
  #kept: KeptBytes | undefined;
  #hash = new Sha256();
  /** Of what was kept at an earlier visit: checked when the frontier gets there. */
  #earlier: FileRecord | undefined;
  #claimed: Promise<void> | undefined;
  #release: (() => void) | undefined;
  /** What is here cannot be read. */
  #broken = false;
  /** One change at a time, if several streams are open. */
  #turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly remote: ModelFile,
    private readonly options: KeptFileOptions,
  ) {
    this.name = remote.name;
    this.sizeBytes = remote.sizeBytes;
    this.sha256 = options.sha256;
  }

  async stream({ start = 0, end = Infinity, signal, onPassed }: Parameters<ModelFile["stream"]>[0] = {}) {
    signal?.throwIfAborted();
    this.#claimed ??= this.#claim(signal);
    await this.#claimed;
    const last = Math.min(end, this.sizeBytes ?? Infinity);
    // What lies between is fetched, too: hash and store take the file from its beginning.
    let position = Math.min(start, this.frontier);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    let fromNetwork = false;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            for (;;) {
              if (position >= last || start >= last) break;
              if (fromNetwork && position < (this.#kept?.readable ?? 0)) {
                // Another stream of this file has fetched what comes next: it is not fetched twice.
                await reader?.cancel();
                reader = undefined;
              }
              if (reader === undefined) {
                fromNetwork = position >= (this.#kept?.readable ?? 0);
                reader = (await this.#open(position, last, signal)).getReader();
              }
              const { done, value } = await reader.read();
              if (done) {
                reader = undefined;
                if (fromNetwork) break; // its end: of what was asked for, or of a file whose size nobody knew
                continue;
              }
              const at = position;
              await this.#inTurn(() => this.#take(at, value));
              position += value.length;
              const wanted = value.subarray(Math.min(value.length, Math.max(0, start - at)));
              if (wanted.length === 0) {
                onPassed?.(position);
                continue;
              }
              controller.enqueue(wanted);
              return;
            }
            await reader?.cancel();
            await this.#inTurn(() => this.#pause(last === Infinity ? position : undefined));
            controller.close();
          } catch (error) {
            // The error before is the one to tell.
            await this.#inTurn(() => (this.#broken ? this.#drop() : this.#pause())).catch(() => undefined);
            controller.error(error);
          }
        },
        cancel: async (reason) => {
          await reader?.cancel(reason).catch(() => undefined); // given up: what it says to that changes nothing
          await this.#inTurn(() => this.#pause());
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** What is written can be found at the next visit, and another tab may go on. Nothing more is read afterwards. */
  async release(): Promise<void> {
    await this.#inTurn(() => this.#pause());
    this.#release?.();
    this.#release = undefined;
  }

  /** Nothing of it stays here. */
  async forget(): Promise<void> {
    await this.#inTurn(() => this.#drop());
  }

  /** Takes the file's lock; what another tab has fetched meanwhile is found then. */
  async #claim(signal: AbortSignal | undefined): Promise<void> {
    const { model } = this.options;
    if (model === undefined) return;
    this.#release = await model.lockFile(this.name, signal);
    try {
      const record = await readRecord(model.directory, this.name);
      if (record !== undefined && (await this.#continues(record))) {
        this.#kept = new KeptBytes(model.directory, this.name, record.bytes);
        if (await this.#kept.isThere()) this.#earlier = record;
        else await this.#kept.remove();
      } else {
        await removeKept(model.directory, this.name);
        this.#kept = new KeptBytes(model.directory, this.name);
      }
      await this.#checkRoom(model);
    } catch (error) {
      await this.#notKept(storageFailure(error));
    }
  }

  /** Whether the beginning that is here is one of the file as it is now. */
  async #continues(record: FileRecord): Promise<boolean> {
    const { remote, sha256 } = this;
    if (record.absent || record.bytes > (remote.sizeBytes ?? Infinity)) return false;
    if (record.whole && sha256 !== undefined && record.sha256 !== sha256) return false;
    if (record.sizeBytes !== remote.sizeBytes) return false;
    return sha256 !== undefined || (remote.validator !== undefined && record.validator === remote.validator);
  }

  async #checkRoom(model: KeptModel): Promise<void> {
    const needed = (this.sizeBytes ?? 0) - (this.#kept?.bytes ?? 0);
    const free = await model.freeBytes();
    if (free === undefined || needed <= 0 || needed + SPARE_BYTES <= free) return;
    await this.#notKept(`${this.name} needs ${mib(needed)} MiB of storage, and ${mib(free)} MiB are free`);
  }

  async #open(position: number, last: number, signal: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>> {
    const kept = this.#kept;
    if (kept !== undefined && position < kept.readable) {
      return kept.stream(position, Math.min(last, kept.readable), signal, (cause) => {
        this.#broken = true;
        return this.#damaged(String(cause));
      });
    }
    const options = signal === undefined ? {} : { signal };
    return this.remote.stream({ start: position, ...(last === Infinity ? {} : { end: last }), ...options });
  }

  /** Hashes and keeps what of a chunk is new. */
  async #take(position: number, chunk: Uint8Array): Promise<void> {
    if (this.frontier === 0 && position === 0) await this.#look(chunk);
    let fresh = chunk.subarray(Math.max(0, this.frontier - position));
    const earlier = this.#earlier;
    if (earlier !== undefined && this.frontier < earlier.bytes && this.frontier + fresh.length >= earlier.bytes) {
      const old = fresh.subarray(0, earlier.bytes - this.frontier);
      this.#hash.update(old);
      this.frontier += old.length;
      fresh = fresh.subarray(old.length);
      if (this.#hash.hex() !== earlier.sha256) {
        await this.#drop();
        throw this.#damaged(`its first ${earlier.bytes} bytes are not those that were written`);
      }
    }
    for (let done = 0; done < fresh.length;) {
      // A segment's end is where the hash is written down, so no piece goes beyond it.
      const piece = fresh.subarray(done, done + SEGMENT_BYTES - (this.frontier % SEGMENT_BYTES));
      this.#hash.update(piece);
      this.frontier += piece.length;
      done += piece.length;
      if (this.#kept !== undefined && this.frontier > this.#kept.bytes) await this.#keep(piece);
    }
    if (this.frontier === this.sizeBytes) await this.#end();
  }

  /** A web page in place of a file that a model can do without says that there is no such file: no fault of the storage. */
  async #look(firstBytes: Uint8Array): Promise<void> {
    if (this.options.foreign(firstBytes) === undefined) return;
    this.isForeign = true;
    await this.#drop();
  }

  async #keep(bytes: Uint8Array): Promise<void> {
    try {
      if (await this.#kept?.append(bytes)) await this.#writeRecord(false);
    } catch (error) {
      await this.#notKept(`${this.name} could not be kept: ${storageFailure(error)}`);
    }
  }

  /** Between two streams, or at the end. `size` where only the end told it. */
  async #pause(size?: number): Promise<void> {
    if (size !== undefined && size === this.frontier && !this.isWhole) await this.#end();
    const kept = this.#kept;
    if (kept === undefined || kept.readable === kept.bytes) return;
    try {
      await kept.close();
      await this.#writeRecord(false);
    } catch (error) {
      await this.#notKept(`${this.name} could not be kept: ${storageFailure(error)}`);
    }
  }

  async #end(): Promise<void> {
    if (this.isWhole) return;
    const expected = this.options.sha256;
    const found = this.#hash.hex();
    if (expected !== undefined && found !== expected) {
      await this.#drop();
      throw new WordloomError("file-invalid", `${this.name}: its SHA-256 is ${found}, it should be ${expected}`, {
        remedy: "Load again; if it is the same then, the file on the server is damaged, or the expected hash is wrong.",
      });
    }
    this.isWhole = true;
    try {
      await this.#kept?.close();
      if (this.#kept !== undefined && !this.isForeign) await this.#writeRecord(true);
    } catch (error) {
      await this.#notKept(`${this.name} could not be kept: ${storageFailure(error)}`);
    }
    this.#release?.();
    this.#release = undefined;
  }

  async #writeRecord(whole: boolean): Promise<void> {
    const { model } = this.options;
    if (model === undefined || this.#kept === undefined) return;
    await writeRecord(model.directory, {
      name: this.name,
      sizeBytes: whole ? this.frontier : this.sizeBytes,
      bytes: this.#kept.bytes,
      sha256: this.#hash.hex(),
      validator: this.remote.validator,
      vouched: this.sha256 !== undefined,
      whole,
      absent: false,
    });
  }

  async #notKept(reason: string): Promise<void> {
    await this.#drop();
    this.options.onNotKept(reason);
  }

  async #drop(): Promise<void> {
    const kept = this.#kept;
    this.#kept = undefined;
    this.#earlier = undefined;
    await kept?.remove().catch(() => undefined); // a storage that fails to write may fail to remove
  }

  #damaged(what: string): WordloomError {
    return new WordloomError("file-invalid", `what was kept of ${this.name} is damaged: ${what}`, {
      remedy: "Load again: it has been deleted, and will be fetched anew.",
    });
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined); // told to whoever's turn it was
    return turn;
  }
}

function mib(bytes: number): string {
  return Math.ceil(bytes / 2 ** 20).toString();
}
