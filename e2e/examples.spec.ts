/**
 * The pages in examples/, served from the repository as examples/README.md says; those with a bundler are built in a copy,
 * with the package as npm would publish it. Each writes a text.
 */
import { chromium, type FrameLocator, type Locator, type Page } from "@playwright/test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { chromiumArguments, findChromium } from "../scripts/find-chromium.mjs";
import { serve } from "../scripts/serve.mjs";
import { expect, test } from "./fixtures";
import { buildExample, copyExample, runInNode } from "./packed";

const LOAD_MS = 45_000;

test.use({ baseURL: `http://127.0.0.1:${process.env["WORDLOOM_EXAMPLES_PORT"]}/` });

const textOf = (loom: Locator) => loom.evaluate((element: HTMLElement & { text: string }) => element.text);

/** Waits for the model, then for some words. */
async function writes(within: Page | FrameLocator, start: () => Promise<unknown>): Promise<void> {
  const loom = within.locator("word-loom");
  await expect(loom).toHaveAttribute("state", "ready", { timeout: LOAD_MS });
  await start();
  await expect
    .poll(async () => (await textOf(loom)).trim().split(/\s+/).length, { timeout: LOAD_MS })
    .toBeGreaterThan(3);
}

/** Why the engine is not in a worker; undefined where it is. */
const workerReason = (page: Page) =>
  page
    .locator("word-loom")
    .evaluate((element: HTMLElement & { info?: { worker: boolean; workerReason?: string } }) =>
      element.info?.worker === true ? undefined : (element.info?.workerReason ?? "no model"),
    );

const write = (within: Page | FrameLocator) => within.getByRole("button", { name: "Write", exact: true }).click();

test("the element on a plain page writes a story", async ({ page }) => {
  await page.goto("./examples/plain-html/");
  await writes(page, () => write(page));
});

test("the element in a frame writes a story there", async ({ page }) => {
  await page.goto("./examples/iframe/");
  const frame = page.frameLocator("iframe");
  await writes(frame, () => write(frame));
});
test("TextGenerator from code writes a text, and shows each token with its probability", async ({ page }) => {
  await page.goto("./examples/text-generator/");
  const status = page.getByRole("status");
  await expect(status).toContainText("llama as q8, on webgpu", { timeout: LOAD_MS });
  await page.getByLabel("Beginning").fill("The cat");
  await page.getByRole("button", { name: "Write" }).click();
  await expect(status).toContainText(/^(length|stop) after [1-9]\d* tokens/, { timeout: LOAD_MS });

  const rows = await page.locator("#tokens tr").all();
  const cells = await Promise.all(rows.map((row) => row.locator("td").allTextContents()));
  const tokens = cells.map(([token = '""']) => JSON.parse(token) as string);
  expect(tokens.length).toBeGreaterThan(0);
  await expect(page.locator("#text")).toHaveText(`The cat${tokens.join("")}`);
  for (const [, probability = "", likeliest = ""] of cells) {
    expect(probability).toMatch(/^ *\d+\.\d %$/);
    expect(likeliest.match(/%/g)).toHaveLength(3);
  }
});

test.describe("built with the package as it would be published", () => {
  test.describe.configure({ timeout: 120_000 }); // packing and building come first

  /** A built example, on a server of its own. */
  const built = test.extend<{ open: (name: string, options?: { types: boolean }) => Promise<Page> }>({
    open: async ({ page }, use) => {
      const servers: { close(): Promise<void> }[] = [];
      await use(async (name, options) => {
        const server = await serve(await buildExample(name, options), { port: 0 });
        servers.push(server);
        await page.context().unrouteAll(); // the fixture's, which lets through the repository's server alone
        const origin = new URL(server.url).origin;
        await page.context().route(
          (url) => url.origin !== origin && !/^(blob|data|about):/.test(url.href),
          (route) => route.abort(), // an error of the page then, and those fail the test
        );
        await page.goto(server.url);
        return page;
      });
      for (const server of servers) await server.close();
    },
  });

  built("Vite and TypeScript: the page says how likely the tokens were", async ({ open }) => {
    const page = await open("vite-ts", { types: true });
    await writes(page, () => write(page));
    expect(await workerReason(page)).toBeUndefined();
    await expect(page.getByRole("status").last()).toContainText(/^\d+ tokens \((length|stop)\), each likely by \d+ %/, {
      timeout: LOAD_MS,
    });
  });

  built("React: a button of the page begins a story, and the page counts its tokens", async ({ open }) => {
    const page = await open("react", { types: true });
    await writes(page, () => page.getByRole("button", { name: "The little dragon" }).click());
    expect(await workerReason(page)).toBeUndefined();
    await expect(page.getByRole("status").last()).toContainText(/^[1-9]\d* tokens, ended by (length|stop)$/, {
      timeout: LOAD_MS,
    });
  });

  built("Vue: the slider sets the temperature, and the page shows the speed", async ({ open }) => {
    const page = await open("vue");
    await page.getByRole("slider").fill("0");
    await writes(page, () => write(page));
    expect(await workerReason(page)).toBeUndefined();
    const temperature = await page
      .locator("word-loom")
      .evaluate((element: HTMLElement & { temperature?: number }) => element.temperature);
    expect(temperature).toBe(0);
    await expect(page.getByRole("status").last()).toContainText(/^\d+ tokens, \d+\.\d a second$/, { timeout: LOAD_MS });
  });

  test("a browser extension writes in its panel, with the engine in a worker", async () => {
    const folder = await buildExample("extension");
    const executablePath = await findChromium();
    const context = await chromium.launchPersistentContext("", {
      args: [
        ...chromiumArguments(),
        `--disable-extensions-except=${folder}`,
        `--load-extension=${folder}`,
        "--disable-features=DisableLoadExtensionCommandLineSwitch",
      ],
      ignoreDefaultArgs: ["--disable-extensions"],
      ...(executablePath === undefined ? {} : { executablePath }),
    });
    try {
      const [background = await context.waitForEvent("serviceworker")] = context.serviceWorkers();
      const page = await context.newPage();
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(String(error)));
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      await page.goto(new URL("panel.html", background.url()).href);
      await writes(page, () => write(page));
      expect(await workerReason(page)).toBeUndefined();
      expect(errors).toEqual([]);
    } finally {
      await context.close();
    }
  });
});

/** Where a Chromium's own Vulkan driver lies: beside it, or, where what is on PATH is a script, in its folder. */
async function vulkanDriver(): Promise<string | undefined> {
  const executable = await findChromium();
  const folders = [dirname(executable ?? ""), "/usr/lib/chromium", "/usr/lib/chromium-browser", "/opt/google/chrome"];
  return folders.map((folder) => join(folder, "vk_swiftshader_icd.json")).find((file) => existsSync(file));
}

test("the script for Node writes a story on Dawn's device", async () => {
  const folder = await copyExample("node");
  const driver = process.env["VK_ICD_FILENAMES"] ?? (await vulkanDriver());
  const said = await runInNode(join(folder, "generate.mjs"), [], folder, {
    ...(driver === undefined ? {} : { VK_ICD_FILENAMES: driver }),
    XDG_RUNTIME_DIR: process.env["XDG_RUNTIME_DIR"] ?? folder, // the Vulkan loader wants one
  });
  expect(said).toMatch(/^Once upon a time[^]+tokens\/s, ended by (length|stop)\n$/);
});
