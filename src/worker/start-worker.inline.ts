import InlineWorker from "./worker.ts?worker&inline";

/**
 * Starts the engine's worker from a `blob:`, for the one self-contained file, which may come from another origin than the
 * page. A policy without `worker-src blob:` refuses it: the worker is created, and fires `error`.
 */
export function startWorker(): Worker {
  return new InlineWorker();
}
