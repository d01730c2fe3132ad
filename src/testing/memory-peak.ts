/** The most memory that this process holds while something runs, watched from another thread of it. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";

/** Reads the process's resident memory all the time, and keeps the largest. */
const WATCHER = `
const { workerData } = require("node:worker_threads");
const peak = new Float64Array(workerData);
setInterval(() => { peak[0] = Math.max(peak[0], process.memoryUsage.rss()); }, 1);
`;

export interface MemoryPeak {
  /** What the process holds more at its peak than at the start, in bytes: heap, ArrayBuffers, and all else. */
  growthDuring(act: () => Promise<void>): Promise<number>;
  close(): Promise<void>;
}

export async function memoryPeak(): Promise<MemoryPeak> {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void; // there by the flag
  const shared = new SharedArrayBuffer(8);
  const peak = new Float64Array(shared);
  const watcher = new Worker(WATCHER, { eval: true, workerData: shared });
  await new Promise((resolve) => watcher.once("online", resolve));
  return {
    async growthDuring(act) {
      collectGarbage();
      const before = process.memoryUsage.rss();
      peak[0] = before;
      await act();
      return Math.max(peak[0], process.memoryUsage.rss()) - before;
    },
    close: async () => void (await watcher.terminate()),
  };
}
