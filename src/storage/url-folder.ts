/** A model as a folder on an HTTP server, with or without support for Range. */
import { isGguf } from "./gguf-files";
import { statedLength, validatorOf } from "./http-answers";
import { HttpClient, type HttpOptions } from "./http-client";
import { HttpFile } from "./http-file";
import type { ModelFile, ModelFiles, ModelIdentity } from "./model-files";

export type UrlFolderOptions = HttpOptions;

/** @param address absolute, of a folder or of a .gguf file in it; a query (a signature) is sent with each file */
export function openUrlFolder(address: URL, options: UrlFolderOptions = {}): ModelFiles {
  const base = new URL(address);
  base.hash = "";
  const file = isGguf(base.pathname) ? base.pathname.slice(base.pathname.lastIndexOf("/") + 1) : undefined;
  if (file !== undefined) base.pathname = base.pathname.slice(0, -file.length);
  else if (!base.pathname.endsWith("/")) base.pathname += "/";
  const client = new HttpClient(options);
  return {
    description: base.href,
    chosen: file === undefined ? undefined : decodeURIComponent(file),
    find: (name, signal) => {
      const url = new URL(base);
      url.pathname += encodeURIComponent(name);
      return findHttpFile(name, url.href, client, signal);
    },
    identity: () => Promise.resolve(urlIdentity(base)),
  };
}

/** Of a folder or a single file. */
export function urlIdentity(url: URL): ModelIdentity {
  const shown = new URL(url);
  shown.search = "";
  shown.username = "";
  shown.password = "";
  const page = (globalThis as { location?: Location }).location; // there is none in Node
  return { source: shown.href, revision: "", key: url.href, ownServer: page?.origin === url.origin };
}

/**
 * Asks for size and state of a file.
 *
 * @returns undefined for 404 and 410
 * @throws WordloomError by status; `signal.reason` if it aborts
 */
export async function findHttpFile(
  name: string,
  url: string,
  client: HttpClient,
  signal: AbortSignal | undefined,
): Promise<ModelFile | undefined> {
  let response = await client.request(url, { method: "HEAD", signal }, [404, 410, 405, 501]);
  if (response.status === 405 || response.status === 501) {
    // A server without HEAD says the same to GET; its body is not wanted.
    response = await client.request(url, { method: "GET", signal }, [404, 410]);
  }
  await response.body?.cancel();
  if (response.status === 404 || response.status === 410) return undefined;
  return new HttpFile({ name, url, sizeBytes: statedLength(response), validator: validatorOf(response) }, client);
}
