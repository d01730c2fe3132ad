/** A visited page without a network, and an address that allows neither network nor graphics card. */
import { expect, test as base } from "./fixtures";
import { inState, LOAD_MS, text } from "./loom";
import { kept, test, write } from "./offline-site";

test.describe("without a network", () => {
  test.use({ expectedErrors: [/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED/] });
  test.setTimeout(150_000); // two loads on a machine that may do other things

  test("a visited page in a folder opens with its settings, loads its model and writes, the server gone", async ({
    page,
    context,
    site,
  }) => {
    await page.goto("./?max-new-tokens=4&seed=1");
    await inState(page, "ready");
    await write(page, "Once upon a time");
    await inState(page, "ready");
    const online = await text(page);
    await page.locator("#settings-button").click();
    await expect(kept(page)).toHaveText(/The page and the story model are kept/, { timeout: LOAD_MS });

    await context.setOffline(true);
    await site.close();
    await page.reload();
    await inState(page, "ready");
    await write(page, "Once upon a time");
    await inState(page, "ready");
    expect(await text(page)).toBe(online);
    await page.goto("./?lang=de"); // words that were never asked for before
    await expect(page.locator("html")).toHaveAttribute("lang", "de");

    const { names, entries } = await page.evaluate(async () => {
      const names = await caches.keys();
      const keys = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).length));
      return { names, entries: keys };
    });
    expect(names).toHaveLength(2);
    expect(Math.min(...entries)).toBeGreaterThan(3);
  });
});

base("an address that is not secure says what to do about it", async ({ page, baseURL, request }) => {
  await page.route("http://192.168.0.7:8000/**", async (route) => {
    const { pathname, search } = new URL(route.request().url());
    if (pathname.includes("/models/")) return route.fulfill({ status: 404 });
    const response = await request.get(new URL(`.${pathname}${search}`, baseURL).href);
    await route.fulfill({ body: await response.body(), headers: response.headers() });
  });
  await page.goto("http://192.168.0.7:8000/");
  const note = page.getByRole("note");
  await expect(note).toContainText("This address is not a secure one.");
  await expect(note).toContainText("http://192.168.0.7:8000 neither the graphics card nor use without a network");
  await expect(note).toContainText("run ssh -L 8000:localhost:8000 192.168.0.7, then open http://localhost:8000");
  await page.locator("#settings-button").click();
  await expect(kept(page)).toContainText("only on https and on localhost");
});
