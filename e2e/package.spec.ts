/** What npm would publish. Needs no browser, but both builds. */
import { expect, test } from "@playwright/test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { build, type Rolldown } from "vite";
import { installPacked, installedFile, projectFolder, runInNode } from "./packed";

const ENTRIES = ["index", "element", "openai", "prompt-api", "ai", "word-loom"];

test("publint finds nothing to say of the package", async () => {
  const { tarball } = await installPacked();
  const bytes = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
  });
  expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([]);
});

test("the types of each entry point are found, by Node's rules and by bundlers'", async () => {
  const { tarball } = await installPacked();
  const attw = installedFile("@arethetypeswrong/cli/dist/index.js");
  const said = await runInNode(attw, [tarball, "--profile", "esm-only", "--no-color"], process.cwd());
  expect(said).toContain('"wordloom/prompt-api"');
  expect(said).not.toContain("❌");
});

test("the package holds the built files with their maps and declarations, and nothing else", async () => {
  const { files } = await installPacked();
  const kinds = [
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|dist-lib\/LICENSES\.txt)$/,
    new RegExp(`^dist-lib/(${ENTRIES.join("|")})\\.js(\\.map)?$`),
    /^dist-lib\/chunks\/[\w.-]+\.js(\.map)?$/,
    /^dist-lib\/types\/(?!testing\/)[\w/.-]+(?<!\.test)\.d\.ts$/,
  ];
  expect(files.filter((file) => !kinds.some((kind) => kind.test(file)))).toEqual([]);
  expect(files.filter((file) => kinds[0]?.test(file))).toHaveLength(5);
  for (const entry of ENTRIES) expect(files).toContain(`dist-lib/${entry}.js`);
  const scripts = files.filter((file) => file.endsWith(".js"));
  expect(scripts.map((file) => `${file}.map`).filter((map) => !files.includes(map))).toEqual([]);
});

test("a source map leads from the one file to the line it was made of", () => {
  const map = JSON.parse(
    readFileSync(join(projectFolder, "node_modules/wordloom/dist-lib/word-loom.js.map"), "utf8"),
  ) as {
    sources: string[];
    sourcesContent: string[];
  };
  const at = map.sources.findIndex((source) => source.endsWith("src/ui/word-loom/word-loom.ts"));
  expect(map.sourcesContent[at]).toContain('@customElement("word-loom")');
});

test("a program that imports every entry point has types, without skipLibCheck", async () => {
  await installPacked();
  writeFileSync(join(projectFolder, "program.ts"), PROGRAM);
  const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom,dom.iterable,dom.asynciterable"];
  const rules = ["--module", "nodenext", "--skipLibCheck", "false", "--ignoreConfig"];
  await runInNode(installedFile("typescript/bin/tsc"), [...options, ...rules, "program.ts"], projectFolder);
});

test("WordloomError alone is a few kilobytes: no engine, no kernels, no Lit", async () => {
  const code = await bundled('export { WordloomError } from "wordloom";');
  expect(code).toContain("WordloomError");
  expect(code.length).toBeLessThan(8000);
  expect(code).not.toMatch(/@compute|requestDevice|LitElement|import\(|new Worker/);
});

test("the fetch for the openai package brings no element, and the element registers itself", async () => {
  expect(await bundled('export * from "wordloom/openai";')).not.toContain("customElements");
  expect(await bundled('import "wordloom/element";')).toMatch(/customElements\.define|"word-loom"|`word-loom`/);
});

const PROGRAM = `
import { TextGenerator, WordloomError, type GenerationEnd } from "wordloom";
import { WordLoom, type WordLoomEventMap } from "wordloom/element";
import { createOpenAIFetch } from "wordloom/openai";
import * as promptApi from "wordloom/prompt-api";
import * as ai from "wordloom/ai";
import "wordloom/word-loom.js";

const loom: WordLoom = document.createElement("word-loom");
loom.addEventListener("generation-end", (event: WordLoomEventMap["generation-end"]) => {
  const end: GenerationEnd = event.detail;
  console.log(end.finishReason satisfies string);
});
// @ts-expect-error -- no device is a number
await TextGenerator.load("model", { device: 1 });
console.log(WordloomError, createOpenAIFetch, promptApi, ai);
`;

/** The modules that a program's bundle loads at once, as text. */
async function bundled(program: string): Promise<string> {
  await installPacked();
  const entry = join(projectFolder, "entry.js");
  writeFileSync(entry, program);
  const result = (await build({
    root: projectFolder,
    configFile: false,
    logLevel: "error",
    worker: { format: "es" },
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input: entry, preserveEntrySignatures: "strict" },
    },
  })) as Rolldown.RolldownOutput;
  const chunks = new Map(result.output.map((file) => [file.fileName, file]));
  const wanted = result.output.filter((file) => file.type === "chunk" && file.isEntry).map((file) => file.fileName);
  const code: string[] = [];
  for (const name of wanted) {
    const file = chunks.get(name);
    if (file?.type !== "chunk") continue;
    code.push(file.code);
    for (const needed of file.imports) if (!wanted.includes(needed)) wanted.push(needed);
  }
  return code.join("\n");
}
