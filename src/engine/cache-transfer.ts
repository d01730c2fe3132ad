/** What the KV cache holds, out of the engine and back, in pieces that can be posted. */
import type { Backend, BackendFacts } from "../backends/backend";
import { bytesPerPosition } from "../backends/cache-layout";
import { WordloomError } from "../errors";
import { sha256OfText } from "../storage/sha256";
import type { Scheduler } from "./scheduler";

/** Whose keys and values they are. Equal ids: equal numbers in the same order. */
export interface CacheOwner {
  id: string;
  /** In words, for messages. */
  name: string;
  bytesPerPosition: number;
}

/** Positions `start` … `end` of a text. */
export interface CachePiece {
  start: number;
  end: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Each call waits its turn; between two of them anything else may be run, and is allowed for. */
export interface CacheAccess {
  owner(): Promise<CacheOwner>;
  /**
   * The next few MiB, from position `start` on. What the cache holds no longer is run first.
   *
   * @param start below the number of tokens
   * @returns undefined if it was stopped
   */
  read(tokens: Uint32Array, start: number, signal: AbortSignal): Promise<CachePiece | undefined>;
  /**
   * Pieces in order, from the first position on.
   *
   * @returns false where something else has been run in between: the rest is of no use then
   * @throws WordloomError internal for a piece whose size is wrong
   */
  write(tokens: Uint32Array, piece: CachePiece, signal: AbortSignal): Promise<boolean>;
}

/** Memory that a piece takes, at the most (but for a model one of whose positions takes more). */
const PIECE_BYTES = 4 * 2 ** 20;

export class CacheTransfer implements CacheAccess {
  readonly #scheduler: Scheduler;
  readonly #owner: CacheOwner;
  readonly #contextLength: number;

  /** @param fingerprint of the model */
  constructor(
    scheduler: Scheduler,
    backend: Backend,
    { modelType, dtype, contextLength }: Pick<BackendFacts, "dtype" | "contextLength"> & { modelType: string },
    fingerprint: string,
  ) {
    const { format, arrays } = backend.cacheLayout;
    this.#scheduler = scheduler;
    this.#owner = {
      id: sha256OfText(JSON.stringify([fingerprint, dtype, format, arrays])),
      name: `${modelType}, weights ${dtype}, cache ${format}, ${arrays.length} arrays`,
      bytesPerPosition: bytesPerPosition(backend.cacheLayout),
    };
    this.#contextLength = contextLength;
  }

  async owner(): Promise<CacheOwner> {
    return this.#owner;
  }

  async read(tokens: Uint32Array, start: number, signal: AbortSignal): Promise<CachePiece | undefined> {
    const count = Math.max(1, Math.floor(PIECE_BYTES / this.#owner.bytesPerPosition));
    const end = Math.min(start + count, tokens.length);
    const bytes = await this.#scheduler.exportCache(tokens, { start, end }, signal);
    return bytes && { start, end, bytes };
  }

  async write(tokens: Uint32Array, piece: CachePiece, signal: AbortSignal): Promise<boolean> {
    const { start, end, bytes } = piece;
    if (bytes.length !== (end - start) * this.#owner.bytesPerPosition || end > this.#contextLength) {
      throw new WordloomError("internal", `${bytes.length} bytes for positions ${start} to ${end} of the cache`);
    }
    return this.#scheduler.importCache(tokens, piece, signal);
  }
}
