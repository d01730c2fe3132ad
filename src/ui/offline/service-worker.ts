/**
 * The page's service worker: a page that was visited works without a network, with the model that comes with it. The
 * build (scripts/offline.mjs) lists the files with a hash each. A newer version of them is fetched beside the one in use,
 * and takes its place when the page says so, or when no page is open any more.
 */
import { clientsClaim } from "workbox-core";
import { cleanupOutdatedCaches, precacheAndRoute, type PrecacheEntry } from "workbox-precaching";
import { createPartialResponse } from "workbox-range-requests";
import { registerRoute } from "workbox-routing";
import { BUNDLED_FOLDER, modelCacheName, type FromPage } from "./messages";

declare const self: ServiceWorkerScope & { readonly __WB_MANIFEST: PrecacheEntry[] };

/** As much as is used of what TypeScript's other library, of workers, would say. */
interface ServiceWorkerScope extends EventTarget {
  readonly registration: ServiceWorkerRegistration;
  skipWaiting(): Promise<void>;
}
interface WaitingEvent extends Event {
  waitUntil(promise: Promise<unknown>): void;
}

const entries = self.__WB_MANIFEST;
const scope = self.registration.scope;
const isOfModel = ({ url }: PrecacheEntry) => url.startsWith(BUNDLED_FOLDER);
/** Address → address with the hash of its content, under which it is kept. */
const modelFiles = new Map(
  entries.filter(isOfModel).map(({ url, revision }) => {
    const address = new URL(url, scope).href;
    return [address, `${address}?revision=${revision}`];
  }),
);

precacheAndRoute(
  entries.filter((entry) => !isOfModel(entry)),
  { cleanURLs: false, ignoreURLParametersMatching: [/./] }, // the page's settings stand in its address
);
cleanupOutdatedCaches();
clientsClaim();

const kept = () => caches.open(modelCacheName(scope));

/** Fetches what is not there. A server that is asked says at little cost that the browser's own copy is still right. */
async function keepModel(): Promise<void> {
  const cache = await kept();
  for (const [address, key] of modelFiles) {
    if (await cache.match(key)) continue;
    const response = await fetch(address, { cache: "no-cache" });
    if (!response.ok) throw new Error(`${address} answered with status ${response.status}`);
    const body = await response.blob(); // as it is without compression, and so are its headers
    const headers = new Headers(response.headers);
    headers.delete("content-encoding");
    headers.set("content-length", String(body.size));
    await cache.put(key, new Response(body, { headers }));
  }
}

/** Who has the model keeps one: a newer version of it belongs to a newer version of the page. */
async function renewModel(): Promise<void> {
  const cache = await kept();
  if ((await cache.keys()).length > 0) await keepModel();
}

async function deleteOtherModels(): Promise<void> {
  const cache = await kept();
  const wanted = new Set(modelFiles.values());
  await Promise.all((await cache.keys()).filter(({ url }) => !wanted.has(url)).map((request) => cache.delete(request)));
}

/** A file of the bundled model: from here if it is kept, else from the server; what the build did not list is not there. */
async function modelFile(request: Request): Promise<Response> {
  const { origin, pathname } = new URL(request.url);
  const key = modelFiles.get(origin + pathname);
  const response = key === undefined ? undefined : await (await kept()).match(key);
  if (response === undefined) {
    try {
      return await fetch(request);
    } catch (error) {
      if (key !== undefined) throw error;
      return new Response(null, { status: 404 });
    }
  }
  if (request.method === "HEAD") return new Response(null, { headers: response.headers });
  return request.headers.has("range") ? createPartialResponse(request, response) : response;
}

const inBundledFolder = ({ url }: { url: URL }) => url.href.startsWith(new URL(BUNDLED_FOLDER, scope).href);
for (const method of ["GET", "HEAD"] as const)
  registerRoute(inBundledFolder, ({ request }) => modelFile(request), method);

self.addEventListener("install", (event) => (event as WaitingEvent).waitUntil(renewModel()));
self.addEventListener("activate", (event) => (event as WaitingEvent).waitUntil(deleteOtherModels()));
self.addEventListener("message", (event) => {
  const { data, ports } = event as MessageEvent<FromPage>;
  if (data === "use-now") (event as MessageEvent & WaitingEvent).waitUntil(self.skipWaiting());
  else if (data === "keep-model")
    (event as MessageEvent & WaitingEvent).waitUntil(
      keepModel().then(
        () => ports[0]?.postMessage("kept"),
        (error: unknown) => ports[0]?.postMessage(String(error)),
      ),
    );
});
