/**
 * Puts a WGSL module together from the files under shaders/.
 *
 * Directives, each on a line of its own:
 *   #include "lib/half.wgsl"             once per module; $NAME in the path is replaced from `defines`
 *   #if NAME / #if NAME == value         value compared as text; NAME alone: defined and not "" or "false"
 *   #else / #endif
 *   #rows FROM -> TO                     where ROWS is defined, FROM reads TO from here to the file's end; else nothing
 *   #each r NAME / #endeach              the lines between, as often as NAME says, $r being 0, 1, …; they do not nest
 * Numbers come in front as `const NAME: u32 = …;` (or f32), so that each shape is compiled for itself.
 */
import { WordloomError } from "../errors";

export interface WgslOptions {
  defines?: Readonly<Record<string, string | boolean>>;
  constants?: Readonly<Record<string, WgslConstant>>;
}

/** A u32, or an f32 made by `f32()`. */
export type WgslConstant = number | { readonly f32: number };
export const f32 = (value: number): WgslConstant => ({ f32: value });

export interface WgslModule {
  code: string;
  /** For each line of `code` (0-based): where it came from. */
  origins: readonly { file: string; line: number }[];
}

export function assembleWgsl(
  entry: string,
  files: ReadonlyMap<string, string>,
  { defines = {}, constants = {} }: WgslOptions = {},
): WgslModule {
  const lines: string[] = [];
  const origins: { file: string; line: number }[] = [];
  const included = new Set<string>();
  const emit = (text: string, file: string, line: number) => {
    lines.push(text);
    origins.push({ file, line });
  };

  const insert = (file: string, from: string) => {
    if (included.has(file)) return;
    included.add(file);
    const text = files.get(file);
    if (text === undefined) throw new WordloomError("internal", `shaders/${file} does not exist (wanted by ${from})`);
    const open: { here: boolean }[] = []; // nested #if: is this branch taken?
    const active = () => open.every(({ here }) => here);
    const readings: { from: RegExp; to: string }[] = [];
    for (const { line, index } of repeated(text.split("\n"), file, defines)) {
      const at = `shaders/${file}:${index + 1}`;
      const directive = /^\s*#(\w+)\s*(.*?)\s*$/.exec(line);
      if (directive === null) {
        if (active())
          emit(
            readings.reduce((text, { from, to }) => text.replace(from, to), line),
            file,
            index + 1,
          );
        continue;
      }
      const [, word = "", rest = ""] = directive;
      if (word === "include") {
        if (!active()) continue;
        const path = rest.replace(/^"|"$/g, "").replace(/\$(\w+)/g, (_, name: string) => define(defines, name, at));
        insert(path, at);
      } else if (word === "if") {
        const [name = "", value] = rest.split(/\s*==\s*/);
        open.push({ here: value === undefined ? isSet(defines[name]) : String(defines[name]) === value });
      } else if (word === "else") {
        const last = open.at(-1);
        if (last === undefined) throw new WordloomError("internal", `${at}: #else without #if`);
        last.here = !last.here;
      } else if (word === "endif") {
        if (open.pop() === undefined) throw new WordloomError("internal", `${at}: #endif without #if`);
      } else if (word === "rows") {
        const reading = readingOf(rest, at);
        if (!text.split("\n").some((line) => !line.includes("#rows") && line.search(reading.from) >= 0)) {
          throw new WordloomError("internal", `${at}: nothing in this file is what #rows replaces`);
        }
        if (active() && isSet(defines.ROWS)) readings.push(reading);
      } else {
        throw new WordloomError("internal", `${at}: unknown directive #${word}`);
      }
    }
    if (open.length > 0) throw new WordloomError("internal", `shaders/${file}: #if without #endif`);
  };

  // Directives of the language (`enable`, `diagnostic`) must precede every declaration, the constants included.
  const directives = [
    ...(defines.F16 === true ? ["enable f16;"] : []),
    // Rows are dealt out per subgroup, so branches are uniform in a subgroup; the analysis cannot see that everywhere.
    ...(defines.REDUCE === "subgroups" || defines.QUADS === true
      ? ["enable subgroups;", "diagnostic(off, subgroup_uniformity);"]
      : []),
  ];
  for (const text of directives) emit(text, entry, 0);
  for (const [name, value] of Object.entries(constants)) {
    emit(
      typeof value === "number" ? `const ${name}: u32 = ${value}u;` : `const ${name}: f32 = ${f32Literal(value.f32)};`,
      entry,
      0,
    );
  }
  insert(entry, "a kernel");
  return { code: lines.join("\n"), origins };
}

const isSet = (value: string | boolean | undefined) => value !== undefined && value !== false && value !== "";

/** "FROM -> TO": FROM as a word of its own, or the end of one that a bracket or a parenthesis closes. */
function readingOf(rest: string, at: string): { from: RegExp; to: string } {
  const [from, to, ...more] = rest.split(" -> ");
  if (!from || !to || more.length > 0) throw new WordloomError("internal", `${at}: #rows wants FROM -> TO`);
  const literal = from.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return { from: new RegExp(`(?<![\\w.])${literal}`, "g"), to: to.replaceAll("$", "$$$$") };
}

/** The lines with those of each #each as often as it says. */
function repeated(
  lines: readonly string[],
  file: string,
  defines: Readonly<Record<string, string | boolean>>,
): { line: string; index: number }[] {
  const all: { line: string; index: number }[] = [];
  let block: { name: string; count: number; body: { line: string; index: number }[] } | undefined;
  for (const [index, line] of lines.entries()) {
    const at = `shaders/${file}:${index + 1}`;
    const [, word, name = "", times = ""] = /^\s*#(each|endeach)\b\s*(\w*)\s*(\w*)\s*$/.exec(line) ?? [];
    if (word === "each") {
      if (block) throw new WordloomError("internal", `${at}: #each inside #each`);
      const count = Number(define(defines, times, at));
      if (!Number.isInteger(count) || count < 1) throw new WordloomError("internal", `${at}: ${times} is no count`);
      block = { name, count, body: [] };
    } else if (word === "endeach") {
      if (!block) throw new WordloomError("internal", `${at}: #endeach without #each`);
      for (let turn = 0; turn < block.count; turn++) {
        const marked = new RegExp(`\\$${block.name}\\b`, "g");
        all.push(...block.body.map((each) => ({ ...each, line: each.line.replace(marked, String(turn)) })));
      }
      block = undefined;
    } else {
      (block?.body ?? all).push({ line, index });
    }
  }
  if (block) throw new WordloomError("internal", `shaders/${file}: #each without #endeach`);
  return all;
}

function define(defines: Readonly<Record<string, string | boolean>>, name: string, at: string): string {
  const value = defines[name];
  if (value === undefined) throw new WordloomError("internal", `${at}: ${name} is not defined`);
  return String(value);
}

/** WGSL has no literal for a number such as 1e-45 that f32 flushes to zero, hence Math.fround first. */
function f32Literal(value: number): string {
  const rounded = Math.fround(value);
  if (!Number.isFinite(rounded)) throw new WordloomError("internal", `${value} is not a finite f32`);
  const text = String(rounded);
  // Without a point it would be an integer, and those end at 2^63.
  return `f32(${/[.e]/.test(text) ? text : `${text}.0`})`;
}

/** A compiler's messages, each with the file and line it is about: "shaders/gemv.wgsl:12:5 error: …". */
export function explainMessages(module: WgslModule, messages: readonly GPUCompilationMessage[]): string {
  return messages
    .map((message) => {
      const origin = module.origins[message.lineNum - 1];
      const place = origin === undefined ? "" : `shaders/${origin.file}:${origin.line}:${message.linePos} `;
      return `${place}${message.type}: ${message.message}`;
    })
    .join("\n");
}
