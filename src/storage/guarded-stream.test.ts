import { expect, test } from "vitest";
import { guardedStream } from "./guarded-stream";

const failure = (cause: unknown) => new Error(String(cause));
const BYTES = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7);

/** Reads all chunks, copying each before the next is asked for. */
async function readAll(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  const copies: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { chunks, bytes: new Uint8Array(Buffer.concat(copies)) };
    chunks.push(value);
    copies.push(value.slice());
  }
}

test("a byte stream goes through one buffer: no chunk but the last keeps memory", async () => {
  const { chunks, bytes } = await readAll(guardedStream(new Blob([BYTES]).stream(), { failure }));
  expect(Buffer.compare(bytes, BYTES)).toBe(0);
  expect(chunks.length).toBeGreaterThan(4);
  for (const chunk of chunks.slice(0, -1)) expect(chunk.buffer.byteLength).toBe(0);
});

const inChunks = () =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(BYTES.slice(0, 100));
      controller.enqueue(BYTES.slice(100));
      controller.close();
    },
  });

test.each([
  ["a byte stream", () => new Blob([BYTES]).stream()],
  ["a stream of chunks", inChunks],
])("of %s the wanted part comes", async (_, source) => {
  const part = guardedStream(source(), { drop: 70_001, length: 200_000, failure });
  expect(Buffer.compare((await readAll(part)).bytes, BYTES.subarray(70_001, 270_001))).toBe(0);
});
