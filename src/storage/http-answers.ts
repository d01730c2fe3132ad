/** What a server's answer says: how large a file is, which part of it came, and why it is refused. */
import { WordloomError } from "../errors";
import { Transient } from "./retries";

/** The file's size, unless the body is compressed on the way (then the length is that of the compressed one). */
export function statedLength(response: Response): number | undefined {
  if (isCompressed(response)) return undefined;
  const length = response.headers.get("Content-Length");
  return length !== null && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** Positions in such a body are not those of the file. */
export function isCompressed(response: Response): boolean {
  const encoding = response.headers.get("Content-Encoding");
  return encoding !== null && encoding !== "identity";
}

/**
 * What changes with the file's content. A strong or weak ETag without the mark that some servers put on it when they
 * compress; else the date. From other origins an ETag can be read only if the server exposes it.
 */
export function validatorOf(response: Response): string | undefined {
  const etag = response.headers.get("ETag");
  if (etag !== null) return etag.replace(/^W\//, "").replace(/[-;:]+(gzip|br|zstd|deflate)"$/, '"');
  return response.headers.get("Last-Modified") ?? undefined;
}

/**
 * The first byte of the body, and the file's size, if that can be told.
 *
 * @param asked first byte asked for
 * @param askedEnd exclusive; undefined for the file's end
 * @param knownSize of the file
 * @returns undefined where a part came and nothing tells which
 */
export function bodyRange(
  response: Response,
  { asked, askedEnd, knownSize }: { asked: number; askedEnd: number | undefined; knownSize: number | undefined },
): { first: number; total: number | undefined } | undefined {
  // A server may answer with the whole file, or with another part; some say so under status 200.
  const stated = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get("Content-Range") ?? "");
  if (stated !== null) {
    return { first: Number(stated[1]), total: stated[2] === "*" ? knownSize : Number(stated[2]) };
  }
  if (response.status !== 206) return { first: 0, total: statedLength(response) ?? knownSize };
  // From other origins Content-Range can be read only if the server exposes it; then the length has to tell.
  const length = statedLength(response);
  const end = knownSize === undefined ? askedEnd : Math.min(askedEnd ?? knownSize, knownSize);
  if (length === undefined || end === undefined || length === end - asked) return { first: asked, total: knownSize };
  return length === knownSize ? { first: 0, total: knownSize } : undefined;
}

/** Statuses that the same request may not get a second time. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Why an answer that is no success is refused: a WordloomError, in a Transient where it may pass. */
export function refusal(url: string, response: Response): WordloomError | Transient {
  const status = `status ${`${response.status} ${response.statusText}`.trim()}`;
  const retryAfterMs = retryAfter(response);
  const error = refusalError(url, response.status, status, retryAfterMs);
  return PASSING.has(response.status) ? new Transient(error, retryAfterMs) : error;
}

function refusalError(url: string, code: number, status: string, retryAfterMs: number | undefined): WordloomError {
  if (code === 401) return new WordloomError("access-denied", `${url} may not be read without a token (${status})`);
  if (code === 403) {
    return new WordloomError("access-denied", `${url} may not be read (${status})`, {
      remedy: "Accept the model's terms on its page, if it has any; else take a token that may read it.",
    });
  }
  if (code === 404 || code === 410) return new WordloomError("model-not-found", `there is no ${url} (${status})`);
  if (code === 429) {
    const wait = retryAfterMs === undefined ? "" : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
    return new WordloomError("rate-limited", `${url} was asked for too often (${status}${wait})`);
  }
  if (code >= 500 || code === 408) return new WordloomError("server-failed", `${url} answered with ${status}`);
  return new WordloomError("network-failed", `${url} answered with ${status}`, {
    remedy: "Check the address; the server does not answer to it as to a file.",
  });
}

/** What Retry-After (seconds, or a date) asks to wait, in ms; undefined where it is not there or cannot be read. */
export function retryAfter(response: Response): number | undefined {
  const value = response.headers.get("Retry-After");
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
