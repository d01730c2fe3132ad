/**
 * The files of a browser extension, for its own pages: `chrome-extension:`, `moz-extension:`, `safari-web-extension:`.
 *
 * Browsers answer no 404 there: `fetch` of a file that does not exist rejects, with the same TypeError as where a network
 * fails (Chromium: net::ERR_FILE_NOT_FOUND). No network takes part, so such a file is not there. This file can go when
 * extension addresses answer with a status.
 */
export function isExtension(url: URL): boolean {
  return /^[a-z-]+-extension:$/.test(url.protocol);
}

/** `fetch`, with 404 for what an extension does not hold. */
export function extensionFetch(fetch: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // stopped by the caller
      return new Response(null, { status: 404 });
    }
  };
}
