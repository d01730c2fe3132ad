/** The page in the reader's language. */
import { expect, test } from "./fixtures";
import { inState } from "./loom";

test.use({ locale: "de-AT" });

test("the page is in the browser's language from the first word on, and the reader's choice outlasts the visit", async ({
  page,
}) => {
  await page.goto("./");
  await inState(page, "ready");
  const shown = page.locator("html");
  await expect(shown).toHaveAttribute("lang", "de");
  await page.locator("#settings-button").click();
  const choice = page.getByLabel("Sprache");
  await expect(choice).toHaveValue("de");

  await choice.selectOption("English");
  await expect(shown).toHaveAttribute("lang", "en");
  await expect(page.getByLabel("Language")).toHaveValue("en");
  await page.reload();
  await expect(shown).toHaveAttribute("lang", "en");

  await page.goto("./?lang=de"); // an address is stronger than what was chosen before, for this visit
  await expect(shown).toHaveAttribute("lang", "de");
  await page.locator("#settings-button").click();
  await page.getByLabel("Sprache").selectOption("English");
  await expect(page).toHaveURL((url) => url.search === "");
});
