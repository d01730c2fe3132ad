/** Where a model's files come from, behind one shape: a URL folder, File objects, a directory handle, a local path. */

export interface ModelFile {
  /** File name inside the model folder, e.g. "model.safetensors". */
  readonly name: string;
  /** Undefined where a server does not say. */
  readonly sizeBytes: number | undefined;
  /** As the source states it, in lower-case hexadecimal; undefined where it states none. */
  readonly sha256?: string | undefined;
  /** Changes with the content (an entity tag, a date, a content id); undefined where the source gives nothing of the kind. */
  readonly validator?: string | undefined;
  /**
   * The bytes from `start` (default 0) up to `end` (exclusive, default: the end), in order. Works without Range support
   * on the server (bytes before `start` are read and dropped, and the request is cancelled at `end`). A chunk's bytes are
   * there until the next read, which may take their buffer: copy what is to be kept.
   *
   * A file that is kept on this device is fetched from its beginning; `onPassed` is told how far it has come before `start`.
   */
  stream(options?: {
    start?: number;
    end?: number;
    signal?: AbortSignal;
    onPassed?: (position: number) => void;
  }): Promise<ReadableStream<Uint8Array>>;
}

/** Tells one model from another where files of several are kept. */
export interface ModelIdentity {
  /** For people: "hf:org/name", an address without its query. */
  readonly source: string;
  /** A commit of the hub; "" where the source has no such thing. */
  readonly revision: string;
  /** All that the files depend on: server, path, query, revision. May hold secrets: only its hash is stored. */
  readonly key: string;
  /** The page's own server has the files: they are as near as a copy of them would be. */
  readonly ownServer: boolean;
  /** What to remember with a model that is kept, so that the next visit can do without the source. */
  readonly recall?: { readonly key: string; readonly value: unknown } | undefined;
}

export interface ModelFiles {
  /** The folder in words, for messages: a URL, a directory name. */
  readonly description: string;
  /** The one file that the source names (a .gguf), where it names one and not a folder. */
  readonly chosen?: string | undefined;
  /** Names of all files; undefined where nobody can tell (a folder on a web server). */
  readonly list?: ((signal?: AbortSignal) => Promise<readonly string[]>) | undefined;
  /** Undefined if there is no such file (404); other failures throw a WordloomError. */
  find(name: string, signal?: AbortSignal): Promise<ModelFile | undefined>;
  /** For files that may be kept on this device; undefined for those that are on it already. */
  readonly identity?: ((signal?: AbortSignal) => Promise<ModelIdentity>) | undefined;
}
