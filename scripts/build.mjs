// Builds the site (dist/) and the library (dist-lib/), then checks what was written. `node scripts/build.mjs [site|lib]`
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import {
  forbiddenIn,
  gzippedBytes,
  isChunk,
  namesIn,
  reachable,
  isOnDemand,
  sizeTable,
  staticImportsOf,
  withExtensions,
} from "./check-build.mjs";
import { licencesPlugin, licencesText } from "./licences.mjs";
import { offlinePlugins } from "./offline.mjs";
import { run } from "./run.mjs";

/**
 * What a page loads to write with the element: lit, element, engine, shaders, tokenizer, a model in a Hugging Face folder,
 * from a server or the hub; compressed as servers send it.
 */
const WRITING_LIMIT_KB = 150;
/** What our own page, with its playground, loads before one can type in it. */
const TYPING_LIMIT_KB = 60;
/** What a page loads only when it is asked for; each is an `import()` in the source. All else counts for the limit. */
const ON_DEMAND = {
  constrain: "structured output",
  "connect-server": "a server instead of the device",
  "gguf-model": "GGUF files",
  "packed-weights": "safetensors that others quantized",
  "chat-prompt": "messages: what runs a chat template",
  dist: "messages: what parses a chat template (@huggingface/jinja)",
  "answer-parts": "messages: reasoning and calls in an answer",
  "reference-backend": "the reference in TypeScript",
  "plan-model": "what a model would take",
  "memory-plan": "what a model would take, on WebGPU",
  "node-folder": "a path in Node",
  embed: "embed.html, for frames in other pages",
  inspector: "looking into a text",
  "uPlot.esm": "plots",
  "side-sheet": "the page's sheet: model, settings, texts",
  chat: "the page's chat",
  "text-desk": "the page, once a text has been written",
  "kept-documents": "texts that the page keeps",
  "copy-button": "texts that the page keeps: copying",
  speculation: "guessing ahead",
  "draft-model": "guessing ahead with a smaller model",
  "sliding-answer": "answers longer than the context",
  "parallel-answers": "several answers at once: the loop",
  "cache-copier": "a conversation that is kept with its cache",
  "connect-options": "a server instead of the device: its options",
  choice: "choose",
  "embed-options": "embed",
  scorer: "score, choose, embed",
  verifier: "guessing ahead: what checks the guesses",
  "row-batch": "several answers at once",
  "saved-conversation": "conversations that are saved",
  "on-page": "offline use, newer versions",
  "service-worker": "the service worker",
  "insecure-note": "that an address is not secure",
  "german-page": "the page in German",
  "element.de": "the element in German, wherever it is",
  "german-element": "the element in German, on other pages",
};

const root = fileURLToPath(new URL("..", import.meta.url));
const inRoot = (path) => join(root, path);

/** A library build on top of vite.config.ts; names in dist-lib carry no hash where other programs use them. */
async function buildLibrary(input, packages, { external = [], oneFile = false, alias = [] } = {}) {
  const chunks = oneFile ? { codeSplitting: false } : { chunkFileNames: "chunks/[name]-[hash].js" };
  const plugins = oneFile ? [oneSourceMap()] : [];
  const { output } = await build({
    root,
    logLevel: "warn",
    publicDir: false,
    plugins: [...plugins, licencesPlugin(packages)],
    resolve: { alias },
    worker: { plugins: () => [licencesPlugin(packages)], rolldownOptions: { output: chunks } },
    build: {
      outDir: "dist-lib",
      emptyOutDir: false,
      sourcemap: oneFile ? "hidden" : true,
      chunkSizeWarningLimit: 1200, // xgrammar; `check` below sees to the sizes
      rolldownOptions: {
        input,
        external,
        preserveEntrySignatures: "strict",
        output: { entryFileNames: "[name].js", ...chunks },
      },
    },
  });
  const files = output.map(({ fileName }) => fileName).filter((name) => !name.endsWith(".js.map"));
  if (oneFile && files.length !== 1) throw new Error(`one file was asked for, not ${files.join(", ")}`);
}

/**
 * The one file has one map. Its worker starts from a `blob:`, from where no map beside the file can be found: that one
 * would be dead weight, and its address in the worker's code a 404 (hence "hidden").
 */
function oneSourceMap() {
  return {
    name: "wordloom:one-source-map",
    generateBundle(_, bundle) {
      for (const name of Object.keys(bundle)) if (/\bworker-[^/]*\.map$/.test(name)) delete bundle[name];
    },
    writeBundle({ dir }, bundle) {
      for (const name of Object.keys(bundle).filter((name) => name.endsWith(".js")))
        appendFileSync(join(dir, name), `//# sourceMappingURL=${name}.map\n`);
    },
  };
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

function check(folder) {
  const written = filesBelow(folder, ".js").map((file) => ({ file, text: readFileSync(file, "utf8") }));
  for (const { file, text } of written) {
    const named = staticImportsOf(text).find(isOnDemand);
    if (named) throw new Error(`${relative(root, file)} loads ${named} at once, not when it is asked for`);
    const forbidden = isOnDemand(file) ? [] : forbiddenIn(text);
    if (forbidden.length > 0) throw new Error(`${relative(root, file)} uses ${forbidden.join(" and ")}`);
  }
  return written;
}

const sizesOf = ({ file, text }, about = "") => ({
  name: `${relative(root, file)}${about}`,
  bytes: Buffer.byteLength(text),
  gzipped: gzippedBytes(text),
});

/** The parts of the site, each file in the first one that it belongs to. */
function checkSite(written) {
  const chunk = (name) => (file) => isChunk(file, name) || basename(file) === `${name}.js`;
  const partOf = ({ file }) => Object.keys(ON_DEMAND).find((name) => chunk(name)(file));
  const missing = Object.keys(ON_DEMAND).filter((name) => !written.some((one) => partOf(one) === name));
  if (missing.length > 0) throw new Error(`dist has no file of its own for ${missing.join(", ")}`);
  const needed = written.filter((one) => partOf(one) === undefined);
  const entry = (html) => written.filter(({ file }) => readFileSync(inRoot(html), "utf8").includes(basename(file)));
  const element = needed.filter(({ file }) => isChunk(file, "word-loom"));
  if (element.length !== 1) throw new Error(`dist has ${element.length} files for the element`);
  const writing = reachable(element, needed, (text) => namesIn(text));
  const typing = reachable(entry("dist/index.html"), needed, (text) => staticImportsOf(text));
  const row = (one) => sizesOf(one);
  console.log(`what the element loads to write:\n${within(writing.map(row), WRITING_LIMIT_KB)}`);
  console.log(`what the page loads before one can type:\n${within(typing.map(row), TYPING_LIMIT_KB)}`);
  const rest = needed.filter((one) => !writing.includes(one) && !typing.includes(one));
  if (rest.length > 0) console.log(`also, of the page:\n${sizeTable(rest.map(row))}`);
  const asked = written.filter((one) => partOf(one) !== undefined);
  console.log(`only when asked for:\n${sizeTable(asked.map((one) => sizesOf(one, `, ${ON_DEMAND[partOf(one)]}`)))}`);
}

function within(rows, limitKb) {
  const total = rows.reduce((sum, row) => sum + row.gzipped, 0);
  const table = sizeTable(rows, limitKb);
  if (total > limitKb * 1000) throw new Error(`${table}\nthat is more than ${limitKb} kB of JavaScript (gzip)`);
  return table;
}

const wanted = process.argv.slice(2);
for (const name of wanted) if (name !== "site" && name !== "lib") throw new Error(`site or lib, not ${name}`);
const builds = (name) => wanted.length === 0 || wanted.includes(name);

if (builds("site")) {
  const input = ["index.html", "embed.html"].map(inRoot);
  const packages = new Set();
  await build({
    root,
    logLevel: "warn",
    plugins: [licencesPlugin(packages), offlinePlugins([licencesPlugin(packages)])],
    worker: { plugins: () => [licencesPlugin(packages)] },
    build: { chunkSizeWarningLimit: 1200, rolldownOptions: { input } },
  });
  writeFileSync(inRoot("dist/LICENSES.txt"), licencesText(root, packages, { model: true }));
  checkSite(check("dist"));
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
  const packages = new Set();
  await buildLibrary(entries, packages, { external: [/^lit(\/|$)/] });
  await buildLibrary({ "word-loom": "src/element.ts" }, packages, {
    oneFile: true,
    alias: [
      { find: /^(.*\/)?start-worker$/, replacement: inRoot("src/worker/start-worker.inline.ts") },
      { find: /^(.*\/)?structured\/constrain$/, replacement: inRoot("src/structured/constrain.left-out.ts") },
    ],
  });
  writeFileSync(inRoot("dist-lib/LICENSES.txt"), licencesText(root, packages));
  await buildTypes();
  console.log(sizeTable(check("dist-lib").map((one) => sizesOf(one))));
}
