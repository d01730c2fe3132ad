import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { minifyWgsl, plainWorkerUrls, tokenizerOnlyPlugin } from "./vite-plugins";

test("minified WGSL has no comments, indentation or idle blanks, and each statement on its old line", () => {
  const source = [
    "// head: what it does",
    "",
    "fn add(a: f32, /* the /* nested */ other */ b: f32) -> f32 {",
    "  let c = a /* between */+ b; // trailing",
    "    return c;",
    "}",
    "/* over",
    "   lines */",
    "@workgroup_size(64)\t fn main() {}",
  ].join("\n");
  expect(minifyWgsl(source)).toBe(
    "\n\nfn add(a:f32,b:f32) -> f32{\nlet c=a + b;\nreturn c;\n}\n\n\n@workgroup_size(64) fn main(){}",
  );
});

test("what a #rows names is found in the minified file, too", () => {
  const folder = new URL("../shaders/", import.meta.url);
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".wgsl"));
  let count = 0;
  for (const name of names) {
    const text = minifyWgsl(readFileSync(new URL(name, folder), "utf8"));
    const rest = text.replace(/^#rows .*$/gm, "");
    for (const [line] of text.matchAll(/^#rows .*$/gm)) {
      const [from, to] = line.slice("#rows ".length).split(" -> ");
      expect(to, `${name}: ${line}`).toBeTruthy();
      expect(rest.includes(from ?? ""), `${name}: ${line}`).toBe(true);
      count++;
    }
  }
  expect(count).toBeGreaterThan(30);
});

test("a comment between two words leaves them apart", () => {
  expect(minifyWgsl("let/**/x = 1;")).toBe("let x=1;");
  expect(minifyWgsl("return/*\n*/x;")).toBe("return\nx;");
});

test("an import of the whole @xenova/transformers package is refused", () => {
  const { resolveId } = tokenizerOnlyPlugin();
  const resolve = resolveId as (source: string, importer?: string) => unknown;
  expect(() => resolve("@xenova/transformers", "/src/tokenizer/a.ts")).toThrow("src/tokenizers.js");
  expect(resolve("@xenova/transformers/src/tokenizers.js", "/src/tokenizer/a.ts")).toBeUndefined();
});

test("a worker's address is written as bundlers know it, in as many characters", () => {
  const built = "new Worker(new URL(new URL(`worker-Dg_9.js`,import.meta.url).href),{type:`module`})";
  const plain = plainWorkerUrls(built);
  expect(plain.replace(/ +,/, ",")).toBe('new Worker(new URL("./worker-Dg_9.js",import.meta.url),{type:`module`})');
  expect(plain).toHaveLength(built.length);
});
