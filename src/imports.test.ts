import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { importViolations, importsOf, onlyReExports } from "./testing/import-graph";

const src = import.meta.dirname;
const sources = new Map(
  readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => [relative(src, file).split(sep).join("/"), readFileSync(file, "utf8")]),
);

test("every import under src/ goes in an allowed direction, and none in a circle", () => {
  expect(sources.size).toBeGreaterThan(10);
  expect(importViolations(sources)).toEqual([]);
}, 30_000); // every file is parsed

test("index.ts re-exports and does nothing else", () => {
  expect(onlyReExports(sources.get("index.ts") ?? "missing")).toBe(true);
});

describe("the check itself", () => {
  const violations = (files: Record<string, string>) => importViolations(new Map(Object.entries(files)));

  test.each([
    ["ui/a.ts", 'import { b } from "../api/b";'],
    ["ui/word-loom/a.ts", 'import "../../errors";'],
    ["api/a.ts", 'import type { B } from "../engine/b";'],
    ["api/a.ts", 'import { type B, type C } from "../engine/b";'],
    ["api/a.ts", 'type B = import("../tokenizer/b").B;'],
    ["worker/a.ts", 'import W from "./worker.ts?worker&inline";'],
    ["engine/a.ts", 'const b = await import("../backends/gpu/b");'],
    ["formats/a.ts", 'import type { B } from "../storage/b";'],
    ["formats/a.test.ts", 'import { b } from "../ui/b";'],
    ["testing/a.ts", 'import { b } from "../ui/b";'],
    ["models/a.ts", 'import { html } from "lit";'],
  ])("lets %s write %s", (path, text) => expect(violations({ [path]: text })).toEqual([]));

  test.each([
    ["engine/a.ts", 'import { b } from "../ui/b";', "engine may not import from ui"],
    ["engine/a.ts", 'import type { B } from "../api/b";', "engine may not import from api"],
    ["ui/a.ts", 'const b = await import("../engine/b");', "ui may not import from engine"],
    ["ui/a.ts", 'export * from "../worker/b";', "ui may not import from worker"],
    ["api/a.ts", 'import { b } from "../engine/b";', "api may only import types from engine"],
    ["api/a.ts", 'import { type B, c } from "../engine/b";', "api may only import types from engine"],
    ["storage/a.ts", 'import { b } from "../formats/b";', "storage may only import types from formats"],
    ["backends/reference/a.ts", 'import "../gpu/b";', "backends/reference may not import from backends/gpu"],
    ["backends/backend.ts", 'import "../gpu/b";', "backends may not import from gpu"],
    ["models/a.ts", 'import { b } from "../testing/b";', "which is in no layer"],
    ["models/a.ts", 'import b from "../../scripts/b";', "which is in no layer"],
    ["models/a.ts", "const b = await import(name);", "imports (name), which is in no layer"],
    ["other/a.ts", "", "other/a.ts is in no layer"],
  ])("refuses that %s writes %s", (path, text, message) => {
    expect(violations({ [path]: text }).join()).toContain(message);
  });

  test("finds a circle, through types too, and says which", () => {
    const files = {
      "models/a.ts": 'import { b } from "./b";',
      "models/b.ts": 'import { c } from "./c";',
      "models/c.ts": 'import type { B } from "./b";',
    };
    expect(violations(files)).toEqual(["imports go round in a circle: models/b → models/c → models/b"]);
  });

  test("sees imports only where they are code", () => {
    const text = '// import "./a"\nconst s = \'import "./b"\';\nimport("./c");\nimport x, { type Y } from "./d";';
    expect(importsOf(text)).toEqual([
      { specifier: "./c", typeOnly: false },
      { specifier: "./d", typeOnly: false },
    ]);
  });

  test("a statement beside the re-exports is seen", () => {
    expect(onlyReExports('export { a } from "./a";\nexport type { B } from "./b";')).toBe(true);
    expect(onlyReExports('export { a } from "./a";\nexport const b = 1;')).toBe(false);
    expect(onlyReExports('import { a } from "./a";\nexport { a };')).toBe(false);
  });
});
