// What a build must and must not contain; scripts/build.mjs applies it to the written files.
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
