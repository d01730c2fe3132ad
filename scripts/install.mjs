// Brings node_modules in line with package-lock.json. Uses only what Node itself has: it runs in a fresh clone.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./run.mjs";

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages ?? {};
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Whether node_modules holds what the lock file says. Versions are compared, not times: a checkout renews times.
 *
 * @param {string} root the project's folder
 * @returns {boolean}
 */
export function isInstalled(root) {
  const wanted = packagesOf(join(root, "package-lock.json"));
  const present = packagesOf(join(root, "node_modules", ".package-lock.json"));
  if (wanted === undefined) throw new Error("package-lock.json is missing");
  if (present === undefined) return false;
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === "") return true; // the project itself
    const found = present[path];
    return found ? found.version === version : optional === true; // optional: made for other platforms
  });
}

/** Installs what is missing; does nothing when everything is there. */
export async function ensureInstalled(root) {
  if (isInstalled(root)) return;
  console.log("Installing the packages of package-lock.json (npm ci, without their scripts) …");
  const { code } = await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: root });
  if (code !== 0) throw new Error(`npm ci ended with code ${code}`);
}
