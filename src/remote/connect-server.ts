import { detectServer } from "./detect-server";
import { parseEndpoint } from "./endpoint";
import { RemoteEngine } from "./remote-engine";
import type { RemoteInfo, ServerKind } from "./remote-types";
import { ServerClient, type ServerAccess } from "./server-client";

export interface ConnectRequest extends ServerAccess {
  url: string;
  /** What a relative `url` is relative to. */
  baseUrl: string | undefined;
  server: ServerKind | undefined;
  model: string | undefined;
  /** Why a server writes, in words. */
  reason: string;
}

/**
 * Asks a server what it is and which models it has; nothing that is to be continued is sent yet.
 *
 * @throws WordloomError as `parseEndpoint` and `detectServer`; `signal.reason` on abort
 */
export async function connectServer(request: ConnectRequest, signal: AbortSignal): Promise<RemoteEngine> {
  const { server, model, reason } = request;
  const endpoint = parseEndpoint(request.url, request.baseUrl);
  signal.throwIfAborted();
  const client = new ServerClient(request);
  const facts = await detectServer(client, endpoint, { server, model }, signal);
  const info: RemoteInfo = {
    ...facts,
    backend: "remote",
    tier: "remote",
    endpoint: endpoint.api,
    backendReason: reason,
    worker: false,
    workerReason: "there is nothing to compute on this device",
    adapter: "",
    isFallbackAdapter: false,
    dtype: undefined,
    kvDtype: undefined,
    kvShape: undefined,
    reason: "only the server knows how it holds the weights",
    modelType: undefined,
    layerCount: undefined,
    suggestedSampling: {},
    stored: false,
    storeReason: "the model stays on the server",
    bytes: { weights: 0, kvCache: 0, activations: 0 },
  };
  return new RemoteEngine(client, endpoint, info);
}
