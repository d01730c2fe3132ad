/** One wrapper round every source's bytes: the wanted range, abort, and failures in Wordloom's words. */

/** Chromium gives at most 64 KiB to such a read. */
const BUFFER_BYTES = 64 * 1024;

export interface GuardOptions {
  /** Bytes to drop at the beginning (a server that ignores Range). Default 0. */
  drop?: number;
  /** Bytes to pass on at most; then the source is cancelled. Default: all. */
  length?: number;
  signal?: AbortSignal | undefined;
  /** The source failed, not by abort. */
  failure: (cause: unknown) => Error;
  /** The source ended after `passed` bytes; an error here becomes the stream's. */
  atEnd?: (passed: number) => Error | undefined;
}

/**
 * Reads of a byte stream (a response, a Blob) into one buffer that is used again and again: a checkpoint's gigabytes
 * would else become garbage in chunks, of which browsers collect the first after 60 MiB or more. A chunk is gone once
 * the next read begins. Where a stream or a browser cannot do that, chunks are the stream's own.
 */
function reusingReader(
  source: ReadableStream<Uint8Array>,
): Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel"> {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = source.getReader({ mode: "byob" });
  } catch {
    return source.getReader(); // no stream of bytes, or a browser that does not know this mode (Safari)
  }
  let buffer = new ArrayBuffer(BUFFER_BYTES);
  return {
    read: async () => {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done || value === undefined) return { done: true, value: undefined };
      buffer = value.buffer;
      return { done, value };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/**
 * Reads ahead by nothing: a chunk is taken from the source when it is asked for. An abort errors the stream with
 * `signal.reason` at once, also while the source hangs.
 */
export function guardedStream(source: ReadableStream<Uint8Array>, options: GuardOptions): ReadableStream<Uint8Array> {
  const { length = Infinity, signal, failure, atEnd } = options;
  let drop = options.drop ?? 0;
  let passed = 0;
  const reader = reusingReader(source);
  /** The source is given up; whatever it says to that changes nothing any more. */
  const giveUp = (reason: unknown) => reader.cancel(reason).catch(() => undefined);
  let stopListening = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (signal === undefined) return;
        const onAbort = () => {
          controller.error(signal.reason);
          void giveUp(signal.reason);
        };
        if (signal.aborted) {
          onAbort();
          return;
        }
        signal.addEventListener("abort", onAbort, { once: true });
        stopListening = () => signal.removeEventListener("abort", onAbort);
      },
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = passed < length ? await reader.read() : { done: true, value: undefined };
            if (signal?.aborted === true) return; // already errored
            if (done || value === undefined) {
              stopListening();
              const error = atEnd?.(passed);
              if (error === undefined) controller.close();
              else controller.error(error);
              void giveUp("all that was asked for has come");
              return;
            }
            const chunk = value.subarray(Math.min(drop, value.length));
            drop -= value.length - chunk.length;
            if (chunk.length === 0) continue;
            const wanted = chunk.subarray(0, Math.min(chunk.length, length - passed));
            passed += wanted.length;
            controller.enqueue(wanted);
            return;
          }
        } catch (cause) {
          if (signal?.aborted === true) return; // already errored
          stopListening();
          controller.error(failure(cause));
        }
      },
      async cancel(reason) {
        stopListening();
        await giveUp(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
