// Brings a Chromium for the browser tests where none is found; otherwise does nothing.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { findChromium } from "./find-chromium.mjs";
import { run } from "./run.mjs";

const DOWNLOAD_LIMIT_MS = 240_000;

function canInstallPackages() {
  if (process.getuid?.() !== 0) return false;
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, "apt-get"), constants.X_OK);
      return true;
    } catch {
      return false; // not in this folder
    }
  });
}

const apt = (...words) => run("apt-get", words, { env: { DEBIAN_FRONTEND: "noninteractive" } });

/**
 * @param {string} root the project's folder
 * @returns {Promise<string>} the browser's path
 */
export async function ensureChromium(root) {
  const present = await findChromium();
  if (present) return present;

  const playwright = join(root, "node_modules", "playwright", "cli.js");
  console.log("No Chromium found; downloading Playwright's own …");
  const download = await run(process.execPath, [playwright, "install", "chromium"], {
    cwd: root,
    timeoutMs: DOWNLOAD_LIMIT_MS,
  });
  if (download.code === 0) {
    if (canInstallPackages()) {
      const libraries = await run(process.execPath, [playwright, "install-deps", "chromium"], { cwd: root });
      if (libraries.code !== 0) console.log("Its system libraries could not be installed; going on without.");
    }
  } else if (canInstallPackages()) {
    console.log("That did not work; installing the system's package chromium …");
    if ((await apt("update")).code === 0) await apt("install", "-y", "--no-install-recommends", "chromium");
  }

  const installed = await findChromium();
  if (installed) return installed;
  throw new Error(
    "The browser tests need Chromium, and none could be installed. Install Chromium or Chrome, or run " +
      "`npx playwright install --with-deps chromium`, or set CHROMIUM_PATH to a browser's program file.",
  );
}
