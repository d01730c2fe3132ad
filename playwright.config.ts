import { defineConfig } from "@playwright/test";
import { chromiumArguments, findChromium } from "./scripts/find-chromium.mjs";
import { freePort } from "./scripts/free-port.mjs";

// Playwright reads this file once more in each of its processes; the first choice of a port holds for all.
const port = (process.env["WORDLOOM_E2E_PORT"] ??= String(await freePort()));
const examplesPort = (process.env["WORDLOOM_EXAMPLES_PORT"] ??= String(await freePort()));
const chromium = await findChromium();

export default defineConfig({
  testDir: "e2e",
  testIgnore: "long/**",
  outputDir: "test-results",
  forbidOnly: process.env["CI"] !== undefined,
  retries: 0,
  workers: 1, // two cores, and a software GPU that uses both
  timeout: 60_000,
  use: {
    baseURL: `http://127.0.0.1:${port}/`,
    browserName: "chromium",
    trace: "retain-on-failure",
    serviceWorkers: "block", // tests answer requests themselves; e2e/offline.spec.ts lets them be
    launchOptions: { args: chromiumArguments(), ...(chromium ? { executablePath: chromium } : {}) },
  },
  webServer: [
    {
      command: `node scripts/serve.mjs dist --port ${port}`,
      url: `http://127.0.0.1:${port}/`,
      reuseExistingServer: false,
    },
    {
      // The pages in examples/, as their README says; e2e/examples.spec.ts asks here.
      command: `node scripts/serve.mjs . --port ${examplesPort}`,
      url: `http://127.0.0.1:${examplesPort}/examples/plain-html/`,
      reuseExistingServer: false,
    },
  ],
});
