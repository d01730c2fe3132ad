/** A visited page without a network, newer versions of it, and an address that allows neither. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test as base } from "./fixtures";
import { inState, LOAD_MS, prompt, text } from "./loom";

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

const test = base.extend<{ site: Site & { url: string } }>({
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

const kept = (page: Page) => page.locator("wordloom-offline-status");

async function write(page: Page, beginning: string) {
  await prompt(page).fill(beginning);
  await page.keyboard.press("Enter");
  await expect.poll(() => text(page), { timeout: LOAD_MS }).not.toBe("");
}

test.describe("without a network", () => {
  test.use({ expectedErrors: [/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED/] });
  test.setTimeout(150_000); // two loads on a machine that may do other things

  test("a visited page in a folder opens with its settings, loads its model and writes, the server gone", async ({
    page,
    context,
    site,
  }) => {
    await page.goto("./?max-new-tokens=4&seed=1");
    await inState(page, "ready");
    await write(page, "Once upon a time");
    await inState(page, "ready");
    const online = await text(page);
    await page.locator("#settings-button").click();
    await expect(kept(page)).toHaveText(/The page and the story model are kept/, { timeout: LOAD_MS });

    await context.setOffline(true);
    await site.close();
    await page.reload();
    await inState(page, "ready");
    await write(page, "Once upon a time");
    await inState(page, "ready");
    expect(await text(page)).toBe(online);
    await page.goto("./?lang=de"); // words that were never asked for before
    await expect(page.locator("html")).toHaveAttribute("lang", "de");

    const { names, entries } = await page.evaluate(async () => {
      const names = await caches.keys();
      const keys = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).length));
      return { names, entries: keys };
    });
    expect(names).toHaveLength(2);
    expect(Math.min(...entries)).toBeGreaterThan(3);
  });
});

base("an address that is not secure says what to do about it", async ({ page, baseURL, request }) => {
  await page.route("http://192.168.0.7:8000/**", async (route) => {
    const { pathname, search } = new URL(route.request().url());
    if (pathname.includes("/models/")) return route.fulfill({ status: 404 });
    const response = await request.get(new URL(`.${pathname}${search}`, baseURL).href);
    await route.fulfill({ body: await response.body(), headers: response.headers() });
  });
  await page.goto("http://192.168.0.7:8000/");
  const note = page.getByRole("note");
  await expect(note).toContainText("This address is not a secure one.");
  await expect(note).toContainText("http://192.168.0.7:8000 neither the graphics card nor use without a network");
  await expect(note).toContainText("run ssh -L 8000:localhost:8000 192.168.0.7, then open http://localhost:8000");
  await page.locator("#settings-button").click();
  await expect(kept(page)).toContainText("only on https and on localhost");
});
