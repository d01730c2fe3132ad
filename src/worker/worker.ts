/** Entry of the dedicated worker: an engine behind this worker's own port. */
import { loadEngine } from "../engine/load-model";
import { Host } from "./host";
import type { Port } from "./messages";

new Host(self as unknown as Port, (request, options) =>
  // `self` is typed as a window here; of the worker's scope only the two methods of Port are used.
  loadEngine(request, { ...options, worker: true, workerReason: "a dedicated worker" }),
);
