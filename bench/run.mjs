// Runs the rows of engines/index.mjs side by side, round after round, and prints a table for each shape and prompt length.
//
// node run.mjs [--shape tiny,smollm135] [--prompt 128,1024] [--rows id,id | all] [--new 16] [--rounds 3] [--limit 300]
//              [--chromium PATH] [--models DIR] [--modules DIR] [--quiet-wait S --quiet CORES] [--out results/x.json]
//              [--import name=file] [--row JSON] [--logs] [--verbose]
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findChromium } from "../scripts/find-chromium.mjs";
import { tokenTexts } from "./checkpoint/tokenizer.mjs";
import { MORE_ROWS, ROWS } from "./engines/index.mjs";
import { runInNode, runInPage } from "./hosts.mjs";
import { mergeRounds, withAgreement } from "./merge.mjs";
import { makePrompt } from "./prompts.mjs";
import { table } from "./report.mjs";
import { waitQuiet } from "./usage.mjs";

const root = path.dirname(fileURLToPath(import.meta.url));
const { values: given } = parseArgs({
  options: {
    shape: { type: "string", default: "tiny" },
    prompt: { type: "string", default: "128,1024" },
    rows: { type: "string", default: "all" },
    new: { type: "string", default: "16" },
    rounds: { type: "string", default: "3" },
    warm: { type: "string", default: "8" },
    limit: { type: "string", default: "300" },
    modules: { type: "string", default: path.join(root, "node_modules") },
    models: { type: "string", default: path.join(root, "models") },
    chromium: { type: "string" },
    "no-isolation": { type: "boolean", default: false },
    import: { type: "string", multiple: true, default: [] },
    row: { type: "string", multiple: true, default: [] },
    quiet: { type: "string", default: "0.5" },
    "quiet-wait": { type: "string", default: "0" },
    out: { type: "string" },
    verbose: { type: "boolean", default: false },
    logs: { type: "boolean", default: false },
  },
});

function chosenRows() {
  const extra = given.row.map((json) => JSON.parse(json));
  if (given.rows === "all") return [...ROWS, ...extra];
  const wanted = given.rows.split(",");
  const known = [...ROWS, ...MORE_ROWS];
  const unknown = wanted.filter((id) => !known.some((row) => row.id === id));
  if (unknown.length > 0) throw new Error(`no row is called ${unknown.join(", ")}; see engines/index.mjs`);
  return [...known.filter((row) => wanted.includes(row.id)), ...extra];
}

const host = {
  root,
  modules: path.resolve(given.modules),
  models: path.resolve(given.models),
  library: path.join(root, "..", "dist-lib"),
  chromium: given.chromium ?? (await findChromium()),
  isolated: !given["no-isolation"],
  imports: given.import.map((one) => one.split("=")),
  limitMs: Number(given.limit) * 1000,
  verbose: given.verbose,
};

async function measureRow(row, job) {
  const waitedS = Number(given["quiet-wait"]) ? await waitQuiet(Number(given.quiet), Number(given["quiet-wait"])) : 0;
  const start = Date.now();
  let result;
  try {
    result = row.host === "page" ? await runInPage(row, job, host) : await runInNode(row, job, host);
  } catch (error) {
    result = { ok: false, error: String(error?.stack ?? error) };
  }
  if (result.ok && row.backend === "webgpu" && !result.perToken?.dispatches)
    result = { ...result, ok: false, error: "made no WebGPU dispatches: the engine fell back to the CPU" };
  if (!result.ok) console.log("    failed:", String(result.error).slice(0, 600));
  if (given.logs) for (const line of result.logs ?? []) console.log("    ·", line.slice(0, 300));
  return { ...row, ...result, wallS: (Date.now() - start) / 1000, waitedS };
}

/** One table: each round runs every row once, so that what the machine does meanwhile falls on all of them alike. */
async function measureTable(shape, promptTokens) {
  const newTokens = Number(given.new);
  const rounds = Number(given.rounds);
  const texts = tokenTexts(shape.vocab);
  const start = Date.now();
  const rows = chosenRows();
  const runs = rows.map(() => []);
  for (let round = 0; round < rounds; round++) {
    // The whole generations' are the first ones: those that shapes.mjs chose to have no near ties.
    const prompt = (index) => makePrompt(shape, promptTokens, index);
    const prompts = { whole: prompt(round), warm: prompt(100 + round), alone: prompt(200 + round) };
    for (const [index, row] of rows.entries()) {
      console.log(`${shape.name}, ${promptTokens} tokens, round ${round + 1} of ${rounds}: ${row.id}`);
      const job = {
        shape,
        prompts,
        texts,
        newTokens,
        warmTokens: Math.min(Number(given.warm), newTokens),
        contextLength: promptTokens + newTokens,
      };
      const failedBefore = runs[index].some((run) => !run.ok);
      if (!failedBefore) runs[index].push(await measureRow(row, job));
    }
  }
  return {
    shape,
    promptTokens,
    newTokens,
    rounds,
    isolated: host.isolated,
    date: new Date().toISOString(),
    cpu: os.cpus()[0].model,
    cores: os.cpus().length,
    node: process.version,
    seconds: (Date.now() - start) / 1000,
    results: withAgreement(runs.map(mergeRounds)),
  };
}

const tables = [];
for (const name of given.shape.split(",")) {
  const shape = JSON.parse(fs.readFileSync(path.join(host.models, name, "shape.json"), "utf8"));
  for (const promptTokens of given.prompt.split(",").map(Number)) {
    const measured = await measureTable(shape, promptTokens);
    console.log(`\n${table(measured)}\n`);
    tables.push(measured);
  }
}
if (given.out) {
  const kept = (key, value) => (key === "logs" && !given.logs ? undefined : value);
  const text = JSON.stringify(tables, kept, 1)
    .replaceAll(host.models, "models")
    .replaceAll(host.modules, "node_modules")
    .replaceAll(host.root, ".");
  fs.mkdirSync(path.dirname(path.resolve(given.out)), { recursive: true });
  fs.writeFileSync(given.out, text);
  console.log(`wrote ${given.out}`);
}
process.exit(0);
