/** Entry of the dedicated worker: an engine behind this worker's own port. */
import { loadEngine } from "../engine/load-model";
import { Host } from "./host";
import type { Port } from "./messages";

const scope: Port = self; // of the worker's scope only these two methods are used

new Host(scope, (request, options) =>
  loadEngine(request, { ...options, worker: true, workerReason: "a dedicated worker" }),
);
