/** `<word-loom>` on somebody else's page, from the one file `dist-lib/word-loom.js`, under a strict policy. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";

const SCRIPT = fileURLToPath(new URL("../dist-lib/word-loom.js", import.meta.url));
const POLICY = "default-src 'self'; script-src 'self'; worker-src 'self' blob:";
const LOAD_MS = 45_000;

async function open(page: Page, body: string) {
  await page.route("**/word-loom.js", async (route) =>
    route.fulfill({ contentType: "text/javascript", body: await readFile(SCRIPT, "utf8") }),
  );
  await page.route("**/embed.html", (route) =>
    route.fulfill({
      contentType: "text/html",
      headers: { "content-security-policy": POLICY },
      body: `<!doctype html><title>Elsewhere</title><script type="module" src="./word-loom.js"></script>${body}`,
    }),
  );
  await page.goto("./embed.html");
}

const textOf = (page: Page, id: string) =>
  page.locator(`#${id}`).evaluate((element: HTMLElement & { text: string }) => element.text);

test("works from a script tag alone, under a strict policy", async ({ page }) => {
  await open(page, `<word-loom id="one" prompt="Once upon a time" max-new-tokens="6" seed="2"></word-loom>`);
  await expect(page.locator("#one")).toHaveAttribute("state", "idle");
  await page.getByRole("button", { name: "Write" }).click();
  await expect(page.getByRole("button", { name: "Write on" })).toBeVisible({ timeout: LOAD_MS });
  expect(await textOf(page, "one")).not.toBe("");
});

test("two elements with one model load it once and write one after the other", async ({ page }) => {
  let weightRequests = 0;
  page.on("request", (request) => {
    if (request.url().endsWith("model.safetensors") && !request.headers()["range"]) weightRequests += 1;
  });
  const loom = (id: string) => `<word-loom id="${id}" prompt="The ${id}" max-new-tokens="4" seed="2"></word-loom>`;
  await open(page, loom("cat") + loom("dog"));
  await expect(page.locator("#dog")).toHaveAttribute("state", "idle");
  const ends = await page.evaluate(() =>
    Promise.all(
      [...document.querySelectorAll("word-loom")].map((element) =>
        (element as HTMLElement & { generate(): Promise<{ finishReason: string }> }).generate(),
      ),
    ),
  );
  expect(ends.map((end) => end.finishReason)).toEqual(["length", "length"]);
  expect(weightRequests).toBeLessThanOrEqual(1);
  expect(await textOf(page, "cat")).not.toBe("");
  expect(await textOf(page, "dog")).not.toBe("");
});

test("tells the page by events that reach it, and is silent once removed", async ({ page }) => {
  await open(page, `<word-loom id="one" prompt="Once" max-new-tokens="200"></word-loom>`);
  await expect(page.locator("#one")).toHaveAttribute("state", "idle");
  const seen = await page.evaluate(async () => {
    const types: string[] = [];
    for (const type of ["model-progress", "model-ready", "generated-token"])
      document.addEventListener(type, () => types.push(type), { once: true });
    const element = document.querySelector("word-loom") as HTMLElement & { generate(): Promise<unknown>; text: string };
    const first = new Promise((resolve) => document.addEventListener("generated-token", resolve, { once: true }));
    void element.generate();
    await first;
    element.remove();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { text } = element;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return { types, grewAfterRemoval: element.text !== text };
  });
  expect(seen).toEqual({ types: ["model-progress", "model-ready", "generated-token"], grewAfterRemoval: false });
});
