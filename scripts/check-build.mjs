// What a build must and must not contain; scripts/build.mjs applies it to the written files.
import { basename } from "node:path";
import { gzipSync } from "node:zlib";

const FORBIDDEN = [
  ["eval", /(?<![\w$.])eval\s*\(/],
  ["new Function", /\bnew\s+Function\b/],
  ["WebAssembly", /\bWebAssembly\b/],
];

/**
 * Names of what a page under `script-src 'self'` would refuse, or the kernels are meant to do without.
 *
 * @param {string} javascript
 * @returns {string[]}
 */
export function forbiddenIn(javascript) {
  return FORBIDDEN.filter(([, pattern]) => pattern.test(javascript)).map(([name]) => name);
}

/**
 * Whether a file is the one for structured output: the only one with WebAssembly, and loaded when a constraint is given.
 *
 * @param {string} file
 * @returns {boolean}
 */
export function isOnDemand(file) {
  return isChunk(file, "constrain");
}

/**
 * Whether a file is the chunk of that name, which the bundler ends with a hash.
 *
 * @param {string} file
 * @param {string} name
 * @returns {boolean}
 */
export function isChunk(file, name) {
  return new RegExp(`(^|[\\\\/])${name}-[\\w-]{8}\\.js$`).test(file);
}

/**
 * What a built module loads before it runs; not what it loads later by `import()`.
 *
 * @param {string} javascript
 * @returns {string[]}
 */
export function staticImportsOf(javascript) {
  const statements = javascript.matchAll(/\b(?:import|from)\s*(["'])(\.{1,2}\/[^"'\n]+)\1/g);
  return [...statements].map(([, , path]) => path);
}

/**
 * Files that a built module names in any way, to load them now or later: an import, a worker's address.
 *
 * @param {string} javascript
 * @returns {string[]}
 */
export function namesIn(javascript) {
  return [...javascript.matchAll(/[\w.-]+\.js\b/g)].map(([name]) => name);
}

/**
 * The files that some lead to, themselves included.
 *
 * @template {{ file: string, text: string }} Written
 * @param {Written[]} from
 * @param {Written[]} among no others are followed
 * @param {(text: string) => string[]} namesOf paths or names of what a text leads to
 * @returns {Written[]} those of `among`
 */
export function reachable(from, among, namesOf) {
  const found = new Set(from);
  for (const { text } of found) {
    const names = new Set(namesOf(text).map((name) => basename(name)));
    for (const one of among) if (names.has(basename(one.file))) found.add(one);
  }
  return among.filter((one) => found.has(one));
}

/** @param {string} text @returns {number} its size as servers send it */
export function gzippedBytes(text) {
  return gzipSync(text, { level: 9 }).length;
}

/**
 * @param {{ name: string, bytes: number, gzipped: number }[]} rows
 * @param {number} [limitKb] of the gzipped total
 * @returns {string}
 */
export function sizeTable(rows, limitKb) {
  const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
  const total = {
    name: limitKb === undefined ? "together" : `together (limit ${limitKb} kB gzip)`,
    bytes: rows.reduce((sum, row) => sum + row.bytes, 0),
    gzipped: rows.reduce((sum, row) => sum + row.gzipped, 0),
  };
  const all = [...rows, total];
  const width = Math.max(...all.map((row) => row.name.length));
  return all
    .map((row) => `${row.name.padEnd(width)} ${kb(row.bytes).padStart(10)} ${kb(row.gzipped).padStart(10)} gzip`)
    .join("\n");
}

/**
 * A declaration file with `.js` on its relative imports, which programs compiled with `moduleResolution: node16` need.
 *
 * @param {string} declarations
 * @returns {string}
 */
export function withExtensions(declarations) {
  return declarations.replace(
    /(\bfrom\s*|\bimport\s*\(?\s*)(["'])(\.{1,2}\/[^"']+?)(?:\.ts|\.js)?\2/g,
    (_, before, quote, path) => `${before}${quote}${path}.js${quote}`,
  );
}
