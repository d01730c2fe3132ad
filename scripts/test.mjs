// `npm test`: everything that must hold, in order, up to the first failure. `npm test -- unit gpu` runs only those.
// Only what Node itself has is imported here: in a fresh clone nothing else is there yet.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "./install.mjs";
import { run } from "./run.mjs";
import { addCounts, closingLine, countsOf } from "./test-counts.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const inRoot = (path) => join(root, path);
const module = (path) => inRoot(join("node_modules", path));

const reports = inRoot(".cache/reports");
/** @param {string} project @param {string} [shard] which part of its files, as "1/2" */
const vitest = (project, shard) => {
  const name = shard === undefined ? project : `${project}-${shard.replace("/", "-of-")}`;
  const report = join(reports, `${name}.json`);
  return {
    report,
    log: join(reports, `${name}.log`),
    command: [
      module("vitest/vitest.mjs"),
      ...["run", "--project", project, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
      ...(shard === undefined ? [] : ["--shard", shard]),
    ],
    env: { WORDLOOM_TEST_SHARD: shard === undefined ? undefined : name },
  };
};

/** Each step is one command, or several that run side by side. */
const STEPS = {
  types: [{ command: [module("typescript/bin/tsc"), "--noEmit"] }],
  lint: [{ command: [module("eslint/bin/eslint.js"), ".", "--max-warnings=0"] }],
  format: [{ command: [module("prettier/bin/prettier.cjs"), "--check", "."] }],
  unit: [vitest("unit")],
  // In two browsers: a software GPU makes pipelines, most of the work here, on one thread.
  gpu: [vitest("gpu", "1/2"), vitest("gpu", "2/2")],
  build: [{ command: [inRoot("scripts/build.mjs")] }],
  e2e: [
    {
      report: join(reports, "e2e.json"),
      command: [module("@playwright/test/cli.js"), "test", "--reporter=list,json"],
      env: { PLAYWRIGHT_JSON_OUTPUT_FILE: join(reports, "e2e.json") },
    },
  ],
};
const IN_A_BROWSER = ["gpu", "e2e"];

/** The first command writes to the terminal at once; what the others wrote follows when all have ended. */
async function runSideBySide(commands) {
  const codes = await Promise.all(
    commands.map(async ({ command, env, log }, index) => {
      const { code } = await run(process.execPath, command, { cwd: root, env, log: index === 0 ? undefined : log });
      return code;
    }),
  );
  for (const { log } of commands.slice(1)) process.stdout.write(readFileSync(log, "utf8"));
  return commands.map(({ report }, index) => ({ code: codes[index], counts: countsOf(report, codes[index]) }));
}

async function runSteps(names, results) {
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  await ensureInstalled(root);
  if (names.some((name) => IN_A_BROWSER.includes(name))) {
    const { ensureChromium } = await import("./install-chromium.mjs");
    console.log(`Browser: ${await ensureChromium(root)}`);
  }
  for (const name of names) {
    console.log(`\n── ${name} ──`);
    const start = performance.now();
    const ended = await runSideBySide(STEPS[name]);
    const seconds = (performance.now() - start) / 1000;
    const counts = addCounts(ended.map((one) => one.counts));
    results.push({ name, ok: ended.every(({ code }) => code === 0) && counts.failed === 0, seconds, counts });
    if (!results.at(-1).ok) return;
  }
}

const wanted = process.argv.slice(2);
for (const name of wanted) {
  if (!(name in STEPS)) throw new Error(`no step is called ${name}; there are ${Object.keys(STEPS).join(", ")}`);
}
const names = wanted.length === 0 ? Object.keys(STEPS) : Object.keys(STEPS).filter((name) => wanted.includes(name));

const results = [];
try {
  await runSteps(names, results);
} catch (error) {
  console.error(error.message);
  results.push({ name: "setup", ok: false, seconds: 0, counts: { passed: 0, failed: 1, skipped: 0 } });
}
const failed = results.some((result) => !result.ok);
console.log();
for (const { name, ok, seconds, counts } of results)
  console.log(
    `${ok ? "ok    " : "FAILED"} ${name.padEnd(6)} ${seconds.toFixed(1).padStart(6)} s  ${closingLine(counts)}`,
  );
for (const name of names) if (!results.some((result) => result.name === name)) console.log(`not run ${name}`);
process.exitCode = failed ? 1 : 0;
console.log(`\n${closingLine(addCounts(results.map((result) => result.counts)))}`);
