/** Newer versions of a visited page. Not steady yet: at times Chromium lets the newer one wait beyond the test's time. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "../fixtures";
import { inState, LOAD_MS, loom, text } from "../loom";
import { kept, test, write } from "../offline-site";

/** As if a newer version had been put on the server. */
function publish(root: string, mark: string) {
  const file = join(root, "index.html");
  const html = readFileSync(file, "utf8").replace(/<title>.*<\/title>/, `<title>Wordloom ${mark}</title>`);
  writeFileSync(file, html);
  const worker = join(root, "service-worker.js");
  const text = readFileSync(worker, "utf8");
  const revision = /(["`])?revision\1:(["`])([0-9a-f]{32})\2,(["`])?url\4:(["`])index\.html\5/;
  if (!revision.test(text)) throw new Error("service-worker.js does not list index.html");
  writeFileSync(
    worker,
    text.replace(revision, (found, ...[, , hash]: string[]) => found.replace(hash ?? "", mark.padEnd(32, "0"))),
  );
}

test("a newer version is offered while a text is being written, and taken when the text has ended", async ({
  page,
  site,
}) => {
  test.setTimeout(150_000);
  await page.goto("./?max-new-tokens=400&seed=1");
  await inState(page, "ready");
  await page.locator("#settings-button").click();
  await expect(kept(page)).toHaveText(/The page and the story model are kept/, { timeout: LOAD_MS });
  await write(page, "Once upon a time");
  publish(site.root, "2");
  await page.evaluate(async () => void (await (await navigator.serviceWorker.getRegistration())?.update()));
  const offer = page.locator("wordloom-update-offer");
  await expect(offer).toContainText("A newer version is here.", { timeout: LOAD_MS });
  await expect(loom(page)).toHaveAttribute("state", "generating");
  await offer.getByRole("button", { name: "Use it" }).click();
  await expect(offer).toContainText("as soon as no text is being written");
  const before = await text(page);
  await expect.poll(() => text(page), { timeout: LOAD_MS }).not.toBe(before); // it goes on
  await expect(page).toHaveTitle("Wordloom");

  await loom(page).evaluate((element: HTMLElement & { stop(): void }) => element.stop());
  await expect(page).toHaveTitle("Wordloom 2", { timeout: LOAD_MS });
  await expect(offer).toHaveText("");
});
