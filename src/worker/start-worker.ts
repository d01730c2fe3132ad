/**
 * Starts the engine's worker from a file of its own, so that a page needs no more than `worker-src 'self'`.
 * In `dist-lib/word-loom.js` the build puts `start-worker.inline.ts` in this file's place.
 *
 * @throws {DOMException} SecurityError: the file is on another origin than the page. A worker that the page's policy
 *   refuses is created all the same, and fires `error` instead of its first message.
 */
export function startWorker(): Worker {
  return new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
}
