// `npm start`: installs and builds what is missing or stale, then serves the page until it is stopped.
// Only what Node itself has is imported here: in a fresh clone nothing else is there yet.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "./install.mjs";
import { run } from "./run.mjs";
import { serve } from "./serve.mjs";

/** What the built page is made of. */
const SOURCES = ["index.html", "package-lock.json", "public", "scripts", "shaders", "src", "vite.config.ts"];

function newestMs(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  // A folder's own time counts too: it changes when a file in it is removed.
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestMs(join(path, name))), stats.mtimeMs);
}

const root = fileURLToPath(new URL("..", import.meta.url));
await ensureInstalled(root);

const page = join(root, "dist", "index.html");
if (!existsSync(page) || statSync(page).mtimeMs < Math.max(...SOURCES.map((path) => newestMs(join(root, path))))) {
  console.log("Building the page …");
  const { code } = await run(process.execPath, [join(root, "scripts", "build.mjs"), "site"], { cwd: root });
  if (code !== 0) throw new Error(`the build ended with code ${code}`);
}

const { url } = await serve(join(root, "dist"));
console.log(`Wordloom is at ${url} (Ctrl+C ends it)`);
