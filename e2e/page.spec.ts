import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { inState, LOAD_MS, loom, prompt, text, withoutWebGpu } from "./loom";

async function serveConfig(page: Page, config: object | string) {
  const body = typeof config === "string" ? config : JSON.stringify(config);
  await page.route("**/models/other/config.json", (route) => route.fulfill({ contentType: "application/json", body }));
}

test("loads the model that comes with it, writes a story from a beginning, and says how fast and in how much memory", async ({
  page,
}) => {
  await page.goto("./?max-new-tokens=12&seed=1");
  await inState(page, "ready");
  await expect(page.getByText(/wordloom-stories, .*MiB, comes from this site/)).toBeVisible();
  await prompt(page).fill("Once upon a time");
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await expect(page.getByRole("button", { name: "Write on" })).toBeVisible({ timeout: LOAD_MS });
  expect((await text(page)).split(/\s+/).length).toBeGreaterThan(4);
  const numbers = page.getByRole("region", { name: "Memory and speed" });
  await expect(numbers).toContainText(/KV cache\s*[\d.]+\s[KM]iB/);
  await expect(numbers).toContainText(/[\d.]+\stokens\/s/);
  const isSoftware = await page.evaluate(async () => (await navigator.gpu.requestAdapter())?.info.isFallbackAdapter);
  await expect(numbers).toContainText(isSoftware ? "Computed by the processor" : "Computed by the graphics card");
  await expect(
    loom(page)
      .getByText(/\d+ of 512 positions/)
      .first(),
  ).toBeVisible();
});

test("goes on where it stopped, with the network off", async ({ page, context }) => {
  await page.goto("./?max-new-tokens=8&prompt=Once%20upon%20a%20time&run");
  const writeOn = page.getByRole("button", { name: "Write on" });
  await expect(writeOn).toBeVisible({ timeout: LOAD_MS });
  const before = await text(page);
  await context.setOffline(true);
  await writeOn.click();
  await expect.poll(() => text(page), { timeout: LOAD_MS }).not.toBe(before);
  await inState(page, "ready");
  expect(await text(page)).toMatch(new RegExp(`^${before.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`));
});

test("the same address writes the same text", async ({ page }) => {
  const texts: string[] = [];
  for (let round = 0; round < 2; round++) {
    await page.goto("./?prompt=The%20cat&max-new-tokens=8&seed=5&temperature=0.9&run");
    await expect(page.getByRole("button", { name: "Write on" })).toBeVisible({ timeout: LOAD_MS });
    texts.push(await text(page));
  }
  expect(texts[0]).not.toBe("");
  expect(texts[1]).toBe(texts[0]);
});

test("Escape stops the writing and keeps what is there", async ({ page }) => {
  await page.goto("./?max-new-tokens=400&prompt=Once%20upon%20a%20time&run");
  await expect.poll(() => text(page), { timeout: LOAD_MS }).not.toBe("");
  await page.keyboard.press("Escape");
  await inState(page, "ready");
  const stopped = await text(page);
  await page.waitForTimeout(300);
  expect(await text(page)).toBe(stopped);
});

test("settings are applied to the next text, and the sheet never covers the text on a wide screen", async ({
  page,
}) => {
  await page.goto("./");
  await inState(page, "ready");
  await page.getByRole("button", { name: "Settings" }).click();
  await expect(page.getByText("temperature 0.8, top-p 0.95")).toBeVisible();
  await page.getByLabel("Tokens to write").fill("3");
  await page.getByLabel("Tokens to write").blur();
  await page.getByLabel("Always the likeliest word").check();
  const [sheet, column] = [await page.locator("#sheet").boundingBox(), await loom(page).boundingBox()];
  expect((column?.x ?? 0) + (column?.width ?? 0)).toBeLessThanOrEqual(sheet?.x ?? 0);
  await page.getByRole("button", { name: /little owl/ }).click();
  await expect(page.getByText(/^3 tokens in/)).toBeVisible({ timeout: LOAD_MS });
});

test("what the address says and the page does not understand is named", async ({ page }) => {
  await page.goto("./?topK=4");
  await expect(page.getByText("Not understood in this page's address: topK.")).toBeVisible();
});

test("a model from another server is asked for only after a click", async ({ page, watched }) => {
  await page.goto("./?model=https://models.example/tiny&run");
  await expect(page.getByText("models.example")).toBeVisible();
  await page.waitForTimeout(500);
  expect(watched.outsideRequests).toEqual([]);
  await expect(loom(page)).toHaveAttribute("state", "idle");
});

test.describe("a model from another server", () => {
  test.use({ expectedErrors: [/404 \(Not Found\)/] }); // it has no chat template

  test("is told what it would take before its weights are fetched", async ({ page }) => {
    const asked: string[] = [];
    await page.route("https://models.example/**", async (route) => {
      const request = route.request();
      const name = new URL(request.url()).pathname.split("/").at(-1) ?? "";
      asked.push(`${request.method()} ${name} ${request.headers()["range"] ?? ""}`.trim());
      const headers: Record<string, string> = {
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "*",
      };
      const file = fileURLToPath(new URL(`../src/testing/golden/llama/${name}`, import.meta.url));
      if (!existsSync(file)) return route.fulfill({ status: 404, headers });
      const bytes = readFileSync(file);
      const range = /bytes=(\d+)-(\d+)/.exec(request.headers()["range"] ?? "");
      if (!range) return route.fulfill({ body: bytes, headers });
      const [start, end] = [Number(range[1]), Math.min(Number(range[2]), bytes.length - 1)];
      headers["content-range"] = `bytes ${start}-${end}/${bytes.length}`;
      return route.fulfill({ status: 206, body: bytes.subarray(start, end + 1), headers });
    });
    await page.goto("./?model=https://models.example/llama&dtype=f32&context-length=64");
    expect(asked).toEqual([]);
    await page.getByRole("button", { name: "What would it take?" }).click();
    await expect(page.getByText("It fits.")).toBeVisible({ timeout: LOAD_MS });
    await expect(page.locator(".plan")).toContainText("as f32 with 64 positions: 1.2 MiB, of which weights 977 KiB");
    expect(asked.filter((each) => each.startsWith("GET model.safetensors"))).toEqual([
      "GET model.safetensors bytes=0-65535",
    ]);
    await page.getByRole("button", { name: "Load it" }).click();
    await inState(page, "ready");
  });
});

test("a prompt longer than the context is refused with both numbers, and the prompt can be changed at once", async ({
  page,
}) => {
  await page.goto("./");
  await inState(page, "ready");
  await prompt(page).fill("word ".repeat(700));
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("512", { timeout: LOAD_MS });
  await page.getByRole("button", { name: "Change the beginning" }).click();
  await expect(prompt(page)).toBeFocused();
});

for (const width of [1280, 390])
  test(`nothing reaches beyond a window of ${width} pixels, with the settings open or not`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto("./");
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await inState(page, "ready");
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.getByRole("button", { name: "Settings" }).click();
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.keyboard.press("Escape");
    await expect(page.locator("#sheet")).toBeHidden();
    await expect(page.getByRole("button", { name: "Settings" })).toBeFocused();
  });

test.describe("without WebGPU", () => {
  test("the page says so, and writes slowly when asked to", async ({ page }) => {
    await withoutWebGpu(page);
    await page.goto("./?max-new-tokens=4&prompt=Once");
    await expect(page.getByRole("alert")).toContainText("does not let pages use the graphics card", {
      timeout: LOAD_MS,
    });
    await page.getByRole("button", { name: "Write slowly without the GPU" }).click();
    await inState(page, "ready");
    await page.getByRole("button", { name: "Write", exact: true }).click();
    await expect.poll(() => text(page), { timeout: LOAD_MS }).not.toBe("");
  });
});

test.describe("models that cannot be loaded", () => {
  test.use({ expectedErrors: [/404/] });

  test.beforeEach(({ page }) => serveConfig(page, { model_type: "mamba", vocab_size: 10 }));

  test("an unsupported kind is named", async ({ page }) => {
    await page.goto("./?model=models/other");
    await expect(page.getByRole("alert")).toContainText("mamba", { timeout: LOAD_MS });
  });

  test("a damaged config.json is named", async ({ page }) => {
    await serveConfig(page, '{"model_type": "lla');
    await page.goto("./?model=models/other");
    await expect(page.getByRole("alert")).toContainText("config.json", { timeout: LOAD_MS });
  });

  test("a folder without a model is named, and can be tried again", async ({ page }) => {
    await page.goto("./?model=models/nothing-here");
    await expect(page.getByRole("alert")).toContainText("nothing-here", { timeout: LOAD_MS });
    await expect(page.getByRole("button", { name: "Load again" })).toBeVisible();
  });
});

test.describe("a server that another page may not read", () => {
  test.use({ expectedErrors: [/CORS policy|net::ERR_/] });
  const server = createServer((request, response) => void response.end(request.method === "HEAD" ? undefined : "{}"));
  let address = "";

  test.beforeEach(async ({ page }) => {
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const { port } = server.address() as AddressInfo; // listening on TCP
    address = `http://localhost:${port}/tiny/`;
    await page.route(`${address}**`, (route) => route.continue()); // a real request, which other servers never get here
    await page.goto(`./?model=${address}`);
  });
  test.afterEach(() => new Promise<void>((resolve) => void server.close(() => resolve())));

  /** What the element tells programs, and what it tells people. */
  const failureOf = async (page: Page) => {
    await page.evaluate(() => {
      document.addEventListener("generation-error", (event) => {
        document.body.dataset["code"] = (event as CustomEvent<{ code: string }>).detail.code;
      });
    });
    await page.getByRole("button", { name: "Load it" }).click();
    await inState(page, "failed");
    return {
      code: await page.evaluate(() => document.body.dataset["code"]),
      text: (await page.getByRole("alert").textContent()) ?? "",
    };
  };

  test("is told from one that is not there", async ({ page }) => {
    const { code, text } = await failureOf(page);
    expect(code).toBe("cors-refused");
    expect(text).toMatch(/tiny\/config\.json is there, but may not be read from http:\/\/127\.0\.0\.1:\d+ \(CORS\)/);
    expect(text).toContain("it has to send Access-Control-Allow-Origin");
  });

  test("and from a network without it", async ({ page }) => {
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    const { code, text } = await failureOf(page);
    expect(code).toBe("network-failed");
    expect(text).toContain("tiny/config.json did not answer");
  });

  test("and from no network at all", async ({ page, context }) => {
    await context.setOffline(true);
    const { code, text } = await failureOf(page);
    expect(code).toBe("network-failed");
    expect(text).toContain("Check the connection");
  });
});
