/** The list of what the browser keeps, in the settings: seen, deleted with the mouse and with the keyboard, and in use. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { lowContrast, smallTargets } from "./contrast";
import { expect, test } from "./fixtures";
import { inState } from "./loom";

test.use({ expectedErrors: [/404 \(Not Found\)/] }); // it has no chat template

/** A server with CORS that has the golden llama under this name. */
async function serveModel(page: Page, name: string, beforeWeights: () => Promise<void> = async () => {}) {
  await page.route(`https://models.example/${name}/**`, async (route) => {
    const request = route.request();
    const file = new URL(request.url()).pathname.split("/").at(-1) ?? "";
    const headers: Record<string, string> = {
      "access-control-allow-origin": "*",
      "access-control-allow-headers": "*",
      etag: '"1"',
    };
    const path = fileURLToPath(new URL(`../src/testing/golden/llama/${file}`, import.meta.url));
    if (!existsSync(path)) return route.fulfill({ status: 404, headers });
    if (file === "model.safetensors" && request.method() === "GET") await beforeWeights();
    const bytes = readFileSync(path);
    const range = /bytes=(\d+)-(\d*)/.exec(request.headers()["range"] ?? "");
    if (!range) return route.fulfill({ body: bytes, headers });
    const [start, end] = [Number(range[1]), Math.min(Number(range[2] || Infinity), bytes.length - 1)];
    headers["content-range"] = `bytes ${start}-${end}/${bytes.length}`;
    return route.fulfill({ status: 206, body: bytes.subarray(start, end + 1), headers });
  });
}

const address = (name: string) =>
  `./?model=https://models.example/${name}&dtype=f32&context-length=64&backend=reference&allow-reference`;
const stored = (page: Page) => page.getByRole("region", { name: "Kept on this device" });

async function openModels(page: Page) {
  await page.getByRole("button", { name: "Model", exact: true }).click();
  await stored(page).scrollIntoViewIfNeeded();
}

test("a model that was loaded is listed with size and day, and deleted by a second press, with the keyboard alone", async ({
  page,
}) => {
  await serveModel(page, "llama");
  await page.goto("./");
  await openModels(page);
  await expect(stored(page)).toContainText("No models."); // the one that comes with the page is none of them
  await page.goto(address("llama"));
  await page.getByRole("button", { name: "Load it" }).click();
  await inState(page, "ready");
  await openModels(page);
  const row = stored(page).getByRole("listitem");
  await expect(row).toHaveText(/llama\s+\d+\sKiB from models\.example\s+Loaded now\.\s+Delete/);
  await expect(stored(page)).toContainText(/This site uses [\d.]+\s[KM]iB of/);
  expect(await lowContrast(page)).toEqual([]);
  expect(await smallTargets(page)).toEqual([]);

  const button = row.getByRole("button"); // of a model that is loaded, the only one
  await expect(button).toHaveAccessibleName("Delete llama");
  await button.focus();
  await page.keyboard.press("Enter");
  await expect(button).toHaveAccessibleName(/^Delete llama, \d+\sKiB\? Press again/);
  await expect(row).toContainText("It goes on writing until this page is left.");
  await page.keyboard.press("Escape");
  await expect(button).toHaveAccessibleName("Delete llama");
  await expect(page.locator("#sheet")).toBeVisible();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await expect(stored(page).getByRole("status")).toHaveText(/llama is deleted; \d+\sKiB are free again\./);
  await expect(row).toHaveCount(0);
  await expect(stored(page).getByRole("heading")).toBeFocused();
});

test("a double click deletes nothing, two clicks do, and the page knows it at the next visit", async ({ page }) => {
  await serveModel(page, "llama");
  await page.goto(address("llama"));
  await page.getByRole("button", { name: "Load it" }).click();
  await inState(page, "ready");
  await page.goto("./");
  await openModels(page);
  const row = stored(page).getByRole("listitem");
  await expect(row).toContainText("Last loaded today.");
  const button = row.getByRole("button", { name: "Delete" });
  await button.dblclick();
  await expect(button).toHaveText("Delete it?");
  await page.getByLabel("Where the model is").focus(); // who goes elsewhere has thought better of it
  await expect(button).toHaveText("Delete");
  await button.click();
  await page.waitForTimeout(600); // beyond what counts as a double click
  await button.click();
  await expect(row).toHaveCount(0);
  await page.reload();
  await openModels(page);
  await expect(stored(page)).toContainText("No models.");
});

test("a model that is being loaded stays, and the page says why", async ({ page }) => {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  let onAsked = () => {};
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  await serveModel(page, "llama", () => {
    onAsked();
    return held;
  });
  await page.goto(address("llama"));
  await page.getByRole("button", { name: "Load it" }).click();
  await asked;
  await openModels(page);
  const row = stored(page).getByRole("listitem");
  await expect(row).toContainText("Not complete");
  await row.getByRole("button", { name: "Delete" }).press("Enter");
  await row.getByRole("button", { name: "Delete" }).press("Enter");
  await expect(stored(page).getByRole("status")).toContainText("llama is still here: the model is being loaded");
  goOn();
  await inState(page, "ready");
  await expect(row).toContainText("Loaded now.");
});
