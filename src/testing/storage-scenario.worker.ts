/** The scenario in a dedicated worker: posts the result, or why there is none. */
import { storageScenario } from "./storage-scenario";

const scope = globalThis as unknown as { postMessage(message: unknown): void }; // a worker's, not a window's
storageScenario("in-a-worker.test").then(
  (result) => scope.postMessage({ result }),
  (error: unknown) =>
    scope.postMessage({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
);
