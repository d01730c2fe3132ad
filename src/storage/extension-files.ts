/**
 * The files of a browser extension, for its own pages: `chrome-extension:`, `moz-extension:`, `safari-web-extension:`.
 *
 * Two things are other than with a server, seen in Chromium 156:
 * - `fetch` of a file that does not exist rejects, with the TypeError of a network that fails (net::ERR_FILE_NOT_FOUND).
 *   No network takes part, so such a file is not there: 404.
 * - the answer to a Range holds those bytes alone, under status 200 and without Content-Range. Of other browsers this is
 *   not known, so there the whole file is asked for, and what is not wanted of it dropped.
 *
 * This file can go when extension addresses answer as servers do.
 */
export function isExtension(url: URL): boolean {
  return /^[a-z-]+-extension:$/.test(url.protocol);
}

/** `fetch`, with answers as a server's. */
export function extensionFetch(fetch: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const first = /^bytes=(\d+)-/.exec(request.headers.get("Range") ?? "")?.[1];
    const sendsParts = request.url.startsWith("chrome-extension:");
    if (!sendsParts) request.headers.delete("Range");
    try {
      const response = await fetch(request);
      if (first === undefined || !sendsParts || response.status !== 200) return response;
      const headers = new Headers(response.headers);
      headers.set("Content-Range", `bytes ${first}-${first}/*`); // where it ends is told by its length
      return new Response(response.body, { status: 206, headers });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // stopped by the caller
      return new Response(null, { status: 404 });
    }
  };
}
