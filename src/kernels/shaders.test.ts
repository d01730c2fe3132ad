import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const readme = readFileSync(join(root, "shaders/README.md"), "utf8");
const names = (folder: string) => readdirSync(join(root, folder)).filter((name) => name.endsWith(".wgsl"));
const kernels = names("shaders");

/** Cells of a kernel's rows: in the table of formulas, and in that of bindings. */
function rowsOf(kernel: string): { test: string; bindings: string } {
  const rows = readme.split("\n").filter((line) => new RegExp(`^\\| \`${kernel}\` +\\|`).test(line));
  const [formula = [], bindings = []] = rows.map((row) => row.split("|").map((cell) => cell.trim()));
  return { test: (formula[3] ?? "").replaceAll("`", ""), bindings: bindings[2] ?? "" };
}

test.each(kernels)("%s has a row in shaders/README.md, whose wrapper asks for it and whose test names it", (kernel) => {
  const { test } = rowsOf(kernel);
  const name = kernel.replace(".wgsl", "");
  expect(readFileSync(join(root, `src/kernels/${test}.ts`), "utf8")).toContain(`"${name}"`);
  expect(readFileSync(join(root, `src/kernels/${test}.gpu.test.ts`), "utf8")).toContain(name);
});

test.each(names("shaders/lib"))("lib/%s is described in shaders/README.md, and included somewhere", (file) => {
  expect(readme).toContain(`\`lib/${file}\``);
  const stem = file.replace(".wgsl", "").replace(/^(reduce|step|weights|columns)_.*/, "$1_");
  const includes = [
    ...kernels.map((name) => `shaders/${name}`),
    ...names("shaders/lib").map((name) => `shaders/lib/${name}`),
  ];
  expect(includes.some((path) => readFileSync(join(root, path), "utf8").includes(`#include "lib/${stem}`))).toBe(true);
});

test.each(
  [
    ...readme.matchAll(/`((?:lib\/)?\w+\.wgsl)`/g), // a placeholder has <>, which is no \w
  ].map(([, path = ""]) => path),
)("shaders/README.md speaks of %s, which exists", (path) => {
  expect(existsSync(join(root, "shaders", path))).toBe(true);
});

test.each(kernels)("the bindings that shaders/README.md gives %s are those it declares", (kernel) => {
  const declared = new Set<string>();
  const collect = (path: string) => {
    const text = readFileSync(join(root, "shaders", path), "utf8");
    for (const [, number = ""] of text.matchAll(/@binding\((\d+)\)/g)) declared.add(number);
    for (const [, included = ""] of text.matchAll(/#include "([^"]+)"/g)) {
      collect(included.replace("$WEIGHTS", "q8").replace("$STEP", "decode").replace("$REDUCE", "cpu"));
    }
  };
  collect(kernel);
  const described = [...rowsOf(kernel).bindings.matchAll(/(?:^|, |\()(\d+) /g)].map(([, number = ""]) => number);
  expect(described.sort()).toEqual([...declared].sort());
});
