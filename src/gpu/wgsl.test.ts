import { describe, expect, test } from "vitest";
import { assembleWgsl, explainMessages, f32, type WgslOptions } from "./wgsl";

/** The lines that come out, without empty ones. */
function assembled(files: Record<string, string>, options: WgslOptions = {}): string[] {
  const { code } = assembleWgsl("entry.wgsl", new Map(Object.entries(files)), options);
  return code.split("\n").filter((line) => line !== "");
}

const refusal = (message: RegExp): unknown =>
  expect.objectContaining({ code: "internal", message: expect.stringMatching(message) });

describe("#include", () => {
  test("puts a file where it stands, once, however often it is asked for", () => {
    const files = {
      "entry.wgsl": 'a\n#include "lib/one.wgsl"\nb\n#include "lib/two.wgsl"\n#include "lib/one.wgsl"\nc',
      "lib/one.wgsl": "one",
      "lib/two.wgsl": '  #include "lib/one.wgsl"\ntwo',
    };
    expect(assembled(files)).toEqual(["a", "one", "b", "two", "c"]);
  });

  test("replaces $NAME in a path", () => {
    const files = { "entry.wgsl": '#include "lib/step_$STEP.wgsl"', "lib/step_decode.wgsl": "decode" };
    expect(assembled(files, { defines: { STEP: "decode" } })).toEqual(["decode"]);
    expect(() => assembled(files)).toThrow(refusal(/shaders\/entry\.wgsl:1: STEP is not defined/));
    expect(() => assembled(files, { defines: { STEP: "x" } })).toThrow(
      refusal(/shaders\/lib\/step_x\.wgsl does not exist \(wanted by shaders\/entry\.wgsl:1\)/),
    );
  });

  test("in a branch not taken is not looked for", () => {
    expect(assembled({ "entry.wgsl": '#if NO\n#include "lib/$MISSING.wgsl"\n#endif\na' })).toEqual(["a"]);
  });
});

describe("#if", () => {
  const entry = { "entry.wgsl": "#if NAME\nyes\n#else\nno\n#endif" };
  test.each([
    [{}, "no"],
    [{ NAME: false }, "no"],
    [{ NAME: "" }, "no"],
    [{ NAME: true }, "yes"],
    [{ NAME: "anything" }, "yes"],
  ] as const)("NAME with %j: %s", (defines, line) => {
    expect(assembled(entry, { defines })).toEqual([line]);
  });

  test.each([
    [{ NORM: "rms" }, "yes"],
    [{ NORM: "layer" }, "no"],
    [{}, "no"],
  ])("NORM == rms with %j: %s", (defines, line) => {
    expect(assembled({ "entry.wgsl": "#if NORM == rms\nyes\n#else\nno\n#endif" }, { defines })).toEqual([line]);
  });

  test.each([
    [true, true, ["AB", "always"]],
    [true, false, ["A only", "always"]],
    [false, true, ["B only", "always"]],
    [false, false, ["neither", "always"]],
  ])("nests: A %s, B %s", (A, B, lines) => {
    const text =
      "#if A\n#if B\nAB\n#else\nA only\n#endif\n#else\n#if B\nB only\n#else\nneither\n#endif\n#endif\nalways";
    expect(assembled({ "entry.wgsl": text }, { defines: { A, B } })).toEqual(lines);
  });
});

describe("#rows", () => {
  const text = '#rows a[ -> a[row * 2u +\na[i] = ba[a[j]];\n#if NO\nb(0u)\n#endif\n#include "lib.wgsl"';
  const files = { "entry.wgsl": text, "lib.wgsl": "a[k]" };
  test("changes what follows in its own file, as a word of its own, where ROWS is defined", () => {
    expect(assembled(files)).toEqual(["a[i] = ba[a[j]];", "a[k]"]);
    expect(assembled(files, { defines: { ROWS: true } })).toEqual(["a[row * 2u +i] = ba[a[row * 2u +j]];", "a[k]"]);
  });
  test.each([
    ["#rows a[", /entry\.wgsl:1: #rows wants FROM -> TO/],
    ["#rows b[ -> c[\na[i] bb[i]", /entry\.wgsl:1: nothing in this file is what #rows replaces/],
  ])("%j is refused", (entry, message) => {
    expect(() => assembled({ "entry.wgsl": entry })).toThrow(refusal(message));
  });
});

describe("#each", () => {
  test("repeats its lines, what #if keeps of them included, and each comes from where it stands", () => {
    const text = "x\n#each r N\nvar a$r = $r + $rest;\n#if A\nb$r\n#endif\n#endeach\ny";
    const options = { defines: { N: "2", A: true } };
    expect(assembled({ "entry.wgsl": text }, options)).toEqual([
      ...["x", "var a0 = 0 + $rest;", "b0", "var a1 = 1 + $rest;", "b1", "y"],
    ]);
    const { origins } = assembleWgsl("entry.wgsl", new Map([["entry.wgsl", text]]), options);
    expect(origins.map(({ line }) => line)).toEqual([1, 3, 5, 3, 5, 8]);
  });
  test.each<[string, Record<string, string>, RegExp]>([
    ["#each r N", {}, /entry\.wgsl:1: N is not defined/],
    ["#each r N", { N: "2" }, /entry\.wgsl: #each without #endeach/],
    ["#each r N\n#endeach", { N: "many" }, /entry\.wgsl:1: N is no count/],
    ["#each r N\n#each s N", { N: "2" }, /entry\.wgsl:2: #each inside #each/],
    ["#endeach", {}, /entry\.wgsl:1: #endeach without #each/],
  ])("%j with %j is refused", (entry, defines, message) => {
    expect(() => assembled({ "entry.wgsl": entry }, { defines })).toThrow(refusal(message));
  });
});

test.each([
  ["#endif", /entry\.wgsl:2: #endif without #if/],
  ["#else", /entry\.wgsl:2: #else without #if/],
  ["#if A\nb", /entry\.wgsl: #if without #endif/],
  ["#elif B", /entry\.wgsl:2: unknown directive #elif/],
  ["#define X", /entry\.wgsl:2: unknown directive #define/],
])("%j is refused with its place", (text, message) => {
  expect(() => assembled({ "entry.wgsl": `first\n${text}` })).toThrow(refusal(message));
});

test("an #if is closed in its own file", () => {
  const files = { "entry.wgsl": '#include "lib.wgsl"\n#endif', "lib.wgsl": "#if A" };
  expect(() => assembled(files)).toThrow(refusal(/lib\.wgsl: #if without #endif/));
});

describe("constants", () => {
  test.each([
    [7, "const X: u32 = 7u;"],
    [0, "const X: u32 = 0u;"],
    [f32(1e-5), "const X: f32 = f32(0.000009999999747378752);"],
    [f32(0.1), "const X: f32 = f32(0.10000000149011612);"],
    [f32(-0.5), "const X: f32 = f32(-0.5);"],
    [f32(3), "const X: f32 = f32(3.0);"],
    [f32(1e-45), "const X: f32 = f32(1.401298464324817e-45);"],
    [f32(3e38), "const X: f32 = f32(3.0000000054977558e+38);"],
    [f32(1e20), "const X: f32 = f32(100000002004087730000.0);"],
    [f32(1e-300), "const X: f32 = f32(0.0);"],
  ])("%j stands in front as %s", (value, line) => {
    expect(assembled({ "entry.wgsl": "a" }, { constants: { X: value } })).toEqual([line, "a"]);
  });

  test.each([Infinity, NaN, 1e39])("%f is refused: WGSL cannot write it", (value) => {
    expect(() => assembled({ "entry.wgsl": "a" }, { constants: { X: f32(value) } })).toThrow(
      refusal(/not a finite f32/),
    );
  });

  test("come after the language's own directives", () => {
    const options = { defines: { F16: true, REDUCE: "subgroups" }, constants: { X: 1 } };
    expect(assembled({ "entry.wgsl": "a" }, options)).toEqual([
      "enable f16;",
      "enable subgroups;",
      "diagnostic(off, subgroup_uniformity);",
      "const X: u32 = 1u;",
      "a",
    ]);
  });
});

test("a compiler's message is given the file and line it is about", () => {
  const files = new Map([
    ["entry.wgsl", 'first\n#if NO\nskipped\n#endif\n#include "lib/part.wgsl"\nlast'],
    ["lib/part.wgsl", "// comment\nbroken here"],
  ]);
  const module = assembleWgsl("entry.wgsl", files, { constants: { X: 1 } });
  const lines = module.code.split("\n");
  const about = (text: string, type: "error" | "warning", message: string) =>
    ({ lineNum: lines.indexOf(text) + 1, linePos: 4, type, message }) as GPUCompilationMessage;
  expect(
    explainMessages(module, [about("broken here", "error", "no such thing"), about("last", "warning", "unused")]),
  ).toBe("shaders/lib/part.wgsl:2:4 error: no such thing\nshaders/entry.wgsl:6:4 warning: unused");
  expect(explainMessages(module, [{ lineNum: 0, linePos: 0, type: "error", message: "all of it" } as never])).toBe(
    "error: all of it",
  );
});
