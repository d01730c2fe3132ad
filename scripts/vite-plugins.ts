import type { Plugin } from "vite";

/**
 * WGSL as it ships: without comments, indentation and most idle blanks. Each line stays on its line, so that a compiler's message from
 * somebody's browser still points into the file under shaders/; empty lines cost next to nothing once compressed.
 */
export function minifyWgsl(source: string): string {
  let text = "";
  let depth = 0; // WGSL's block comments nest
  for (let i = 0; i < source.length; i++) {
    const two = source.slice(i, i + 2);
    if (two === "/*") {
      depth += 1;
      i += 1;
    } else if (depth > 0 && two === "*/") {
      depth -= 1;
      i += 1;
      if (depth === 0) text += " ";
    } else if (depth === 0 && two === "//") {
      while (i + 1 < source.length && source[i + 1] !== "\n") i += 1;
    } else if (depth === 0 || source[i] === "\n") {
      text += source[i] ?? "";
    }
  }
  // A `#rows FROM -> TO` names texts of the file: both sides are squeezed as the file is.
  const squeeze = (part: string) =>
    part
      .trim()
      .replace(/\s+/g, " ")
      .replace(/([,:;]) | (=) | ({)/g, "$1$2$3");
  return text
    .split("\n")
    .map((line) => line.split(" -> ").map(squeeze).join(" -> "))
    .join("\n");
}

/** Minifies `*.wgsl?raw` at build; tests and the development server see the files as written, line for line. */
export function wgslPlugin(): Plugin {
  return {
    name: "wordloom:wgsl",
    apply: "build",
    enforce: "pre",
    async load(id) {
      const [file, query] = id.split("?");
      if (!file?.endsWith(".wgsl") || query !== "raw") return undefined;
      const { readFile } = await import("node:fs/promises");
      this.addWatchFile(file);
      return `export default ${JSON.stringify(minifyWgsl(await readFile(file, "utf8")))};`;
    },
  };
}

const TOKENIZER_ENTRY = "@xenova/transformers/src/tokenizers.js";
const OUTSIDE_TOKENIZERS = "\0wordloom:outside-tokenizers:";

/** The module tokenizers.js asks for → the names it imports from it. */
const REPLACED = new Map([
  ["./utils/hub.js", "getModelJSON"], // downloads
  ["./utils/tensor.js", "Tensor"], // the ONNX runtime
  ["@huggingface/jinja", "Template"], // chat templates; Wordloom renders them itself, with a newer version
]);

/**
 * Of `@xenova/transformers` only `src/tokenizers.js` is used, on JSON that is already in memory. Its imports that lead
 * elsewhere are replaced by names that throw when used, so neither the ONNX runtime nor a file system reaches the bundle.
 * Any other entry of the package is refused.
 */
export function tokenizerOnlyPlugin(): Plugin {
  return {
    name: "wordloom:tokenizer-only",
    enforce: "pre",
    resolveId(source, importer) {
      if (/\/@xenova\/transformers\/src\/tokenizers\.js(\?|$)/.test(importer ?? "") && REPLACED.has(source))
        return OUTSIDE_TOKENIZERS + source;
      if (source.startsWith("@xenova/transformers") && source !== TOKENIZER_ENTRY)
        throw new Error(`import ${TOKENIZER_ENTRY}, not ${source}: only the tokenizers of the package are used`);
      return undefined;
    },
    load(id) {
      if (!id.startsWith(OUTSIDE_TOKENIZERS)) return undefined;
      const name = REPLACED.get(id.slice(OUTSIDE_TOKENIZERS.length)) ?? "";
      return `export function ${name}() { throw new Error("${name} of @xenova/transformers is left out of Wordloom"); }`;
    },
  };
}

const WORKER_URL = 'new URL("./worker.ts", import.meta.url)';

/**
 * `new Worker(new URL("./worker.js", import.meta.url))` as bundlers know it, who then take the worker's own imports along:
 * the build writes a URL of a URL. Blanks keep the length, and so the places that the source map names.
 */
export function plainWorkerUrls(code: string): string {
  return code.replace(
    /\bnew URL\(new URL\(([`"'])(?:\.\/)?([\w./-]+)\1,\s*import\.meta\.url\)\.href\)/g,
    (whole, _, path: string) => `new URL("./${path}",import.meta.url)`.padEnd(whole.length),
  );
}

/**
 * Builds the worker as one more entry of the page's own build, so that the engine, which the page also holds in case no
 * worker can be had, is written and downloaded once. (Vite would bundle all of it a second time, for the worker alone.)
 */
export function sharedWorkerPlugin(): Plugin {
  return {
    name: "wordloom:shared-worker",
    apply: "build",
    enforce: "pre",
    async transform(code, id) {
      if (!id.endsWith("/src/worker/start-worker.ts")) return undefined;
      if (!code.includes(WORKER_URL)) throw new Error(`start-worker.ts no longer says ${WORKER_URL}`);
      const worker = await this.resolve("./worker.ts", id);
      if (!worker) throw new Error("src/worker/worker.ts is missing");
      const reference = this.emitFile({ type: "chunk", id: worker.id, name: "worker" });
      return { code: code.replace(WORKER_URL, `new URL(import.meta.ROLLUP_FILE_URL_${reference})`), map: null };
    },
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) if (file.type === "chunk") file.code = plainWorkerUrls(file.code);
    },
  };
}

const XGRAMMAR_ENTRY = /\/@mlc-ai\/web-xgrammar\/lib\/index\.js(\?|$)/;

/**
 * Of `@mlc-ai/web-xgrammar` only the WebAssembly module is used, made as often as it is needed: the package's own wrapper
 * makes it once, for good, and is written for other module systems. What is for Node alone goes, too: the code is in the
 * file, so there is nothing to read.
 */
export function xgrammarPlugin(): Plugin {
  return {
    name: "wordloom:xgrammar",
    enforce: "pre",
    transform(code, id) {
      return XGRAMMAR_ENTRY.test(id) ? { code: xgrammarModule(code), map: null } : undefined;
    },
  };
}

/** @throws where the package is not as 0.1.27 */
export function xgrammarModule(code: string): string {
  const cut = (text: string, from: string, to: string): [before: string, within: string, after: string] => {
    const start = text.indexOf(from);
    const end = text.indexOf(to, start + from.length);
    if (start === -1 || end === -1) throw new Error(`@mlc-ai/web-xgrammar has no ${from} … ${to}`);
    return [text.slice(0, start), text.slice(start + from.length, end), text.slice(end + to.length)];
  };
  const [, module] = cut(code, "var Module = (() => {", "\n  })();");
  const [beforeScript, , afterScript] = cut(module, "var _scriptDir = ", ";\n");
  const [beforeNode, , afterNode] = cut(
    `${beforeScript}var _scriptDir = "";\n${afterScript}`,
    "var ENVIRONMENT_IS_NODE=",
    ";",
  );
  const [beforeImport, , afterImport] = cut(
    `${beforeNode}var ENVIRONMENT_IS_NODE=false;${afterNode}`,
    "if(ENVIRONMENT_IS_NODE){const{createRequire",
    "}else if(",
  );
  const [beforeWasm, wasm, afterWasm] = cut(
    `${beforeImport}if(${afterImport}`,
    'wasmBinaryFile="data:application/octet-stream;base64,',
    '";',
  );
  return [
    `export const wasmBase64 = "${wasm}";`,
    `export const createModule = (() => {${beforeWasm}wasmBinaryFile="data:,";${afterWasm}`,
    "})();",
  ].join("\n");
}
