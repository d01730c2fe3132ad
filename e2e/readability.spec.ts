/** Contrast, sizes, forced colours, reduced motion: in every state that a reader meets. */
import type { Page } from "@playwright/test";
import { lowContrast, smallTargets } from "./contrast";
import { expect, test } from "./fixtures";
import { inState, LOAD_MS, loom, prompt, text } from "./loom";

async function expectReadable(page: Page) {
  expect(await lowContrast(page)).toEqual([]);
  expect(await smallTargets(page)).toEqual([]);
}

test("the checks themselves find a faint text and a small button, also within the element", async ({ page }) => {
  await page.goto("./");
  await inState(page, "ready");
  await loom(page).evaluate((element) => {
    element.style.setProperty("--word-loom-muted", "light-dark(#a0a0a0, #606060)");
    const button = element.shadowRoot?.querySelector<HTMLElement>("[part=controls] button");
    if (button) button.style.cssText = "min-block-size: 0; block-size: 20px";
  });
  expect((await lowContrast(page)).join()).toContain("positions");
  expect((await smallTargets(page)).join()).toContain("Write");
});

for (const colorScheme of ["light", "dark"] as const)
  for (const width of [1280, 390])
    test(`everything can be read and hit, ${colorScheme}, in a window of ${width} pixels`, async ({ page }) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.goto("./?max-new-tokens=6&seed=1&topK=4");
      await expectReadable(page); // loading
      await inState(page, "ready");
      await expectReadable(page);
      await prompt(page).fill("Once upon a time");
      await page.keyboard.press("Enter");
      await expect(page.getByRole("button", { name: "Write on" })).toBeVisible({ timeout: LOAD_MS });
      await prompt(page).fill("Once upon another time"); // what was written is stale now
      await expectReadable(page);
      await page.getByRole("button", { name: /positions/ }).focus();
      await expect(page.getByRole("tooltip").filter({ hasText: "at once" })).toBeVisible();
      await expectReadable(page);
      await page.getByRole("button", { name: "Settings" }).click();
      await expectReadable(page);
    });

test.describe("a failure", () => {
  test.use({ expectedErrors: [/404/] });

  for (const colorScheme of ["light", "dark"] as const)
    test(`can be read, ${colorScheme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme });
      await page.goto("./?model=models/nothing-here");
      await inState(page, "failed");
      await expectReadable(page);
    });
});

test("with forced colours, buttons have borders, the prompt a line, and all of it contrast", async ({ page }) => {
  await page.emulateMedia({ forcedColors: "active" });
  await page.goto("./");
  await inState(page, "ready");
  const borderOf = (name: string) =>
    page.getByRole("button", { name, exact: true }).evaluate((button) => {
      const { borderTopWidth, borderTopColor, backgroundColor } = getComputedStyle(button);
      return {
        isThere: borderTopWidth !== "0px" && borderTopColor !== "rgba(0, 0, 0, 0)",
        borderTopColor,
        backgroundColor,
      };
    });
  for (const name of ["Write", "Settings"]) {
    const border = await borderOf(name);
    expect(border.isThere, name).toBe(true);
    expect(border.borderTopColor, name).not.toBe(border.backgroundColor);
  }
  await prompt(page).fill("Once");
  expect(await prompt(page).evaluate((element) => getComputedStyle(element).textDecorationLine)).toContain("underline");
  expect(await lowContrast(page)).toEqual([]);
});

test("with reduced motion the text appears by whole sentences", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto("./?prompt=Once%20upon%20a%20time%2C&max-new-tokens=90&seed=3");
  await inState(page, "ready");
  const shown = await loom(page).evaluate(async (element: HTMLElement & { generate(): Promise<unknown> }) => {
    const output = element.shadowRoot?.querySelector("[part=output]");
    if (!output) throw new Error("there is no output");
    const texts: string[] = [];
    const watcher = new MutationObserver(() => texts.push(output.textContent ?? ""));
    watcher.observe(output, { childList: true, characterData: true, subtree: true });
    await element.generate();
    return texts;
  });
  expect(shown.length).toBeGreaterThan(1);
  for (const part of shown.slice(0, -1)) expect(part).toMatch(/(^|[.!?…]["”’)]*\s*)$/);
  expect(shown.at(-1)).toBe(await text(page));
});
