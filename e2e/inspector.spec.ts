/** Looking into a text: what each token could have been, branches, numbers, and writing without the KV cache. */
import type { Page } from "@playwright/test";
import { lowContrast, smallTargets } from "./contrast";
import { expect, test } from "./fixtures";
import { inState, LOAD_MS, loom, text } from "./loom";

const TOKENS = 16;
const ADDRESS = `./?lang=en&prompt=Once%20upon%20a%20time&seed=3&temperature=0.9&top-p=0.6&max-new-tokens=${TOKENS}`;

const inspector = (page: Page) => page.locator("wordloom-inspector");
const card = (page: Page) => inspector(page).getByRole("complementary", { name: "Token of the text" });
const written = (page: Page) =>
  loom(page).evaluate(
    async (element: HTMLElement & { generate(): Promise<unknown> }) => void (await element.generate()),
  );
/** The middle of a token on the page. */
const tokenPoint = (page: Page, index: number) =>
  loom(page).evaluate((element, index) => {
    const { tokens, rangeOf } = element as HTMLElement & {
      tokens: { start: number; end: number }[];
      rangeOf(start: number, end: number): Range;
    };
    const token = tokens[index];
    const box = rangeOf.call(element, token?.start ?? 0, token?.end ?? 0).getClientRects()[0];
    return { x: (box?.left ?? 0) + (box?.width ?? 0) / 2, y: (box?.top ?? 0) + (box?.height ?? 0) / 2 };
  }, index);
const highlights = (page: Page) =>
  page.evaluate(() => [...CSS.highlights.keys()].filter((name) => name.startsWith("wordloom")));

test("a text opens up: its tokens, a branch and the way back, the cache in numbers, and the time without it", async ({
  page,
}) => {
  test.setTimeout(180_000);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(ADDRESS);
  await inState(page, "ready");
  await page.getByRole("button", { name: "Look inside" }).click();
  await expect(inspector(page)).toContainText("There is nothing to look into yet.");
  await written(page);
  await expect.poll(() => highlights(page)).not.toEqual([]);
  await expect(inspector(page)).toContainText(`After ${TOKENS} tokens: perplexity`);

  await test.step("the keyboard goes through the tokens, and one that was cut is told apart", async () => {
    await inspector(page).getByRole("button", { name: "Go through the tokens" }).press("Enter");
    const strip = card(page).getByRole("listbox", { name: "Tokens of the text" });
    await expect(strip).toBeFocused();
    await page.keyboard.press("End");
    await expect(card(page)).toContainText(`Token ${TOKENS} of ${TOKENS}`);
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await expect(card(page)).toContainText(`Token 2 of ${TOKENS}`);
    await expect(strip).toHaveAttribute("aria-activedescendant", "strip-1");
    await expect(card(page).getByRole("option", { selected: true })).toHaveAttribute("aria-posinset", "2");
    const cut = card(page).getByText("top-p 0.6 cuts here", { exact: true });
    for (let index = 2; index < TOKENS && (await cut.count()) === 0; index++) await page.keyboard.press("ArrowRight");
    await expect(cut).toBeVisible();
    await expect(card(page).locator(".struck").first()).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(card(page)).toBeHidden();
    await expect(inspector(page).getByRole("button", { name: "Go through the tokens" })).toBeFocused();
  });

  await test.step("the pointer shows a token, and a click keeps it, beside the text", async () => {
    await page.evaluate(() => window.scrollTo(0, 0));
    const { x, y } = await tokenPoint(page, 5);
    await page.mouse.move(x, y);
    await expect(card(page)).toContainText(`Token 6 of ${TOKENS}`);
    await page.mouse.move(5, 5);
    await expect(card(page)).toBeHidden();
    await page.mouse.click(x, y);
    await expect(card(page)).toContainText(`Token 6 of ${TOKENS}`);
    const [column, beside] = [await loom(page).boundingBox(), await card(page).boundingBox()];
    expect(beside?.x).toBeGreaterThanOrEqual((column?.x ?? 0) + (column?.width ?? 0));
  });

  const former = await text(page);
  await test.step("an alternative is written on with, from the cache, and the former text comes back", async () => {
    const starts = await loom(page).evaluate(
      (element) => (element as HTMLElement & { tokens: { start: number }[] }).tokens[5]?.start ?? 0,
    );
    await card(page).getByRole("listbox").press("Enter");
    await page.keyboard.press("Enter");
    await expect(inspector(page)).toContainText(/At token 6: .* in place of /);
    await expect(inspector(page)).toContainText(/Of the \d+ tokens before the branch, \d+ came from the cache/, {
      timeout: LOAD_MS,
    });
    const branch = await text(page);
    expect(branch).not.toBe(former);
    expect(branch.slice(0, starts)).toBe(former.slice(0, starts));
    await inspector(page).getByRole("button", { name: "Back to: The text as it was first written" }).click();
    expect(await text(page)).toBe(former);
    await page.keyboard.press("Escape");
  });

  await test.step("what the cache takes is told as a product, and its numbers agree", async () => {
    await expect(inspector(page)).toContainText(
      "6 layers × 4 key/value heads × 32 numbers × 2 (key and value) × 2 bytes",
    );
    await expect(inspector(page)).toContainText(/= 3\.0\sKiB a token/);
    await expect(inspector(page)).toContainText(/× 512 positions = 1\.5\sMiB/);
    await inspector(page).getByText("As a table").first().click();
    await expect(inspector(page).getByRole("columnheader", { name: "Perplexity" })).toBeVisible();
    await expect(inspector(page).locator("wordloom-plot canvas")).toHaveCount(3);
  });

  await test.step("writing with and without the cache is measured here, and can be stopped", async () => {
    await inspector(page).getByLabel("Tokens", { exact: true }).selectOption("16");
    await inspector(page).getByRole("button", { name: "Measure" }).click();
    const result = inspector(page).getByText(/16 tokens took .* without the cache and .* with it/);
    await expect(result).toBeVisible({ timeout: 2 * LOAD_MS });
    await expect(inspector(page).locator("wordloom-cache-compare wordloom-plot canvas")).toHaveCount(2);
    await inspector(page).getByRole("button", { name: "Measure" }).click();
    await inspector(page).getByRole("button", { name: "Stop", exact: true }).click();
    await expect(inspector(page)).toContainText("Stopped before the end.");
    expect(await text(page)).toBe(former);
  });

  await test.step("in a narrow window a tapped token opens a sheet, nothing overflows, all of it can be read", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.waitForTimeout(400); // the inspector looks for room a few times a second
    const { x, y } = await tokenPoint(page, 3);
    await page.mouse.click(x, y);
    await expect(card(page)).toHaveAttribute("data-place", "sheet");
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await lowContrast(page)).toEqual([]);
    }
    expect(await smallTargets(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect(card(page)).toBeHidden();
  });

  await page.getByRole("button", { name: "Close the inside view" }).click();
  await expect(inspector(page)).toHaveCount(0);
  expect(await highlights(page)).toEqual([]);
});
