/** The pages in examples/, served from the repository as examples/README.md says. */
import { expect, test } from "./fixtures";

const LOAD_MS = 45_000;

test.use({ baseURL: `http://127.0.0.1:${process.env["WORDLOOM_EXAMPLES_PORT"]}/` });

test("the element on a plain page writes a story", async ({ page }) => {
  await page.goto("./examples/plain-html/");
  const loom = page.locator("word-loom");
  await expect(loom).toHaveAttribute("state", "ready", { timeout: LOAD_MS });
  await page.getByRole("button", { name: "Write", exact: true }).click();
  const text = () => loom.evaluate((element: HTMLElement & { text: string }) => element.text);
  await expect.poll(async () => (await text()).trim().split(/\s+/).length, { timeout: LOAD_MS }).toBeGreaterThan(3);
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
