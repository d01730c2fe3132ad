/**
 * Puts a WGSL module together from the files under shaders/.
 *
 * Four directives, each on a line of its own:
 *   #include "lib/half.wgsl"             once per module; $NAME in the path is replaced from `defines`
 *   #if NAME / #if NAME == value         value compared as text; NAME alone: defined and not "" or "false"
 *   #else / #endif
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
    text.split("\n").forEach((line, index) => {
      const at = `shaders/${file}:${index + 1}`;
      const directive = /^\s*#(\w+)\s*(.*?)\s*$/.exec(line);
      if (directive === null) {
        if (active()) emit(line, file, index + 1);
        return;
      }
      const [, word = "", rest = ""] = directive;
      if (word === "include") {
        if (!active()) return;
        const path = rest.replace(/^"|"$/g, "").replace(/\$(\w+)/g, (_, name: string) => define(defines, name, at));
        insert(path, at);
      } else if (word === "if") {
        const [name = "", value] = rest.split(/\s*==\s*/);
        const defined = defines[name];
        const here =
          value === undefined
            ? defined !== undefined && defined !== false && defined !== ""
            : String(defined) === value;
        open.push({ here });
      } else if (word === "else") {
        const last = open.at(-1);
        if (last === undefined) throw new WordloomError("internal", `${at}: #else without #if`);
        last.here = !last.here;
      } else if (word === "endif") {
        if (open.pop() === undefined) throw new WordloomError("internal", `${at}: #endif without #if`);
      } else {
        throw new WordloomError("internal", `${at}: unknown directive #${word}`);
      }
    });
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
