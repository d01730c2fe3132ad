/** Where a model's files come from, behind one shape: a URL folder, File objects, a directory handle, a local path. */

export interface ModelFile {
  /** File name inside the model folder, e.g. "model.safetensors". */
  readonly name: string;
  /** Undefined where a server does not say. */
  readonly sizeBytes: number | undefined;
  /**
   * The bytes from `start` (default 0) up to `end` (exclusive, default: the end), in order. Works without Range support
   * on the server (bytes before `start` are read and dropped, and the request is cancelled at `end`). A chunk's bytes are
   * there until the next read, which may take their buffer: copy what is to be kept.
   */
  stream(options?: { start?: number; end?: number; signal?: AbortSignal }): Promise<ReadableStream<Uint8Array>>;
}

export interface ModelFiles {
  /** The folder in words, for messages: a URL, a directory name. */
  readonly description: string;
  /** Undefined if there is no such file (404); other failures throw a WordloomError. */
  find(name: string, signal?: AbortSignal): Promise<ModelFile | undefined>;
}
