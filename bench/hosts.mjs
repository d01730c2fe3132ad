// Where a row runs: a fresh Chromium, or a fresh Node process; each with a limit of time.
import { fork } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "./server.mjs";
import { usage } from "./usage.mjs";

const PACKAGES = {
  "@huggingface/transformers": "/modules/@huggingface/transformers/dist/transformers.web.js",
  "@wllama/wllama": "/modules/@wllama/wllama/esm/index.js",
  "onnxruntime-web": "/modules/onnxruntime-web/dist/ort.all.min.mjs",
  "onnxruntime-web/webgpu": "/modules/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs",
  "onnxruntime-common": "/modules/onnxruntime-common/dist/esm/index.js",
  wordloom: "/library/index.js",
};

const CHROMIUM_ARGUMENTS = [
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-unsafe-webgpu",
];

function withLimit(work, limitMs) {
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, error: `time limit of ${limitMs / 1000} s` }), limitMs);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

/** `imports`: further packages by name, with the file that each begins with; its folder is served. */
export async function runInPage(row, job, { root, modules, models, library, chromium, isolated, imports, ...host }) {
  const { default: playwright } = await import(
    pathToFileURL(createRequire(path.join(modules, "x.js")).resolve("playwright-core"))
  );
  const mounts = [
    ["/library/", library],
    ...imports.map(([, file], i) => [`/ext/${i}/`, path.dirname(path.resolve(file))]),
  ];
  const added = imports.map(([name, file], i) => [name, `/ext/${i}/${path.basename(file)}`]);
  const importMap = { ...PACKAGES, ...Object.fromEntries(added) };
  const { server, origin } = await serve({ root, modules, models, mounts, isolated, importMap });
  const browser = await playwright.chromium.launch({
    executablePath: chromium,
    headless: true,
    args: CHROMIUM_ARGUMENTS,
  });
  try {
    const page = await browser.newPage();
    page.on("console", (message) => {
      const text = message.text();
      if (text.startsWith("[bench]")) console.log("   ", text.slice(8));
      else if (host.verbose) console.log("    |", text.slice(0, 400));
    });
    page.on("pageerror", (error) => console.log("    page error:", String(error).slice(0, 400)));
    await page.exposeFunction("__usage", () => usage());
    const hidden = row.hideFeatures ? `?hide=${row.hideFeatures.join(",")}` : "";
    await page.goto(`${origin}/page/bench.html${hidden}`);
    await page.waitForFunction(() => globalThis.ready);
    const adapter = await page.evaluate(async () => {
      const found = await navigator.gpu?.requestAdapter();
      return (
        found && {
          name: `${found.info.vendor}/${found.info.architecture}`,
          features: [...found.features],
          subgroupSizes: [found.info.subgroupMinSize, found.info.subgroupMaxSize],
          maxBufferSize: found.limits.maxBufferSize,
        }
      );
    });
    const work = page.evaluate((given) => globalThis.runRow(given), {
      ...job,
      engine: row.engine,
      options: row.options,
    });
    work.catch(() => {}); // past the limit nobody waits for it
    return { ...(await withLimit(work, host.limitMs)), adapter, browser: browser.version() };
  } finally {
    await browser.close().catch(() => {});
    server.closeAllConnections();
    server.close();
  }
}

export async function runInNode(row, job, { root, modules, models, limitMs }) {
  const child = fork(path.join(root, "node-row.mjs"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const work = new Promise((resolve) => {
    child.on("message", ({ progress, result }) => {
      if (progress) console.log("   ", progress);
      else resolve(result);
    });
    child.on("exit", (code) => resolve({ ok: false, error: `process exited with ${code}` }));
    child.send({ job: { ...job, engine: row.engine, options: row.options }, models, modules });
  });
  const result = await withLimit(work, limitMs);
  child.kill("SIGKILL");
  return result;
}
