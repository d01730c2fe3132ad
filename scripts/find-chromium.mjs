// Finds the Chromium that tests run in. One place, so that every test kind uses the same browser.
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES_ON_PATH = ["chromium", "chromium-browser", "google-chrome"];

/** Switches every test browser is started with: containers have no sandbox, Linux hides WebGPU behind a flag. */
const BASE_ARGUMENTS = ["--no-sandbox", "--enable-unsafe-webgpu"];

function onPath(name) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      continue; // not in this folder, or not ours to run
    }
  }
  return undefined;
}

/**
 * Path of a Chromium to run, or undefined where there is none.
 * Order: CHROMIUM_PATH; the one Playwright downloaded; chromium, chromium-browser, google-chrome on PATH.
 *
 * @returns {Promise<string | undefined>}
 */
export async function findChromium() {
  const named = process.env.CHROMIUM_PATH;
  if (named) {
    if (!existsSync(named)) throw new Error(`CHROMIUM_PATH names ${named}, which does not exist`);
    return named;
  }
  const { chromium } = await import("playwright");
  const downloaded = chromium.executablePath();
  if (downloaded && existsSync(downloaded)) return downloaded;
  for (const name of NAMES_ON_PATH) {
    const found = onPath(name);
    if (found) return found;
  }
  return undefined;
}

/**
 * Command-line switches for that browser; CHROMIUM_ARGS (separated by blanks) adds to them, for example
 * `CHROMIUM_ARGS="--enable-features=Vulkan"` on a Linux machine with a real GPU.
 *
 * @returns {string[]}
 */
export function chromiumArguments() {
  return [...BASE_ARGUMENTS, ...(process.env.CHROMIUM_ARGS ?? "").split(/\s+/).filter(Boolean)];
}
