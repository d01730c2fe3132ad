/**
 * One file on a server as a stream that goes on where a connection broke: by Range from the next byte, or, where a
 * server does not do that, by asking for all of it and dropping what has been seen.
 */
import { WordloomError } from "../errors";
import { guardedStream } from "./guarded-stream";
import { bodyRange, isCompressed, refusal, validatorOf } from "./http-answers";
import { noAnswer, type HttpClient } from "./http-client";
import type { ModelFile } from "./model-files";
import { Transient } from "./retries";

export interface HttpFileFacts {
  name: string;
  url: string;
  sizeBytes: number | undefined;
  validator: string | undefined;
  /** As the source states it. */
  sha256?: string | undefined;
}

export class HttpFile implements ModelFile {
  readonly name: string;
  readonly sizeBytes: number | undefined;
  readonly validator: string | undefined;
  readonly sha256: string | undefined;
  readonly #url: string;
  /** Of the first answer with a body: later ones must be of the same content. */
  #seen: string | undefined;
  /** Its ETag as it was, where that is a strong one. */
  #ifRange: string | undefined;
  /** Where a body ended too early, though its connection did not break. */
  #endedAt: number | undefined;
  /** False once the server has answered a Range with nonsense. */
  #ranges = true;

  constructor(
    facts: HttpFileFacts,
    private readonly client: HttpClient,
  ) {
    this.name = facts.name;
    this.sizeBytes = facts.sizeBytes;
    this.validator = facts.validator;
    this.sha256 = facts.sha256;
    this.#url = facts.url;
  }

  async stream({ start = 0, end, signal }: Parameters<ModelFile["stream"]>[0] = {}) {
    if (end !== undefined && end <= start) return emptyStream();
    const { client } = this;
    const retries = client.retries();
    let position = start;
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    const open = async () => {
      for (;;) {
        try {
          const part = await this.#open(position, end, signal);
          retries.answered();
          return part.getReader();
        } catch (failure) {
          await retries.next(failure, signal);
        }
      }
    };
    reader = await open(); // here, so that a refusal is told before anything is read
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          for (;;) {
            try {
              reader ??= await open();
              const { done, value } = await reader.read();
              if (done) {
                controller.close();
                return;
              }
              position += value.length;
              retries.received(value.length);
              controller.enqueue(value);
              return;
            } catch (failure) {
              reader = undefined;
              try {
                await retries.next(failure, signal);
              } catch (final) {
                controller.error(final);
                return;
              }
            }
          }
        },
        async cancel(reason) {
          await reader?.cancel(reason).catch(() => undefined); // given up: what it says to that changes nothing
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The bytes from `start`, in one answer; the stream fails with Transient where the rest may be had by asking again. */
  async #open(start: number, end: number | undefined, signal: AbortSignal | undefined) {
    const url = this.#url;
    const isPart = start > 0 || end !== undefined;
    const response = await this.client.fetch(url, {
      headers: isPart && this.#ranges ? this.#part(start, end) : {},
      signal,
    });
    if (response.status === 416 && isPart && this.#ranges) {
      await response.body?.cancel();
      const size = Number(/^bytes \*\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1] ?? NaN);
      if ((this.sizeBytes ?? size) <= start) return emptyStream(); // nothing is left
      throw this.#withoutRanges(`${url} refused bytes from ${start} (status 416)`);
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw refusal(url, response);
    }
    if (response.body === null) return emptyStream();
    const range = bodyRange(response, { asked: start, askedEnd: end, knownSize: this.sizeBytes });
    const unusable =
      range === undefined
        ? `${url}: asked for bytes from ${start}, it did not say which it sent`
        : response.status === 206 && isCompressed(response)
          ? `${url}: asked for bytes from ${start}, it sent a part of something compressed`
          : range.first > start
            ? `${url}: asked for bytes from ${start}, it sent them from ${range.first}`
            : undefined;
    if (unusable !== undefined || range === undefined) {
      await response.body.cancel();
      throw this.#withoutRanges(unusable ?? "");
    }
    const changed = this.#change(response, range.total);
    if (changed !== undefined) {
      await response.body.cancel();
      throw changed;
    }
    const total = range.total ?? this.sizeBytes;
    const expectedEnd = total === undefined ? Infinity : Math.min(end ?? total, total);
    return guardedStream(response.body, {
      drop: start - range.first,
      ...(end === undefined ? {} : { length: end - start }),
      signal,
      failure: (cause) => new Transient(noAnswer(url, "broke off", cause)),
      atEnd: (passed) => {
        if (expectedEnd === Infinity || start + passed >= expectedEnd) return undefined;
        const at = start + passed;
        const error = new WordloomError("file-invalid", `${url} ended at byte ${at}, before ${expectedEnd}`);
        // A second time at the same byte: the server has no more.
        const isFinal = at === this.#endedAt;
        this.#endedAt = at;
        return isFinal ? error : new Transient(error);
      },
    });
  }

  #part(start: number, end: number | undefined): Record<string, string> {
    const range = { Range: `bytes=${start}-${end === undefined ? "" : end - 1}` };
    // Other origins would have to allow this header first; there the answer's own ETag is compared.
    const canCondition = typeof location === "undefined" || new URL(this.#url).origin === location.origin;
    return canCondition && this.#ifRange !== undefined ? { ...range, "If-Range": this.#ifRange } : range;
  }

  /** Whether this answer is of another state of the file than what has been read before. */
  #change(response: Response, total: number | undefined): WordloomError | undefined {
    const validator = validatorOf(response);
    const known = this.#seen;
    this.#seen ??= validator;
    const etag = response.headers.get("ETag");
    if (etag?.startsWith('"') === true && etag === this.#seen) this.#ifRange = etag;
    const otherContent = known !== undefined && validator !== undefined && known !== validator;
    const otherSize = total !== undefined && this.sizeBytes !== undefined && total !== this.sizeBytes;
    if (!otherContent && !otherSize) return undefined;
    const what = otherContent ? `${known} became ${validator}` : `${this.sizeBytes} bytes became ${total}`;
    return new WordloomError("file-invalid", `${this.#url} changed while it was read: ${what}`, {
      remedy: "Load again: the server has another state of the file now.",
    });
  }

  /** From now on the whole file is asked for; if that was it already, there is nothing more to try. */
  #withoutRanges(message: string): Transient | WordloomError {
    const error = new WordloomError("file-invalid", message);
    if (!this.#ranges) return error;
    this.#ranges = false;
    return new Transient(error, 0);
  }
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
