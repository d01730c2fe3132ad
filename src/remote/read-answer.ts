/** The body of a streamed answer, event by event, until its end. */
import { WordloomError } from "../errors";
import { noAnswer } from "../storage/http-client";
import { EventStream } from "./event-stream";
import { isRecord } from "./json-values";
import { failureInStream, statedFailure } from "./refusals";
import { noJson, type ServerClient } from "./server-client";

/**
 * Each event's object, up to "[DONE]", or the one object of a server that has not streamed.
 *
 * @throws WordloomError network-failed where the connection breaks; server-failed for what is no JSON, and for a failure
 *   that the server tells in the stream; whatever `signal` aborts with
 */
export async function* readAnswer(
  client: ServerClient,
  url: string,
  response: Response,
  signal: AbortSignal,
): AsyncGenerator<Record<string, unknown>, "done" | "cut"> {
  const type = response.headers.get("Content-Type") ?? "";
  if (type.includes("html")) throw noJson(url, "<");
  if (type.includes("json")) {
    yield checked(url, await client.json(url, response, signal));
    return "done";
  }
  const reader = response.body?.getReader();
  if (!reader) return "cut";
  try {
    const stream = new EventStream();
    for (;;) {
      const bytes = await nextPiece(reader, url, signal);
      if (!bytes) return "cut";
      for (const event of eventsIn(stream, bytes, url)) {
        if (event.trim() === "[DONE]") return "done";
        yield checked(url, parsed(url, event));
      }
    }
  } finally {
    // Whatever ended it: nothing more is wanted of this connection. A broken one cannot be cancelled, and need not be.
    reader.cancel().catch(() => undefined);
  }
}

async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  url: string,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await reader.read();
    return done ? undefined : value;
  } catch (cause) {
    signal.throwIfAborted();
    throw noAnswer(url, "broke off in the middle of its answer", cause);
  }
}

function eventsIn(stream: EventStream, bytes: Uint8Array, url: string): string[] {
  try {
    return stream.push(bytes);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WordloomError("server-failed", `${url} answered with no event stream: ${reason}`, { cause });
  }
}

function parsed(url: string, event: string): unknown {
  try {
    return JSON.parse(event) as unknown;
  } catch (cause) {
    throw noJson(url, event, cause);
  }
}

function checked(url: string, value: unknown): Record<string, unknown> {
  const failure = statedFailure(value);
  if (failure) throw failureInStream(url, failure);
  if (!isRecord(value)) throw noJson(url, JSON.stringify(value));
  return value;
}
