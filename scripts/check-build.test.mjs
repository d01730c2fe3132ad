import { expect, test } from "vitest";
import {
  forbiddenIn,
  isOnDemand,
  namesIn,
  reachable,
  sizeTable,
  staticImportsOf,
  withExtensions,
} from "./check-build.mjs";

test.each([
  ["eval(code)", ["eval"]],
  ["x=eval (code)", ["eval"]],
  ["new Function('a', 'return a')", ["new Function"]],
  ["WebAssembly.instantiate(bytes)", ["WebAssembly"]],
  ["eval(new Function)", ["eval", "new Function"]],
  ["medieval(1);this.eval(2);a.isFunction(b);function Function_(){}", []],
])("%s uses %j", (javascript, names) => expect(forbiddenIn(javascript)).toEqual(names));

test("the size table ends with the sum and the limit", () => {
  const table = sizeTable(
    [
      { name: "a.js", bytes: 1000, gzipped: 400 },
      { name: "b.js", bytes: 2500, gzipped: 600 },
    ],
    150,
  );
  expect(table.split("\n").at(-1)).toMatch(/^together \(limit 150 kB gzip\) +3\.5 kB +1\.0 kB gzip$/);
});

test.each([
  ['export { A } from "./api/a";', 'export { A } from "./api/a.js";'],
  ['import type { A } from "../a.ts";', 'import type { A } from "../a.js";'],
  ['let a: import("./a").A;', 'let a: import("./a.js").A;'],
  ['import { LitElement } from "lit";', 'import { LitElement } from "lit";'],
])("the declaration %s becomes %s", (before, after) => expect(withExtensions(before)).toBe(after));

test("what a module loads at once is told from what it loads on demand", () => {
  const built =
    'import{a as e}from"./chunks/a-1.js";import"./b.js";export{c}from"../c.js";const d=()=>import("./d.js");';
  expect(staticImportsOf(built)).toEqual(["./chunks/a-1.js", "./b.js", "../c.js"]);
});

test("structured output is the file for which a page waits until it asks", () => {
  expect(["./constrain-BvHzNbTa.js", "dist/assets/constrain-CrURm4Db.js"].every(isOnDemand)).toBe(true);
  expect(["./constraint-option-CrURm4Db.js", "./unconstrain-CrURm4Db.js", "./constrain.js"].some(isOnDemand)).toBe(
    false,
  );
});

test("what a file leads to is followed through other files, but not through those that are left out", () => {
  const files = [
    { file: "dist/a-1.js", text: 'import"./b-1.js";new Worker(new URL("w-1.js",import.meta.url))' },
    { file: "dist/b-1.js", text: 'import("./c-1.js")' },
    { file: "dist/w-1.js", text: "" },
    { file: "dist/d-1.js", text: 'import"./a-1.js"' },
  ];
  const c = { file: "dist/c-1.js", text: 'import"./d-1.js"' };
  const found = (among, namesOf) => reachable(files.slice(0, 1), among, namesOf).map(({ file }) => file.slice(5, 6));
  expect(found([...files, c], namesIn)).toEqual(["a", "b", "w", "d", "c"]);
  expect(found(files, namesIn)).toEqual(["a", "b", "w"]);
  expect(found([...files, c], staticImportsOf)).toEqual(["a", "b"]);
});
