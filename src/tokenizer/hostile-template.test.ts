/** Chat templates by somebody who wants to hang the page, to fill its memory, or to get out. */
import { parse, tokenize } from "@huggingface/jinja";
import { describe, expect, test } from "vitest";
import { faultOf } from "../testing/fuzz/runner";
import { bytesOf } from "../testing/fuzz/edits";
import { renderWith } from "./chat-template";

const MESSAGES = [{ role: "user", content: "Once" }];
const render = (template: string): string =>
  renderWith({ parse, tokenize }, template, MESSAGES, { bos_token: "<s>" }, () => new Date(0));
const refused = expect.objectContaining({ code: "template-failed" }) as Error;

/** A string of half a million characters, by doubling. */
const LONG = "{% set ns = namespace(s='ab') %}{% for i in range(18) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
const LIST = "{% set ns = namespace(l=['a', 'b']) %}{% for i in range(16) %}{% set ns.l = ns.l + ns.l %}{% endfor %}";

describe.each([
  ["loops inside loops", "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"],
  ["a range without measure", "{% for a in range(99999999999) %}x{% endfor %}"],
  ["a range in tiny steps", "{{ range(0, 1, 0.0000001) | list | length }}"],
  ["many ranges", "{% for a in range(99999) %}{{ range(99999) | length }}{% endfor %}"],
  ["a macro that calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"],
  [
    "two macros that call each other twice",
    "{% macro f() %}{{ g() }}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
  ],
  ["brackets without end", `{{ ${"(".repeat(100_000)} }}`],
  ["lists within lists", `{{ ${"[".repeat(100_000)} }}`],
  ["a chain of not", `{{ ${"not ".repeat(60_000)}x }}`],
  ["ifs within ifs", "{% if true %}".repeat(10_000)],
  ["blanks between all words", `{{ 1 }}${" ".repeat(499)}`.repeat(250)],
  ["blanks in one run", `{{ 1 }}${" ".repeat(200_000)}x`],
  ["a repeated string", "{{ 'a' * 99999999999 }}"],
  ["a repeated string, again and again", "{% set s = 'a' * 999999 %}{{ s * 999999 }}"],
  ["a repeated list", "{{ ([1] * 999999999) | length }}"],
  ["an empty list, repeated", "{{ ([] * 999999999) | length }}"],
  [
    "strings that double",
    "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
  ],
  [
    "lists that double",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
  ],
  [
    "lists that hold themselves twice, printed",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
  ],
  ["a long string, printed in a list of many", `${LONG}{{ [ns.s, ns.s, ns.s, ns.s] * 9999 }}`],
  ["a long string as JSON, many times", `${LONG}{{ ([ns.s] * 9999) | tojson }}`],
  ["a long string, written again and again", `${LONG}{% for i in range(9999) %}{{ ns.s }}{% endfor %}`],
  ["each of its letters replaced by a long string", `${LONG}{{ ns.s.replace('a', ns.s) }}`],
  ["between its letters a long string", `${LONG}{{ ns.s.replace('', ns.s) }}`],
  ["joined by a long string", `${LIST}{% set s = 'a' * 99999 %}{{ ns.l | join(s) }}`],
  ["joined by a long string's method", `${LIST}{% set s = 'a' * 99999 %}{{ s.join(ns.l) }}`],
  ["indented by a long string", `${LONG}{{ ns.s.replace('a', '\\n') | indent(999999) }}`],
  ["JSON indented by a long string", `${LONG}{{ messages | tojson(indent=ns.s) }}`],
  ["JSON in long separators", `${LONG}{{ messages | tojson(separators=(ns.s, ns.s)) }}`],
  ["sorted by long keys", `{% set s = 'a' * 999999 %}{{ ([s ~ 'b', s ~ 'a', s ~ 'c'] * 9999) | sort | length }}`],
  [
    "long strings compared",
    `{% set a = 'a' * 999999 %}{% for i in range(9999) %}{{ (a ~ 'b') == (a ~ 'c') }}{% endfor %}`,
  ],
  [
    "a search that matches almost everywhere",
    `{% set a = 'a' * 999999 %}{% for i in range(999) %}{{ ('b' ~ a) in (a ~ a ~ a) }}{% endfor %}`,
  ],
  [
    "a long string cut into letters, again and again",
    `${LONG}{% for i in range(999) %}{{ ns.s[::-1] | length }}{% endfor %}`,
  ],
  [
    "a long string split, again and again, and kept",
    `${LONG}{% set k = namespace(l=[]) %}{% for i in range(999) %}{% set k.l = k.l + [ns.s.split('a')] %}{% endfor %}`,
  ],
  ["what is unlike anything before it, for each of many", "{{ range(99999) | unique | list | length }}"],
  ["the time in a long format", "{{ strftime_now('%c' * 999999) }}"],
  ["arguments without number", "{% macro f() %}{% endmacro %}{{ f(*(range(99999) | list)) }}".repeat(50)],
])("%s", (_, template) => {
  test("ends within a second, in 100 MiB, with text or template-failed", () => {
    const target = { name: "", inputs: undefined as never, read: () => void render(template) };
    expect(faultOf(target, bytesOf(""))).toBeUndefined();
    try {
      expect(render(template).length).toBeLessThan(1 << 24);
    } catch (error) {
      expect(error).toEqual(refused);
    }
  }, 60_000);
});

describe("nothing of JavaScript is within reach", () => {
  const objects = [
    "''",
    "1",
    "1.5",
    "[]",
    "()",
    "{}",
    "true",
    "none",
    "messages",
    "messages[0]",
    "range",
    "namespace()",
    "strftime_now",
    "bos_token",
    "''.upper",
    "[].append",
    "{}.items",
    "raise_exception",
  ];
  const names = [
    "constructor",
    "__proto__",
    "prototype",
    "toString",
    "valueOf",
    "hasOwnProperty",
    "__class__",
    "call",
    "apply",
    "bind",
    "caller",
    "arguments",
    "map",
    "then",
  ];
  test.each(objects)("%s has no member but Python's own", (object) => {
    for (const name of names) {
      for (const spelled of [
        `${object}.${name}`,
        `${object}['${name}']`,
        `(${object} | attr('${name}'))`,
        `([${object}] | map(attribute='${name}') | first)`,
      ]) {
        let written: string;
        try {
          written = render(`{{ ${spelled} is defined }}`);
        } catch (error) {
          expect(error).toEqual(refused);
          continue;
        }
        expect(`${spelled}: ${written}`).toBe(`${spelled}: False`);
      }
    }
  });

  test.each([
    "globalThis",
    "window",
    "self",
    "process",
    "Function",
    "eval",
    "require",
    "import",
    "this",
    "constructor",
    "__proto__",
    "document",
    "fetch",
  ])("%s is no name in a template", (name) => {
    try {
      expect(render(`{{ ${name} is defined }}`)).toBe("False");
    } catch (error) {
      expect(error).toEqual(refused);
    }
  });

  test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])("%s is no filter, and no test", (name) => {
    expect(() => render(`{{ 'a' | ${name} }}`)).toThrow(refused);
    expect(() => render(`{{ 'a' is ${name} }}`)).toThrow(refused);
  });

  test("what a template sets under such names stays in the template", () => {
    const template =
      "{% set __proto__ = {'polluted': 1} %}{% set ns = namespace(constructor=1) %}{% set ns.__proto__ = 2 %}{{ {'__proto__': {'polluted': 3}}['__proto__'].polluted }}{{ dict(__proto__=4)['__proto__'] }}";
    expect(render(template)).toBe("34");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});
