/** The page's chat, with a model whose answers are written down. */
import type { Page } from "@playwright/test";
import { lowContrast, smallTargets } from "./contrast";
import { expect, test } from "./fixtures";
import { inState, LOAD_MS } from "./loom";
import { serveChat } from "./served-model";

test.use({ expectedErrors: [/404 \(Not Found\)/] }); // files that the model does not have

const box = (page: Page) => page.getByRole("textbox", { name: "Your message" });
const answers = (page: Page) => page.locator(".answer");
const ended = (page: Page, text: string) => expect(answers(page).last()).toContainText(text, { timeout: LOAD_MS });

test("messages are answered, edited and answered anew, with the keyboard, and nothing of an answer is markup", async ({
  page,
}) => {
  await page.goto(await serveChat(page));
  await expect(box(page)).toBeVisible({ timeout: LOAD_MS });
  await box(page).fill("Say 1");
  await expect(page.getByText(/^\d+ of 512 positions with this message$/)).toBeVisible();
  await box(page).press("Enter");
  await ended(page, "in two pieces.");
  await expect(page.getByRole("region", { name: "Code: js" })).toHaveText("let a = <b>1</b>;");
  await expect(answers(page).locator("b")).toHaveCount(0);
  await expect(page.locator("#chat-announcer")).toContainText("End of the answer.");
  await expect(page.getByText(/^\d+ of 512 positions used$/)).toBeVisible();

  await box(page).fill("Think 3");
  await page.getByRole("button", { name: "Send" }).click();
  await ended(page, "It is three.");
  const reasoning = answers(page).last().locator("details");
  await expect(reasoning.getByText("Let me count.")).toBeHidden();
  await reasoning.getByText("Thought, in 3 words").click();
  await expect(reasoning.getByText("Let me count.")).toBeVisible();
  expect(await lowContrast(page)).toEqual([]);
  expect(await smallTargets(page)).toEqual([]);

  // The first message in other words: what followed it stays in the other version.
  await page.getByRole("button", { name: "Edit" }).first().press("Enter");
  const edited = page.getByRole("textbox", { name: "The message in other words" });
  await expect(edited).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(edited).toHaveCount(0);
  await page.getByRole("button", { name: "Edit" }).first().press("Enter");
  await edited.fill("Rather 2");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await ended(page, "Another answer.");
  await expect(answers(page)).toHaveCount(1);
  await expect(page.getByText("2 of 2")).toBeVisible();
  await page.getByRole("button", { name: "Earlier version" }).click();
  await expect(answers(page)).toHaveCount(2);
  await page.getByRole("button", { name: "Answer anew" }).last().click();
  await expect(answers(page).last().getByText("2 of 2")).toBeVisible({ timeout: LOAD_MS });

  await page.getByRole("button", { name: "New chat" }).click();
  await expect(answers(page)).toHaveCount(0);
  await expect(box(page)).toBeFocused();
});

test("a model that is not made for chat says so, and what to do", async ({ page }) => {
  await page.goto("./?mode=chat");
  await expect(page.getByText("wordloom-stories is not made for chat.")).toBeVisible({ timeout: LOAD_MS });
  await page.getByRole("button", { name: "Write a text with it" }).click();
  await inState(page, "ready");
  await expect(page.getByRole("textbox", { name: "Beginning of the text" })).toBeVisible();
  await page.getByRole("button", { name: "Chat" }).click();
  await page.getByRole("button", { name: "Choose a model" }).click();
  await expect(page.getByLabel("Where the model is")).toBeVisible();
});
