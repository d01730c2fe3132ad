/** A model as a folder on an HTTP server, with or without support for Range. */
import { WordloomError } from "../errors";
import { guardedStream } from "./guarded-stream";
import type { ModelFile, ModelFiles } from "./model-files";

export interface UrlFolderOptions {
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
  headers?: HeadersInit | undefined;
}

/** @param folder absolute; a query in it (a signature) is sent with each file */
export function openUrlFolder(folder: URL, options: UrlFolderOptions = {}): ModelFiles {
  const base = new URL(folder);
  base.hash = "";
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const server = new Server(options);
  return {
    description: base.href,
    find: (name, signal) => {
      const url = new URL(base);
      url.pathname += encodeURIComponent(name);
      return server.find(name, url, signal);
    },
  };
}

class Server {
  constructor(private readonly options: UrlFolderOptions) {}

  async find(name: string, url: URL, signal: AbortSignal | undefined): Promise<ModelFile | undefined> {
    let response = await this.#request(url, { method: "HEAD", signal });
    if (response.status === 405 || response.status === 501) {
      // A server without HEAD says the same to GET; its body is not wanted.
      response = await this.#request(url, { method: "GET", signal });
    }
    await response.body?.cancel();
    if (response.status === 404 || response.status === 410) return undefined;
    if (!response.ok) throw refused(url, response);
    return {
      name,
      sizeBytes: statedLength(response),
      stream: (range = {}) => this.#stream(url, statedLength(response), range),
    };
  }

  async #stream(
    url: URL,
    sizeBytes: number | undefined,
    { start = 0, end, signal }: { start?: number; end?: number; signal?: AbortSignal },
  ): Promise<ReadableStream<Uint8Array>> {
    if (end !== undefined && end <= start) return emptyStream();
    const headers: Record<string, string> = {};
    if (start > 0 || end !== undefined) headers["Range"] = `bytes=${start}-${end === undefined ? "" : end - 1}`;
    const response = await this.#request(url, { headers, signal });
    if (response.status === 416) {
      throw new WordloomError("file-invalid", `${url.href} ends before byte ${start} (status 416)`);
    }
    if (!response.ok) throw refused(url, response);
    if (response.body === null) return emptyStream();

    // What came may be the whole file, or another part than was asked for: Content-Range says so, where it can be seen.
    const range = contentRange(response);
    const firstByte = range?.first ?? (response.status === 206 ? start : 0);
    if (firstByte > start) {
      await response.body.cancel();
      throw new WordloomError(
        "file-invalid",
        `${url.href}: asked for bytes from ${start}, it sent them from ${firstByte}`,
      );
    }
    const total = range?.total ?? (response.status === 200 ? statedLength(response) : undefined) ?? sizeBytes;
    const expectedEnd = total === undefined ? Infinity : Math.min(end ?? total, total);
    return guardedStream(response.body, {
      drop: start - firstByte,
      ...(end === undefined ? {} : { length: end - start }),
      signal,
      failure: (cause) => noAnswer(url, "broke off", cause),
      atEnd: (passed) =>
        expectedEnd === Infinity || start + passed >= expectedEnd
          ? undefined
          : new WordloomError("file-invalid", `${url.href} ended at byte ${start + passed}, before ${expectedEnd}`),
    });
  }

  async #request(
    url: URL,
    {
      method = "GET",
      headers = {},
      signal,
    }: { method?: string; headers?: Record<string, string>; signal?: AbortSignal | undefined },
  ): Promise<Response> {
    signal?.throwIfAborted();
    const all = new Headers(this.options.headers);
    for (const [key, value] of Object.entries(headers)) all.set(key, value);
    const request = this.options.fetch ?? globalThis.fetch.bind(globalThis);
    try {
      return await request(url.href, { method, headers: all, ...(signal === undefined ? {} : { signal }) });
    } catch (cause) {
      signal?.throwIfAborted();
      throw noAnswer(url, "did not answer", cause);
    }
  }
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** The file's size, unless the body is compressed on the way (then the length is that of the compressed one). */
function statedLength(response: Response): number | undefined {
  const encoding = response.headers.get("Content-Encoding");
  if (encoding !== null && encoding !== "identity") return undefined;
  const length = response.headers.get("Content-Length");
  return length !== null && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** From other origins this header can be read only if the server exposes it. */
function contentRange(response: Response): { first: number; total: number | undefined } | undefined {
  const match = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get("Content-Range") ?? "");
  if (match === null) return undefined;
  return { first: Number(match[1]), total: match[2] === "*" ? undefined : Number(match[2]) };
}

function refused(url: URL, response: Response): WordloomError {
  const status = `${response.status} ${response.statusText}`.trim();
  if (response.status === 401 || response.status === 403) {
    return new WordloomError("access-denied", `${url.href} may not be read (status ${status})`);
  }
  return new WordloomError("network-failed", `${url.href} answered with status ${status}`);
}

function noAnswer(url: URL, what: string, cause: unknown): WordloomError {
  const reasons = [cause, cause instanceof Error ? cause.cause : undefined];
  const reason = reasons.flatMap((error) => (error instanceof Error ? [error.message] : [])).join(": ");
  // A browser does not tell a page whether it was the network or a missing CORS header.
  return new WordloomError("network-failed", `${url.href} ${what}${reason === "" ? "" : ` (${reason})`}`, { cause });
}
