import { expect, test as base, type Page } from "@playwright/test";

interface Watched {
  /** Errors of the page: uncaught ones, and what it wrote to the console as an error. */
  errors: string[];
  /** Addresses on other servers that the page asked for. They are never reached. */
  outsideRequests: string[];
}

interface Options {
  /** Errors a test provokes on purpose; any other error fails the test. */
  expectedErrors: RegExp[];
}

const LOCAL_SCHEMES = /^(blob|data|about):/;

async function watch(page: Page, ownOrigin: string): Promise<Watched> {
  const watched: Watched = { errors: [], outsideRequests: [] };
  page.on("pageerror", (error) => watched.errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") watched.errors.push(message.text());
  });
  await page.context().route(
    (url) => url.origin !== ownOrigin && !LOCAL_SCHEMES.test(url.href),
    (route) => {
      watched.outsideRequests.push(route.request().url());
      return route.abort();
    },
  );
  return watched;
}

/**
 * Playwright's test on the built site. Whatever it tests, it also fails when the page reports an error that the test does
 * not expect (`test.use({ expectedErrors: [/…/] })`), or asks another server for anything (`watched.outsideRequests`
 * emptied by the test itself where that is the point).
 */
export const test = base.extend<Options & { watched: Watched }>({
  expectedErrors: [[], { option: true }],
  watched: [
    async ({ page, baseURL, expectedErrors }, use) => {
      if (baseURL === undefined) throw new Error("playwright.config.ts sets no baseURL");
      const watched = await watch(page, new URL(baseURL).origin);
      await use(watched);
      expect(watched.errors.filter((error) => !expectedErrors.some((pattern) => pattern.test(error)))).toEqual([]);
      expect(watched.outsideRequests).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
