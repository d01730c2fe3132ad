import { expect, test } from "./fixtures";

test("the page opens, with its name and its element, asking no other server", async ({ page }) => {
  await page.goto("./");
  await expect(page).toHaveTitle(/Wordloom/);
  await expect(page.locator("word-loom")).toBeAttached();
});

test("a part of a model file can be asked for, so that a broken download goes on", async ({ request }) => {
  const response = await request.get("./models/wordloom-stories/model.safetensors", {
    headers: { range: "bytes=8-15" },
  });
  expect(response.status()).toBe(206);
  expect((await response.body()).byteLength).toBe(8);
});
