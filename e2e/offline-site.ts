/** The built site on a server of the plainest kind, in a folder of its own, with its service worker. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test as base } from "./fixtures";
import { LOAD_MS, prompt, text } from "./loom";

const DIST = fileURLToPath(new URL("../dist", import.meta.url));
const FOLDER = "some/folder";
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** As `python3 -m http.server`: no Range, no ETag, no word on how long an answer holds, few types. */
function plainServer(root: string): Server {
  return createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = join(root, path.endsWith("/") ? `${path}index.html` : path);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (!stats?.isFile()) return void response.writeHead(404).end("404");
    const since = Date.parse(request.headers["if-modified-since"] ?? "");
    if (Math.trunc(stats.mtimeMs / 1000) * 1000 <= since) return void response.writeHead(304).end();
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-length": stats.size,
      "last-modified": stats.mtime.toUTCString(),
    });
    response.end(request.method === "HEAD" ? undefined : readFileSync(file));
  });
}

interface Site {
  /** The site's files, in a folder of their own. */
  root: string;
  close(): Promise<void>;
}

/** Playwright's test whose pages come from that site. */
export const test = base.extend<{ site: Site & { url: string } }>({
  // eslint-disable-next-line no-empty-pattern -- Playwright reads from it what the fixture needs: nothing
  site: async ({}, use) => {
    const root = mkdtempSync(join(tmpdir(), "wordloom-site-"));
    mkdirSync(join(root, FOLDER, ".."), { recursive: true });
    cpSync(DIST, join(root, FOLDER), { recursive: true });
    const server = plainServer(root);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // listening on TCP
    const close = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    await use({ root: join(root, FOLDER), url: `http://127.0.0.1:${port}/${FOLDER}/`, close });
    await close();
    rmSync(root, { recursive: true });
  },
  baseURL: async ({ site }, use) => use(site.url),
  serviceWorkers: "allow",
});

export const kept = (page: Page) => page.locator("wordloom-offline-status");

export async function write(page: Page, beginning: string) {
  await prompt(page).fill(beginning);
  await page.keyboard.press("Enter");
  await expect.poll(() => text(page), { timeout: LOAD_MS }).not.toBe("");
}
