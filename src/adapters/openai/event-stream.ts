/** Objects → a response of server-sent events, `data: {…}` each and `data: [DONE]` last. */
import { apiErrorOf } from "./api-error";

/**
 * The first object is awaited, so that what fails before it is an ordinary error of HTTP. A later failure is an event of
 * its own, `{ error }`, as the API's own servers send it.
 *
 * @param abort stops the answer: the reader has gone, or the request's signal said so
 * @throws what `events` throws before its first object
 */
export async function eventResponse(
  events: AsyncGenerator<object, undefined>,
  abort: AbortController,
): Promise<Response> {
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<object, undefined>> = Promise.resolve(await events.next());
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const send = (data: string) => controller.enqueue(encoder.encode(`data: ${data}\n\n`));
        try {
          const { done, value } = await next;
          if (!done) {
            send(JSON.stringify(value));
            next = events.next();
            next.catch(() => {}); // the next pull tells
            return;
          }
          send("[DONE]");
        } catch (error) {
          if (abort.signal.aborted) {
            controller.error(abort.signal.reason);
            return;
          }
          send(JSON.stringify(apiErrorOf(error).body()));
        }
        controller.close();
      },
      cancel(reason) {
        abort.abort(reason ?? new DOMException("the stream was cancelled", "AbortError"));
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}
