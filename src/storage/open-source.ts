/** From what the caller names to the files behind it. */
import { WordloomError } from "../errors";
import { openDirectoryHandle } from "./directory-handle";
import { extensionFetch, isExtension } from "./extension-files";
import { openFileList } from "./file-list";
import type { ModelFiles } from "./model-files";
import { openHub, parseHubSource, type HubOptions } from "./hub";
import { openUrlFolder } from "./url-folder";

export interface OpenSourceOptions extends HubOptions {
  signal?: AbortSignal | undefined;
}

/**
 * Nothing is read yet, so a folder that does not exist is noticed at its first file.
 *
 * @param source a URL (relative to the page) or, in Node, a path of a model folder or of a .gguf file;
 *   "hf:org/name[@revision][/file.gguf]"; File objects; a directory handle
 * @throws WordloomError source-unsupported
 */
export async function openSource(
  source: string | readonly File[] | FileSystemDirectoryHandle,
  options: OpenSourceOptions = {},
): Promise<ModelFiles> {
  options.signal?.throwIfAborted();
  if (typeof source !== "string") {
    if (Array.isArray(source)) return openFileList(source as readonly File[]); // narrowing of readonly arrays fails
    return openDirectoryHandle(source as FileSystemDirectoryHandle);
  }
  const text = source.trim();
  if (text === "") throw new WordloomError("source-unsupported", "the source is an empty text");
  refuseFile(text);
  if (text.startsWith("hf:")) {
    const repository = parseHubSource(text);
    return { ...openHub(repository, options), chosen: repository.file };
  }
  const url = toUrl(text);
  if (url === undefined || url.protocol === "file:") {
    if (!inNode()) throw new WordloomError("source-unsupported", `a page cannot read ${text}`);
    const { openNodeFolder } = await import("./node-folder");
    return openNodeFolder(text);
  }
  if (isExtension(url)) return openUrlFolder(url, { ...options, fetch: extensionFetch(options.fetch) });
  if (!/^https?:$/.test(url.protocol)) {
    throw new WordloomError("source-unsupported", `${text} begins with ${url.protocol}, which names no model folder`);
  }
  return openUrlFolder(url, options);
}

/** A folder is wanted, or a .gguf file; other single files get a message of their own. */
function refuseFile(source: string): void {
  const path = source.replace(/[?#].*$/, "");
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (/\.(safetensors|json|bin|onnx|pth?|zip)$/i.test(name)) {
    throw new WordloomError("source-unsupported", `${source} is a file; a model folder is expected`, {
      remedy: `Pass its folder, ${path.slice(0, path.length - name.length) || "."}`,
    });
  }
}

/** Undefined for a local path. */
function toUrl(source: string): URL | undefined {
  // A single letter before the colon is a Windows drive.
  if (/^[a-z][a-z\d+.-]+:/i.test(source)) return URL.canParse(source) ? new URL(source) : undefined;
  const page =
    (globalThis as { document?: Document }).document?.baseURI ?? (globalThis as { location?: Location }).location?.href;
  return page !== undefined && URL.canParse(source, page) ? new URL(source, page) : undefined;
}

function inNode(): boolean {
  const { process } = globalThis as { process?: { getBuiltinModule?: unknown } };
  return typeof process?.getBuiltinModule === "function";
}
