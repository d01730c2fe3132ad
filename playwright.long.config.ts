import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

/** Tests that take minutes and gigabytes; `npm run test:long`. */
export default defineConfig(base, { testDir: "e2e/long", testIgnore: [], timeout: 900_000 });
