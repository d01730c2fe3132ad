// Builds the site (dist/) and the library (dist-lib/), then checks what was written. `node scripts/build.mjs [site|lib]`
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { forbiddenIn, gzippedBytes, sizeTable, withExtensions } from "./check-build.mjs";
import { run } from "./run.mjs";

/** All JavaScript of the page together, compressed as servers send it. */
const PAGE_LIMIT_KB = 150;

const root = fileURLToPath(new URL("..", import.meta.url));
const inRoot = (path) => join(root, path);

/** A library build on top of vite.config.ts; names in dist-lib carry no hash where other programs use them. */
async function buildLibrary(input, { external = [], oneFile = false, alias = [] } = {}) {
  const chunks = oneFile ? { codeSplitting: false } : { chunkFileNames: "chunks/[name]-[hash].js" };
  const { output } = await build({
    root,
    logLevel: "warn",
    publicDir: false,
    resolve: { alias },
    worker: { rolldownOptions: { output: chunks } },
    build: {
      outDir: "dist-lib",
      emptyOutDir: false,
      chunkSizeWarningLimit: 1000,
      rolldownOptions: {
        input,
        external,
        preserveEntrySignatures: "strict",
        output: { entryFileNames: "[name].js", ...chunks },
      },
    },
  });
  const files = output.map(({ fileName }) => fileName);
  if (oneFile && files.length !== 1) throw new Error(`one file was asked for, not ${files.join(", ")}`);
}

/** Declarations for every module that an entry reaches. */
async function buildTypes() {
  const tsc = inRoot("node_modules/typescript/bin/tsc");
  const { code } = await run(process.execPath, [tsc, "-p", inRoot("tsconfig.types.json")], { cwd: root });
  if (code !== 0) throw new Error(`tsc ended with code ${code}`);
  for (const file of filesBelow("dist-lib/types", ".d.ts")) {
    writeFileSync(file, withExtensions(readFileSync(file, "utf8")));
  }
}

function filesBelow(folder, ending) {
  if (!existsSync(inRoot(folder))) return [];
  return readdirSync(inRoot(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function check(folder, limitKb) {
  const rows = filesBelow(folder, ".js").map((file) => {
    const text = readFileSync(file, "utf8");
    const name = relative(root, file);
    const forbidden = forbiddenIn(text);
    if (forbidden.length > 0) throw new Error(`${name} uses ${forbidden.join(" and ")}`);
    return { name, bytes: Buffer.byteLength(text), gzipped: gzippedBytes(text) };
  });
  console.log(sizeTable(rows, limitKb));
  const total = rows.reduce((sum, row) => sum + row.gzipped, 0);
  if (limitKb !== undefined && total > limitKb * 1000)
    throw new Error(`${folder} holds ${(total / 1000).toFixed(1)} kB of JavaScript (gzip); the limit is ${limitKb} kB`);
}

const wanted = process.argv.slice(2);
for (const name of wanted) if (name !== "site" && name !== "lib") throw new Error(`site or lib, not ${name}`);
const builds = (name) => wanted.length === 0 || wanted.includes(name);

if (builds("site")) {
  await build({ root, logLevel: "warn" });
  check("dist", PAGE_LIMIT_KB);
}
if (builds("lib")) {
  rmSync(inRoot("dist-lib"), { recursive: true, force: true });
  const entries = {
    index: "src/index.ts",
    element: "src/element.ts",
    openai: "src/adapters/openai/index.ts",
    "prompt-api": "src/adapters/prompt-api/index.ts",
    ai: "src/adapters/ai-sdk/index.ts",
  };
  await buildLibrary(entries, { external: [/^lit(\/|$)/] });
  await buildLibrary(
    { "word-loom": "src/element.ts" },
    {
      oneFile: true,
      alias: [{ find: /^(.*\/)?start-worker$/, replacement: inRoot("src/worker/start-worker.inline.ts") }],
    },
  );
  await buildTypes();
  check("dist-lib");
}
