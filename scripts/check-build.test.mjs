import { expect, test } from "vitest";
import { forbiddenIn, sizeTable, withExtensions } from "./check-build.mjs";

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
