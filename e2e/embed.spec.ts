/** Wordloom in other people's pages: the element's script from another origin, and embed.html in a frame. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { serve } from "../scripts/serve.mjs";
import { expect, test } from "./fixtures";
import { LOAD_MS } from "./loom";

const LIBRARY = fileURLToPath(new URL("../dist-lib", import.meta.url));

interface Heard {
  wordloom: number;
  type: string;
  detail?: { text?: string; finishReason?: string };
  state?: string;
  text?: string;
  height?: number;
  message?: string;
}

/** A page on an origin of its own: another port is another origin. */
async function elsewhere(html: string, policy: string): Promise<{ origin: string; server: Server; html: string }> {
  const page = { html };
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8");
    if (policy !== "") response.setHeader("content-security-policy", policy);
    response.end(page.html); // also for its icon, which nobody looks at
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens
  return Object.assign(page, { origin: `http://127.0.0.1:${port}`, server });
}

const heard = (page: Page) => page.evaluate(() => (globalThis as unknown as { heard: Heard[] }).heard);
const say = (page: Page, message: object) =>
  page.evaluate((message) => {
    document.querySelector("iframe")?.contentWindow?.postMessage({ wordloom: 1, ...message }, "*");
  }, message);

/** A page with the frame, which writes down what it hears from it. */
const withFrame = (src: string) => `<!doctype html><title>Elsewhere</title>
  <script>globalThis.heard = []; addEventListener("message", ({ data }) => heard.push(data));</script>
  <iframe src="${src}" style="inline-size: 40rem; block-size: 20rem"></iframe>`;

/** Pages of other origins are on this machine, too, and are meant to be reached here. */
test.beforeEach(({ page }) => page.context().unrouteAll());

test("the script tag from another origin is enough: worker, model and form field work, under the policy that is stated", async ({
  page,
  baseURL,
}) => {
  const library = await serve(LIBRARY, { port: 0 });
  const model = new URL("models/wordloom-stories", baseURL).href;
  const html = `<!doctype html><title>Elsewhere</title>
    <script type="module" src="${library.url}word-loom.js"></script>
    <form><word-loom model="${model}" name="story" prompt="Once upon a time" max-new-tokens="6" seed="2"></word-loom></form>`;
  const policy = `default-src 'none'; script-src ${library.url}; worker-src blob:; connect-src ${new URL(model).origin}`;
  const { origin, server } = await elsewhere(html, policy);
  try {
    // As from servers that let other origins read: module scripts ask for that, and so do models.
    await page.route(/word-loom\.js$|\/models\//, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "access-control-allow-origin": "*" } });
    });
    await page.goto(origin);
    await page.getByRole("button", { name: "Write" }).click();
    await expect(page.getByRole("button", { name: "Write on" })).toBeVisible({ timeout: LOAD_MS });
    const { text, worker, submitted } = await page.locator("word-loom").evaluate((element: HTMLElement) => {
      const { text, info } = element as unknown as { text: string; info: { worker: boolean } };
      const form = element.closest("form");
      return { text, worker: info.worker, submitted: form ? new FormData(form).get("story") : null };
    });
    expect(text).not.toBe("");
    expect(worker).toBe(true);
    expect(submitted).toBe(text);
  } finally {
    server.close();
    await library.close();
  }
});

test("a frame does what the page of its origin asks for, and tells what happens; to others it says nothing", async ({
  page,
  baseURL,
}) => {
  const home = await elsewhere("", "");
  const src = new URL(`embed.html?prompt=The%20cat&max-new-tokens=5&seed=1&origin=${home.origin}`, baseURL).href;
  home.html = withFrame(src);
  const stranger = await elsewhere(withFrame(src), "");
  try {
    const warnings: string[] = [];
    page.on("console", (message) => message.type() === "warning" && warnings.push(message.text()));
    await page.goto(stranger.origin);
    await expect(page.frameLocator("iframe").locator("word-loom")).toHaveAttribute("state", "idle");
    for (const message of [{ type: "connect" }, { type: "load" }, { type: "nonsense" }]) await say(page, message);
    await expect.poll(() => warnings.filter((text) => text.includes(stranger.origin)).length).toBe(3);
    expect(await heard(page)).toEqual([]);
    await expect(page.frameLocator("iframe").locator("word-loom")).toHaveAttribute("state", "idle");

    await page.goto(home.origin);
    await expect(page.frameLocator("iframe").locator("word-loom")).toHaveAttribute("state", "idle");
    await say(page, { type: "generate" });
    await expect.poll(async () => (await heard(page)).at(-1)?.message).toMatch(/connect/);
    await say(page, { type: "connect" });
    await expect.poll(async () => (await heard(page)).some(({ type }) => type === "size")).toBe(true);
    await say(page, {
      type: "generate",
      prompt: "The dog",
      options: { maxNewTokens: 4, endpoint: "https://x.example" },
    });
    await expect.poll(async () => (await heard(page)).at(-1)?.message).toMatch(/endpoint/);
    await say(page, { type: "generate", prompt: "The dog", options: { maxNewTokens: 4 } });
    const ended = async () => (await heard(page)).find(({ type }) => type === "generation-end");
    await expect.poll(ended, { timeout: LOAD_MS }).toMatchObject({ wordloom: 1, detail: { finishReason: "length" } });
    const all = await heard(page);
    const written = all.filter(({ type }) => type === "generated-token").map(({ detail }) => detail?.text);
    await expect.poll(async () => (await heard(page)).at(-1)?.type).toMatch(/state|size/);
    const states = (await heard(page)).filter(({ type }) => type === "state");
    expect(states.map(({ state }) => state)).toEqual(["idle", "loading", "ready", "generating", "ready"]);
    expect(states.at(-1)?.text).toBe(written.join(""));
    await expect(page.frameLocator("iframe").locator("[part=prompt]")).toHaveText("The dog");

    // It is as high as its content, and says so when that changes.
    const height = async () => (await heard(page)).filter(({ type }) => type === "size").at(-1)?.height ?? 0;
    const before = await height();
    expect(before).toBeGreaterThan(40);
    await say(page, { type: "generate", options: { maxNewTokens: 400 } });
    await expect.poll(height, { timeout: LOAD_MS }).toBeGreaterThan(before + 20);
    await say(page, { type: "stop" });
    const ends = async () => (await heard(page)).filter(({ type }) => type === "generation-end");
    await expect.poll(async () => (await ends()).at(-1)?.detail?.finishReason).toBe("abort");
  } finally {
    home.server.close();
    stranger.server.close();
  }
});
