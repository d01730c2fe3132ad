/**
 * Who may import whom under src/, and what a set of source files does against it. See src/README.md for the drawing.
 */
import ts from "typescript";

export interface Import {
  /** As written: "../errors". */
  specifier: string;
  /** Erased when compiled: `import type`, `import("…")` in a type, or every name marked `type`. */
  typeOnly: boolean;
}

interface Rule {
  /** Layers whose values and types may be imported. */
  values: readonly string[];
  /** Layers of which only types may be imported. */
  types: readonly string[];
}

const rule = (values: string, types = ""): Rule => ({
  values: values.split(" ").filter(Boolean),
  types: types.split(" ").filter(Boolean),
});

/**
 * A layer is a folder of src/, or a file directly in it; its own files, `errors` and `own-module` are always allowed.
 * ui → api → worker → engine → backends → models, and backends/gpu → kernels → gpu.
 */
export const LAYERS: Readonly<Record<string, Rule>> = {
  //                            values and types                                     types only
  index: /*               */ rule(
    "api",
    /*                                       */ "engine tokenizer storage chat remote",
  ),
  element: /*             */ rule("ui"),
  adapters: /*            */ rule("api chat", /*                                  */ "engine tokenizer"),
  ui: /*                  */ rule("api"),
  api: /*                 */ rule("worker remote storage chat", /*                */ "engine tokenizer structured"),
  remote: /*              */ rule("storage chat", /*                              */ "engine tokenizer"),
  worker: /*              */ rule("engine", /*                                    */ "tokenizer storage"),
  engine: /*              */ rule(
    "backends backends/gpu backends/reference models formats tokenizer storage chat structured",
  ),
  "backends/gpu": /*      */ rule("backends models kernels gpu formats"),
  "backends/reference": /**/ rule("backends models"),
  backends: /*            */ rule("models", /*                                      */ "formats"),
  kernels: /*             */ rule("gpu", /*                                         */ "models formats"),
  models: /*              */ rule(""),
  gpu: /*                 */ rule(""),
  formats: /*             */ rule("", /*                                          */ "tokenizer storage"),
  tokenizer: /*           */ rule("", /*                                          */ "formats storage"),
  chat: /*                */ rule("", /*                                          */ "tokenizer"),
  structured: /*          */ rule("", /*                                          */ "tokenizer"),
  storage: /*             */ rule("", /*                                          */ "formats tokenizer"),
  errors: /*              */ rule(""),
  "own-module": /*        */ rule(""),
};
const EVERYWHERE = ["errors", "own-module"];

/** Whether a path under src/ is a test or serves tests; those may import anything. */
export function isExempt(path: string): boolean {
  return path.startsWith("testing/") || /\.test\.ts$/.test(path);
}

/**
 * The layer of a path under src/, without extension; undefined for a file that no layer holds.
 *
 * @param path "backends/gpu/program"
 */
export function layerOf(path: string): string | undefined {
  const parts = path.split("/");
  for (let length = Math.min(2, parts.length); length > 0; length--) {
    const name = parts.slice(0, length).join("/");
    if (Object.hasOwn(LAYERS, name)) return name;
  }
  return undefined;
}

function onlyTypes(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(node)) {
    const names = node.exportClause && ts.isNamedExports(node.exportClause) ? node.exportClause.elements : [];
    return node.isTypeOnly || (names.length > 0 && names.every((name) => name.isTypeOnly));
  }
  const clause = node.importClause;
  if (clause === undefined) return false; // import "./x": for its effect
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const names = clause.namedBindings && ts.isNamedImports(clause.namedBindings) ? clause.namedBindings.elements : [];
  return clause.name === undefined && names.length > 0 && names.every((name) => name.isTypeOnly);
}

/** Every module a source text names: static and dynamic imports, re-exports, and imports inside types. */
export function importsOf(text: string): Import[] {
  const imports: Import[] = [];
  const file = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest);
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      if (ts.isStringLiteral(node.moduleSpecifier))
        imports.push({ specifier: node.moduleSpecifier.text, typeOnly: onlyTypes(node) });
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [target] = node.arguments;
      // A computed target cannot be checked, so it is reported under its own text.
      if (target)
        imports.push({
          specifier: ts.isStringLiteralLike(target)
            ? target.text
            : `(${text.slice(target.getStart(file), target.end)})`,
          typeOnly: false,
        });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      if (ts.isStringLiteral(node.argument.literal))
        imports.push({ specifier: node.argument.literal.text, typeOnly: true });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return imports;
}

const withoutExtension = (path: string) => path.replace(/(\.d)?\.ts$/, "");

/** "ui/word-loom/a" and "../../api/b" → "api/b"; undefined where it leads out of src/. */
function resolve(from: string, specifier: string): string | undefined {
  const parts = from.split("/").slice(0, -1);
  for (const part of withoutExtension(specifier.replace(/\?.*$/, "")).split("/")) {
    if (part === "..") {
      if (parts.pop() === undefined) return undefined;
    } else if (part !== ".") {
      parts.push(part);
    }
  }
  return parts.join("/");
}

/** One circle of files, if there is any: ["a", "b", "a"]. */
function findCircle(edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const finished = new Set<string>();
  const walk = (file: string, path: readonly string[]): string[] | undefined => {
    const at = path.indexOf(file);
    if (at >= 0) return [...path.slice(at), file];
    if (finished.has(file)) return undefined;
    for (const next of edges.get(file) ?? []) {
      const circle = walk(next, [...path, file]);
      if (circle) return circle;
    }
    finished.add(file);
    return undefined;
  };
  for (const file of edges.keys()) {
    const circle = walk(file, []);
    if (circle) return circle;
  }
  return undefined;
}

/**
 * What the files do against the table, one sentence each; empty when all is well.
 *
 * @param files source text by path under src/ ("ui/word-loom/word-loom.ts"); tests may be among them
 */
export function importViolations(files: ReadonlyMap<string, string>): string[] {
  const violations: string[] = [];
  const edges = new Map<string, string[]>();
  for (const [path, text] of files) {
    if (isExempt(path)) continue;
    const from = layerOf(withoutExtension(path));
    if (from === undefined) {
      violations.push(`${path} is in no layer`);
      continue;
    }
    const targets: string[] = [];
    edges.set(withoutExtension(path), targets);
    for (const { specifier, typeOnly } of importsOf(text)) {
      if (/^[\w@]/.test(specifier)) continue; // a package
      const target = specifier.startsWith(".") ? resolve(path, specifier) : undefined;
      const to = target === undefined ? undefined : layerOf(target);
      if (target === undefined || to === undefined) {
        violations.push(`${path} imports ${specifier}, which is in no layer`);
        continue;
      }
      targets.push(target);
      const { values, types } = LAYERS[from] ?? rule("");
      if (to === from || EVERYWHERE.includes(to) || values.includes(to) || (typeOnly && types.includes(to))) continue;
      const what = types.includes(to) ? "may only import types from" : "may not import from";
      violations.push(`${path} imports ${specifier}: ${from} ${what} ${to}`);
    }
  }
  const circle = findCircle(edges);
  if (circle) violations.push(`imports go round in a circle: ${circle.join(" → ")}`);
  return violations;
}

/** Whether a source text holds re-exports and nothing else. */
export function onlyReExports(text: string): boolean {
  const { statements } = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest, true);
  return statements.every((statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined);
}
