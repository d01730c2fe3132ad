/** Model files in memory, which count what is read of them. */
import type { ModelFiles } from "../storage/model-files";

export interface MemoryFiles extends ModelFiles {
  /** Bytes handed out, by file name. */
  readonly bytesRead: Map<string, number>;
  readonly streamsOpened: Map<string, number>;
}

/**
 * @param chunkBytes of each chunk of a stream; an odd size splits values
 * @param sizes whether the files tell their sizes (servers may not)
 */
export function memoryFiles(
  contents: Readonly<Record<string, Uint8Array | string>>,
  { chunkBytes = 1000, sizes = true }: { chunkBytes?: number; sizes?: boolean } = {},
): MemoryFiles {
  const bytesRead = new Map<string, number>();
  const streamsOpened = new Map<string, number>();
  const count = (map: Map<string, number>, name: string, by: number) => map.set(name, (map.get(name) ?? 0) + by);
  return {
    description: "memory",
    list: () => Promise.resolve(Object.keys(contents)),
    bytesRead,
    streamsOpened,
    find: (name, signal) => {
      if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
      if (!Object.hasOwn(contents, name)) return Promise.resolve(undefined);
      const content = contents[name] ?? "";
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      return Promise.resolve({
        name,
        sizeBytes: sizes ? bytes.length : undefined,
        stream: ({ start = 0, end = bytes.length, signal } = {}) => {
          count(streamsOpened, name, 1);
          let at = start;
          const last = Math.min(end, bytes.length);
          const stream = new ReadableStream<Uint8Array>(
            {
              pull(controller) {
                if (signal?.aborted === true) controller.error(signal.reason);
                else if (at >= last) controller.close();
                else {
                  const chunk = bytes.subarray(at, Math.min(at + chunkBytes, last));
                  at += chunk.length;
                  count(bytesRead, name, chunk.length);
                  controller.enqueue(chunk);
                }
              },
            },
            { highWaterMark: 0 },
          );
          return Promise.resolve(stream);
        },
      });
    },
  };
}
