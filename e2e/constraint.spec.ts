/** Structured output from `dist-lib/index.js` on somebody else's page: what its policy must allow, and what is loaded when. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";

const LIBRARY = fileURLToPath(new URL("../dist-lib/", import.meta.url));
const STRICT = "default-src 'self'; script-src 'self'; worker-src 'self'";
const WITH_WASM = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";
const PROGRAM = `
  import { TextGenerator } from "./library/index.js";
  window.write = async (worker) => {
    const generator = await TextGenerator.load("./models/wordloom-stories/", { worker });
    const plain = await generator.generate("Once", { maxNewTokens: 2 }).text();
    const loadedBefore = performance.getEntriesByType("resource").some(({ name }) => name.includes("constrain"));
    const run = generator.generate("Once upon a time", { constraint: { jsonSchema: { enum: ["cat", "dog"] } } });
    const value = await run.value().catch(({ code, message, remedy }) => ({ code, message, remedy }));
    const after = await generator.generate("Once", { maxNewTokens: 2 }).text();
    await generator.dispose();
    return { value, loadedBefore, goesOn: after === plain };
  };`;

/** With the policy on the page and on each script: a worker has that of its own file. */
async function open(page: Page, policy: string) {
  const asked: string[] = [];
  const headers = { "content-security-policy": policy };
  await page.context().route("**/library/**", async (route) => {
    const path = new URL(route.request().url()).pathname.replace(/^.*\/library\//, "");
    asked.push(path);
    await route.fulfill({ contentType: "text/javascript", headers, body: await readFile(LIBRARY + path, "utf8") });
  });
  await page.route("**/program.js", (route) =>
    route.fulfill({ contentType: "text/javascript", headers, body: PROGRAM }),
  );
  await page.route("**/embed.html", (route) =>
    route.fulfill({
      ...{ contentType: "text/html", headers },
      body: `<!doctype html><title>Elsewhere</title><script type="module" src="./program.js"></script>`,
    }),
  );
  await page.goto("./embed.html");
  return asked;
}

interface Outcome {
  value: unknown;
  loadedBefore: boolean;
  goesOn: boolean;
}
const write = (page: Page, worker: boolean) =>
  page.evaluate(
    (inWorker) => (window as unknown as { write: (w: boolean) => Promise<Outcome> }).write(inWorker),
    worker,
  );

test("with 'wasm-unsafe-eval' it works, and is loaded when it is first asked for", async ({ page }) => {
  const asked = await open(page, WITH_WASM);
  const { value, loadedBefore, goesOn } = await write(page, true);
  expect(["cat", "dog"]).toContain(value);
  expect({ loadedBefore, goesOn }).toEqual({ loadedBefore: false, goesOn: true });
  expect(asked.filter((path) => path.includes("constrain"))).toHaveLength(1);
  expect(asked.at(-1)).toContain("constrain");
});

test.describe("under a strict policy", () => {
  // Files that a model may have, and this one has not, are 404s; on the page's thread the console tells them.
  test.use({ expectedErrors: [/Content Security Policy|status of 404/] });

  for (const worker of [true, false]) {
    const where = worker ? "in a worker" : "on the page's thread";
    test(`it is refused ${where} with what the policy lacks, and all else works`, async ({ page }) => {
      await open(page, STRICT);
      const { value, goesOn } = await write(page, worker);
      expect(value).toEqual({
        code: "wasm-refused",
        message: expect.stringMatching(/Content Security Policy|unsafe-eval/) as unknown,
        remedy: expect.stringContaining("'wasm-unsafe-eval'") as unknown,
      });
      expect(goesOn).toBe(true);
    });
  }
});
