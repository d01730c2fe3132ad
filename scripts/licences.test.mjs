import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { licenceOf, licencesPlugin, licencesText, packageFolderOf } from "./licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const texts = join(root, "scripts/licence-texts");
const made = [];
afterEach(() => made.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

function packageOf(json, files = {}) {
  const folder = mkdtempSync(join(tmpdir(), "wordloom-licence-"));
  made.push(folder);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "1.0.0", ...json }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test.each([
  ["/a/node_modules/lit/index.js", "/a/node_modules/lit"],
  ["/a/node_modules/@lit/localize/init/runtime.js?x", "/a/node_modules/@lit/localize"],
  ["/a/node_modules/b/node_modules/c/d.js", "/a/node_modules/b/node_modules/c"],
  ["\0/a/node_modules/lit/index.js", "/a/node_modules/lit"],
  ["/a/src/index.ts", undefined],
  ["\0wordloom:outside-tokenizers:x", undefined],
])("%j belongs to %s", (id, folder) => expect(packageFolderOf(id)).toBe(folder));

test("a package is noted where one of its modules is in a file of the build", () => {
  const packages = new Set();
  licencesPlugin(packages).generateBundle(undefined, {
    "a.js": { type: "chunk", modules: { "/a/node_modules/lit/x.js": {}, "/a/src/b.ts": {} } },
    "a.css": { type: "asset" },
  });
  expect([...packages]).toEqual(["/a/node_modules/lit"]);
});

test("a package without a licence's text stops the build, by its name", () => {
  expect(() => licenceOf(packageOf({ name: "bare", license: "MIT" }), texts)).toThrow(
    "bare 1.0.0 (MIT) is in the build",
  );
  expect(() => licenceOf(packageOf({ name: "@mlc-ai/web-xgrammar", license: "GPL" }), texts)).toThrow("no text");
});

test("a package's own texts are taken, and for one that only states its licence the text on file", () => {
  expect(licenceOf(packageOf({ name: "a", license: "MIT" }, { LICENSE: "L\n", "NOTICE.txt": "N" }), texts).text).toBe(
    "L\n\nN",
  );
  expect(licenceOf(packageOf({ name: "@mlc-ai/web-xgrammar", license: "Apache-2.0" }), texts).text).toContain(
    "Apache License",
  );
});

test("the file lists Wordloom, the bundled model and each package once, with its text", () => {
  const folder = packageOf({ name: "some", license: "MIT" }, { LICENSE: "some licence" });
  const text = licencesText(root, [folder, folder], { model: true });
  expect(text).toContain(
    "- Wordloom (MIT)\n- The bundled model, models/wordloom-stories (MIT, as Wordloom)\n- some 1.0.0 (MIT)\n",
  );
  expect(text.split("some licence")).toHaveLength(2);
  expect(licencesText(root, [])).not.toContain("bundled model");
});
