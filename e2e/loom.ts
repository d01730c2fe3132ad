/** The page's element, as the tests find it. */
import type { Page } from "@playwright/test";
import { expect } from "./fixtures";

/** Loading, and the first steps, with a software GPU on a machine that may do other things. */
export const LOAD_MS = 45_000;

export const loom = (page: Page) => page.locator("word-loom");
export const prompt = (page: Page) => page.getByRole("textbox", { name: "Beginning of the text" });
export const text = (page: Page) => loom(page).evaluate((element: HTMLElement & { text: string }) => element.text);
export const inState = (page: Page, state: string) =>
  expect(loom(page)).toHaveAttribute("state", state, { timeout: LOAD_MS });

/** As in a browser without WebGPU: none on the page, and none in its worker, which init scripts do not reach. */
export async function withoutWebGpu(page: Page) {
  await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, "gpu"));
  await page.route(/\/assets\/worker-[^/]*\.js$/, async (route) => {
    const response = await route.fetch();
    const body = `Reflect.deleteProperty(WorkerNavigator.prototype, "gpu");${await response.text()}`;
    await route.fulfill({ response, body });
  });
}
