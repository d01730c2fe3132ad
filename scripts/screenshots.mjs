// Takes the pictures in docs/screenshots from the built site (`npm run build` first).
// `node scripts/screenshots.mjs [name …]` takes only those whose file name contains one of the names.
/* global document, Navigator, scrollTo, scrollY -- used by functions that run in the page */
import { mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright";
import { chromiumArguments, findChromium } from "./find-chromium.mjs";
import { serve } from "./serve.mjs";

const MAX_BYTES = 150_000;
const WAIT_MS = 120_000;
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}docs/screenshots`;
const STORY =
  "?prompt=On%20the%20first%20day%20of%20snow%2C%20Mia%20found%20a%20tiny%20door%20behind%20the%20bookshelf.&seed=3";

const inState = (page, state) => page.waitForSelector(`word-loom[state=${state}]`, { timeout: WAIT_MS });
const written = (page, length) =>
  page.waitForFunction((enough) => document.querySelector("word-loom").text.length >= enough, length, {
    timeout: WAIT_MS,
  });

const INSIDE = `${STORY}&max-new-tokens=60&temperature=0.9&top-p=0.7`;

/** Opens the inspector beside a text that is written under its eyes. */
const lookInside = async (page) => {
  await inState(page, "ready");
  await page.getByRole("button", { name: "Look inside" }).click();
  await page.evaluate(() => document.querySelector("word-loom").generate());
  await page.locator("wordloom-inspector #walk").waitFor({ timeout: WAIT_MS });
};
/** To the first token of which the sampler cut alternatives off. */
const toCutToken = async (page) => {
  await page.locator("wordloom-inspector #walk").click();
  const cut = page.locator("wordloom-inspector .cut-line");
  for (let moves = 0; moves < 40 && ((await cut.count()) === 0 || moves < 8); moves++) {
    await page.keyboard.press("ArrowRight");
  }
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForTimeout(500);
};
const showSection = async (page, title) => {
  await page.getByRole("heading", { name: title, exact: true }).evaluate((heading) => {
    scrollTo(0, heading.getBoundingClientRect().top + scrollY - 80);
  });
  await page.waitForTimeout(500);
};

/** Each screen: its address, what is done before it opens, when the picture is taken, and the state that still holds then. */
const SCREENS = {
  idle: { until: (page) => inState(page, "ready") },
  loading: {
    before: (page) =>
      page.route("**/model.safetensors", (route) =>
        route.continue({ url: new URL(new URL(route.request().url()).pathname, slowServer.url).href }),
      ),
    until: async (page) => {
      await page.getByText(/MiB.s · about .* left/).waitFor({ timeout: WAIT_MS });
      await page.waitForTimeout(1500);
    },
  },
  generating: { address: `${STORY}&max-new-tokens=400&run`, until: (page) => written(page, 320), still: "generating" },
  stopped: {
    address: `${STORY}&max-new-tokens=60&run`,
    until: (page) => page.getByRole("button", { name: "Write on" }).waitFor({ timeout: WAIT_MS }),
  },
  settings: {
    until: async (page) => {
      await inState(page, "ready");
      await page.getByRole("button", { name: "Settings" }).click();
    },
  },
  "inside-token": {
    address: INSIDE,
    until: async (page) => {
      await lookInside(page);
      await toCutToken(page);
    },
  },
  "inside-branch": {
    address: INSIDE,
    until: async (page) => {
      await lookInside(page);
      await toCutToken(page);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
      await page.getByText(/came from the cache/).waitFor({ timeout: WAIT_MS });
      await page.keyboard.press("Escape");
      await showSection(page, "Look inside");
    },
  },
  "inside-cache": {
    address: INSIDE,
    until: async (page) => {
      await lookInside(page);
      await showSection(page, "The KV cache");
    },
  },
  "inside-compare": {
    address: INSIDE,
    until: async (page) => {
      await lookInside(page);
      await page.locator("wordloom-cache-compare select").selectOption("64");
      await page.getByRole("button", { name: "Measure" }).click();
      await page.getByText(/64 tokens took/).waitFor({ timeout: WAIT_MS });
      await showSection(page, "With and without the cache");
    },
  },
  "failed-no-webgpu": {
    before: async (page) => {
      await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "gpu", { value: undefined }));
      // Init scripts do not reach workers.
      await page.route(/\/assets\/worker-[^/]*\.js$/, async (route) => {
        const response = await route.fetch();
        const prelude = 'Object.defineProperty(WorkerNavigator.prototype, "gpu", { value: undefined });';
        await route.fulfill({ response, body: prelude + (await response.text()) });
      });
    },
    until: (page) => inState(page, "failed"),
  },
  "failed-no-model": { address: "?model=models/nothing-here", until: (page) => inState(page, "failed") },
};

const names = process.argv.slice(2);
const server = await serve(`${root}dist`, { port: 0 });
const slowServer = await serve(`${root}dist`, { port: 0, bytesPerSecond: 1.2 * 2 ** 20 });
const executablePath = await findChromium();
const browser = await chromium.launch({ args: chromiumArguments(), ...(executablePath ? { executablePath } : {}) });
mkdirSync(folder, { recursive: true });
try {
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ])
    for (const colorScheme of ["light", "dark"])
      for (const [screen, { address = "", before, until, still }] of Object.entries(SCREENS)) {
        const name = `${screen}-${colorScheme}-${width}`;
        if (names.length > 0 && !names.some((part) => name.includes(part))) continue;
        const page = await browser.newPage({ viewport: { width, height }, colorScheme });
        await before?.(page);
        await page.goto(server.url + address);
        await until(page);
        await page.mouse.move(0, 0);
        await page.waitForTimeout(400); // numbers in the page follow within a quarter of a second
        const path = `${folder}/${name}.png`;
        await page.screenshot({ path });
        const state = await page.locator("word-loom").getAttribute("state");
        if (still !== undefined && state !== still) throw new Error(`${name} was taken when it was ${state} already`);
        const sizeBytes = statSync(path).size;
        if (sizeBytes > MAX_BYTES) throw new Error(`${path} has ${sizeBytes} bytes; the limit is ${MAX_BYTES}`);
        console.log(`${name}.png  ${(sizeBytes / 1000).toFixed(0)} kB`);
        await page.close();
      }
} finally {
  await browser.close();
  await Promise.all([server.close(), slowServer.close()]);
}
