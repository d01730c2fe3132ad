// A small static server for the built site, on this machine only. `node scripts/serve.mjs [folder] [--port N]`
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, resolve, sep } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const HOST = "127.0.0.1";
const PREFERRED_PORT = 4173;

const MIME_TYPES = {
  ".css": "text/css; charset=utf-8",
  ".gif": "image/gif",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".wgsl": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

/**
 * The bytes a Range header asks for, of a file of `sizeBytes`. One range only; several are answered with the whole file,
 * as HTTP allows.
 *
 * @param {string | undefined} header
 * @param {number} sizeBytes
 * @returns {{ start: number, end: number } | "whole" | "unsatisfiable"} `end` is the last byte, included
 */
export function parseRange(header, sizeBytes) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return "whole";
  if (match[1] === "") {
    const length = Math.min(Number(match[2]), sizeBytes);
    return length === 0 ? "unsatisfiable" : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(match[1]);
  const end = match[2] === "" ? sizeBytes - 1 : Math.min(Number(match[2]), sizeBytes - 1);
  if (match[2] !== "" && Number(match[2]) < start) return "whole"; // malformed: ignored, as HTTP says
  return start >= sizeBytes ? "unsatisfiable" : { start, end };
}

/** The file under `root` that a request's path names, or undefined for a path that is malformed or leads outside. */
function fileOf(root, url) {
  let path;
  try {
    path = decodeURIComponent(new URL(url, "http://localhost").pathname);
  } catch {
    return undefined; // not a URL, or not UTF-8
  }
  if (path.includes("\0")) return undefined;
  const file = resolve(join(root, path));
  return file === root || file.startsWith(root + sep) ? file : undefined;
}

async function found(file) {
  try {
    const stats = await stat(file);
    return stats.isDirectory() ? await found(join(file, "index.html")) : { file, stats };
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ENAMETOOLONG") return undefined;
    throw error;
  }
}

/** The stream's bytes, not faster than this. */
async function* slowed(bytes, bytesPerSecond) {
  for await (const chunk of bytes) {
    await delay((1000 * chunk.length) / bytesPerSecond);
    yield chunk;
  }
}

async function answer(root, bytesPerSecond, request, response) {
  const end = (status, headers = {}) => {
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers });
    response.end(request.method === "HEAD" ? undefined : `${status}\n`);
  };
  if (request.method !== "GET" && request.method !== "HEAD") return end(405, { allow: "GET, HEAD" });
  const path = fileOf(root, request.url);
  if (path === undefined) return end(400);
  const target = await found(path);
  if (target === undefined) return end(404);
  const { file, stats } = target;
  const etag = `"${stats.size.toString(16)}-${Math.trunc(stats.mtimeMs).toString(16)}"`;
  const headers = {
    "content-type": MIME_TYPES[extname(file)] ?? "application/octet-stream",
    "accept-ranges": "bytes",
    "cache-control": "no-cache", // always asks again, so that a new build shows at once
    etag,
    "last-modified": stats.mtime.toUTCString(),
    "x-content-type-options": "nosniff",
  };
  if (request.headers["if-none-match"] === etag) {
    response.writeHead(304, headers);
    return response.end();
  }
  const sameFile = request.headers["if-range"] === undefined || request.headers["if-range"] === etag;
  const range = sameFile ? parseRange(request.headers.range, stats.size) : "whole";
  if (range === "unsatisfiable") return end(416, { "content-range": `bytes */${stats.size}` });
  const partial = range !== "whole";
  const { start, end: last } = partial ? range : { start: 0, end: stats.size - 1 };
  response.writeHead(partial ? 206 : 200, {
    ...headers,
    "content-length": last - start + 1,
    ...(partial ? { "content-range": `bytes ${start}-${last}/${stats.size}` } : {}),
  });
  if (request.method === "HEAD" || stats.size === 0) return response.end();
  const bytes = createReadStream(file, {
    start,
    end: last,
    ...(bytesPerSecond === undefined ? {} : { highWaterMark: 16 * 1024 }),
  });
  const body = bytesPerSecond === undefined ? bytes : Readable.from(slowed(bytes, bytesPerSecond));
  body.on("error", (error) => response.destroy(error));
  response.on("close", () => body.destroy()); // the reader left
  body.pipe(response);
}

function listen(server, port) {
  return new Promise((resolvePort, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, () => {
      server.off("error", reject);
      resolvePort(server.address().port);
    });
  });
}

/**
 * Serves a folder on http://127.0.0.1.
 *
 * @param {string} folder
 * @param {{ port?: number, bytesPerSecond?: number }} [options] port: exactly this one, 0 for any; default 4173, or any
 *   free one where that is taken. bytesPerSecond: of each answer, at most; default: as fast as it goes
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
export async function serve(folder, { port, bytesPerSecond } = {}) {
  const root = resolve(folder);
  const server = createServer((request, response) => {
    answer(root, bytesPerSecond, request, response).catch((error) => {
      console.error(`${request.method} ${request.url}:`, error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  let actual;
  try {
    actual = await listen(server, port ?? PREFERRED_PORT);
  } catch (error) {
    if (port !== undefined || error.code !== "EADDRINUSE") throw error;
    actual = await listen(server, 0);
  }
  return {
    url: `http://${HOST}:${actual}/`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const given = process.argv.slice(2);
  const at = given.indexOf("--port");
  const port = at < 0 ? undefined : Number(given.splice(at, 2)[1]);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65536))
    throw new Error("--port wants a number from 0 to 65535");
  const { url } = await serve(given[0] ?? fileURLToPath(new URL("../dist", import.meta.url)), { port });
  console.log(`Wordloom is at ${url}`);
}
