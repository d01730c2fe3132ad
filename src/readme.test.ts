/** The written pages name files; a page that names one that is not there has not kept up with the code. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { expect, test } from "vitest";

const src = import.meta.dirname;
const root = join(src, "..");
const read = (page: string) => readFileSync(join(root, page), "utf8");

const files = ["src", "shaders", "e2e", "scripts", "examples"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/")),
);
const names = new Set(files.map((file) => basename(file)));

/** Source files and folders in code marks; NAME stands for a name of the reader's own, and `*.test.ts` for a kind. */
function pathsIn(text: string): string[] {
  const marked = [...text.matchAll(/`([\w./*-]+)`/g)].map(([, path = ""]) => path);
  return marked.filter((path) => /\.(ts|mjs|wgsl)$|\/$/.test(path) && !path.includes("NAME") && !path.startsWith("*"));
}

/** From the repository, from src/, or a bare name of a file that the sentence places; `*` matches within a name. */
function isThere(path: string): boolean {
  if (!path.includes("*")) return names.has(path) || existsSync(join(root, path)) || existsSync(join(src, path));
  const pattern = new RegExp(`(^|/)${path.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}$`);
  return files.some((file) => pattern.test(file));
}

/** Targets of links and pictures that lie in the repository, from the page's own folder. */
function linksIn(page: string): string[] {
  const targets = [...read(page).matchAll(/\]\(([^)#\s]+)|(?:src|srcset)="([^"]+\.png)"/g)];
  return targets
    .map(([, link, picture]) => link ?? picture ?? "")
    .filter((target) => !/^https?:/.test(target))
    .map((target) => join(dirname(page), target));
}

test("every path that src/README.md names exists", () => {
  const paths = pathsIn(read("src/README.md"));
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
});

test("src/README.md has a line for each folder of src/", () => {
  const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const lines = read("src/README.md").split("\n");
  const described = ({ name }: { name: string }) => lines.some((line) => line.startsWith(`| \`${name}/\``));
  expect(folders.filter((folder) => !described(folder)).map(({ name }) => name)).toEqual([]);
});

test.each(["README.md", "src/README.md", "examples/README.md", "docs/README.md"])(
  "every file that %s links to exists",
  (page) => expect(linksIn(page).filter((target) => !existsSync(join(root, target)))).toEqual([]),
);
