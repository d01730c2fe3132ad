// LICENSES.txt: the licence of everything that a build ships, from the modules that the bundler put into its files.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Packages that state their licence and do not bring its text; it stands in scripts/licence-texts. */
const STATED_ONLY = { "@mlc-ai/web-xgrammar": "Apache-2.0" };

/**
 * Notes the packages whose code stays in the files that a build, or its worker's, writes.
 *
 * @param {Set<string>} packages their folders; filled while the build runs
 * @returns {import("vite").Plugin}
 */
export function licencesPlugin(packages) {
  return {
    name: "wordloom:licences",
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        for (const id of Object.keys(file.modules)) {
          const folder = packageFolderOf(id);
          if (folder !== undefined) packages.add(folder);
        }
      }
    },
  };
}

/**
 * The folder of the package that a module belongs to; undefined for this project's own, and for what a plugin wrote.
 *
 * @param {string} id of the module, as bundlers name it
 * @returns {string | undefined}
 */
export function packageFolderOf(id) {
  return /^\0?(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id)?.[1];
}

/**
 * @param {string} folder of the package
 * @param {string} texts folder with the texts of licences that packages name only
 * @returns {{ name: string, version: string, license: string, text: string }}
 * @throws Error where the package brings no licence, and none is on file for it
 */
export function licenceOf(folder, texts) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const own = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const stated = STATED_ONLY[name];
  if (own.length > 0) {
    const text = own.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
    return { name, version, license, text };
  }
  if (stated === undefined || stated !== license || !existsSync(join(texts, `${stated}.txt`))) {
    throw new Error(`${name} ${version} (${license}) is in the build, and there is no text of its licence`);
  }
  return { name, version, license, text: readFileSync(join(texts, `${stated}.txt`), "utf8").trim() };
}

/**
 * @param {string} root this project's folder
 * @param {Iterable<string>} folders of the packages
 * @param {{ model?: boolean }} [ships] `model`: the bundled model lies beside the code
 * @returns {string}
 */
export function licencesText(root, folders, { model = false } = {}) {
  const texts = join(root, "scripts/licence-texts");
  const packages = [...new Set(folders)].map((folder) => licenceOf(folder, texts));
  packages.sort((a, b) => (a.name < b.name ? -1 : 1));
  const read = (path) => readFileSync(join(root, path), "utf8").trim();
  const parts = [
    ["Wordloom (MIT)", read("LICENSE")],
    ...(model
      ? [
          [
            "The bundled model, models/wordloom-stories (MIT, as Wordloom)",
            read("public/models/wordloom-stories/README.md"),
          ],
        ]
      : []),
    ...packages.map(({ name, version, license, text }) => [`${name} ${version} (${license})`, text]),
  ];
  const head = `What is in these files, and under which licence:\n\n${parts.map(([title]) => `- ${title}`).join("\n")}`;
  return `${[head, ...parts.map(([title, text]) => `${title}\n\n${text}`)].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
