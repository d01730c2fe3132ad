import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";
import { chromiumArguments, findChromium } from "./scripts/find-chromium.mjs";
import { sharedWorkerPlugin, tokenizerOnlyPlugin, wgslPlugin, xgrammarPlugin } from "./scripts/vite-plugins.ts";

const underTest = process.env["VITEST"] !== undefined;
/** Other people's checkpoint, read in place by browser tests through the test server; "" where it is absent. */
const stories = underTest ? (await import("./src/testing/shared-data.ts")).sharedData("stories260k") : undefined;
/** Two test runs at once must not write each other's prepared dependencies. */
const shard = process.env["WORDLOOM_TEST_SHARD"];
const chromium = underTest ? await findChromium() : undefined;

/** What every vitest project shares: the same plugins as the build, in Node too. */
const project = { extends: true as const };
const node = {
  environment: "node" as const,
  server: { deps: { inline: [/@xenova\/transformers/, /@mlc-ai\/web-xgrammar/] } },
};
const inChromium = {
  enabled: true,
  headless: true,
  screenshotFailures: false,
  provider: playwright({
    launchOptions: { args: chromiumArguments(), ...(chromium ? { executablePath: chromium } : {}) },
  }),
  instances: [{ browser: "chromium" as const }],
};

export default defineConfig({
  base: "./",
  ...(shard === undefined ? {} : { cacheDir: `node_modules/.vite/${shard}` }),
  plugins: [wgslPlugin(), tokenizerOnlyPlugin(), xgrammarPlugin(), sharedWorkerPlugin()],
  build: { modulePreload: false },
  optimizeDeps: {
    exclude: ["@xenova/transformers", "@mlc-ai/web-xgrammar"],
    include: ["@huggingface/jinja", ...(underTest ? ["ai", "ajv/dist/2020", "openai"] : [])],
  },
  ...(stories === undefined ? {} : { server: { fs: { allow: [".", stories] } } }),
  worker: { format: "es", plugins: () => [wgslPlugin(), tokenizerOnlyPlugin(), xgrammarPlugin()] },
  test: {
    provide: { storiesUrl: stories === undefined ? "" : `/@fs${stories}/` },
    projects: [
      {
        ...project,
        test: {
          ...node,
          name: "unit",
          include: ["src/**/*.test.ts", "scripts/**/*.test.{ts,mjs}"],
          exclude: ["**/*.{gpu,long,lavapipe}.test.ts"],
        },
      },
      {
        ...project,
        test: { name: "gpu", include: ["src/**/*.gpu.test.ts"], browser: inChromium, testTimeout: 60_000 },
      },
      {
        ...project,
        test: {
          ...node,
          name: "long",
          include: ["src/**/*.long.test.ts"],
          exclude: ["**/*.gpu.long.test.ts"],
          testTimeout: 600_000,
        },
      },
      {
        ...project,
        test: { name: "long-gpu", include: ["src/**/*.gpu.long.test.ts"], browser: inChromium, testTimeout: 600_000 },
      },
      {
        ...project,
        test: { ...node, name: "lavapipe", include: ["src/**/*.lavapipe.test.ts"], testTimeout: 600_000 },
      },
    ],
  },
});
