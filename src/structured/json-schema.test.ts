/** What of JSON schema is enforced: each keyword lets through and keeps out, and the rest is refused by name. */
import { Ajv2020 } from "ajv/dist/2020";
import { describe, expect, test } from "vitest";
import { isTextOf } from "../testing/grammar-texts";
import { pruned } from "./constraint-grammar";
import { schemaGrammar } from "./json-schema";
import { valueText } from "./json-values";
import { SUPPORTED_KEYWORDS } from "./schema-keywords";

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const point = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] };

/** keyword, a schema that has it, values that can be written, values that cannot. */
const ENFORCED: readonly [keyword: string, schema: unknown, possible: unknown[], impossible: unknown[]][] = [
  ["type", { type: "integer" }, [0, -5, 12345], [1.5, "1", null, true, [], {}]],
  ["type", { type: ["string", "null"] }, ["", "a", null], [1, false]],
  ["type", { type: "number" }, [0, 1.5, -0.25], ["1", null]],
  ["type", { type: "boolean" }, [true, false], [null, 0]],
  ["enum", { enum: ["a", 1, [2]] }, ["a", 1, [2]], ["b", 2, []]],
  ["enum", { type: "string", enum: ["a", 1] }, ["a"], [1]],
  ["const", { const: { a: 1 } }, [{ a: 1 }], [{ a: 2 }, {}]],
  ["anyOf", { anyOf: [{ type: "null" }, { const: 3 }] }, [null, 3], [4]],
  ["oneOf", { oneOf: [{ type: "null" }, { type: "boolean" }] }, [null, true], ["null"]],
  ["allOf", { allOf: [{ type: "null" }] }, [null], [0]],
  ["$ref", { $ref: "#/$defs/a", $defs: { a: { const: 1 } } }, [1], [2]],
  ["properties", point, [{ x: 1 }], [{ x: "1" }]],
  ["required", point, [{ x: 1 }], [{}]],
  ["required", { type: "object", required: ["a"] }, [{ a: null }, { a: [] }], [{}, { b: 1 }]],
  ["additionalProperties", { ...point, additionalProperties: false }, [{ x: 1 }], [{ x: 1, y: 2 }]],
  [
    "additionalProperties",
    { ...point, additionalProperties: { type: "null" } },
    [{ x: 1, y: null, xx: null, "": null }],
    [
      { x: 1, y: 2 },
      { x: 1, xx: 1 },
    ],
  ],
  ["propertyNames", { type: "object", propertyNames: { maxLength: 2 } }, [{}, { ab: 1, "": 2 }], [{ abc: 1 }]],
  ["minProperties", { type: "object", minProperties: 1 }, [{ a: 1 }], [{}]],
  ["maxProperties", { type: "object", maxProperties: 1 }, [{}, { a: 1 }], [{ a: 1, b: 2 }]],
  ["items", { type: "array", items: { type: "integer" } }, [[], [1], [1, 2]], [["1"], [1, null]]],
  ["items", { type: "array", items: false }, [[]], [[1]]],
  ["prefixItems", { prefixItems: [{ type: "null" }], items: { const: 1 } }, [[null], [null, 1, 1]], [[1], [null, 2]]],
  ["minItems", { type: "array", minItems: 2 }, [[1, "a"]], [[1], []]],
  ["maxItems", { type: "array", maxItems: 2 }, [[], [1, 2]], [[1, 2, 3]]],
  ["minLength", { type: "string", minLength: 2 }, ["ab", "😀😀", '""', "\n\\"], ["", "a", "😀", '"']],
  ["maxLength", { type: "string", maxLength: 2 }, ["", "ab", "😀😀", '"\\'], ["abc", "😀😀😀"]],
  ["pattern", { type: "string", pattern: "^a+$" }, ["a", "aaa"], ["", "b", "ab"]],
  ["pattern", { type: "string", pattern: "b|^c" }, ["abc", "b", "cd"], ["", "ac"]],
  [
    "format",
    { type: "string", format: "date" },
    ["2024-02-28", "0001-12-31"],
    ["2024-13-01", "2023-02-29", "2024-04-31"],
  ],
  ["format", { type: "string", format: "ipv4" }, ["0.0.0.0", "255.249.1.99"], ["256.0.0.1", "1.2.3", "01.2.3.4"]],
  ["format", { type: "string", format: "email" }, ["a@b.c", "x.y+z@m-n.org"], ["a@b", "a b@c.de", ".a@b.c"]],
  ["format", { type: "string", format: "uuid" }, ["01234567-89ab-cdef-0123-456789abcdef"], ["0123"]],
  [
    "format",
    { type: "string", format: "date-time" },
    ["2024-01-31T23:59:59Z", "2024-01-31T00:00:00.5+01:30"],
    ["2024-01-31", "2024-01-31T24:00:00Z"],
  ],
  ["format", { type: "string", format: "time" }, ["23:59:59Z"], ["24:00:00Z"]],
  ["minimum", { type: "number", minimum: -1.5 }, [-1.5, -1.25, 0, 3e9], [-1.6, -2, -1.500001]],
  ["maximum", { type: "integer", maximum: 12 }, [12, 9, -40], [13, 20, 100]],
  ["exclusiveMinimum", { type: "number", exclusiveMinimum: 1 }, [1.000001, 1.1, 2], [1, 0.5, -3]],
  ["exclusiveMaximum", { type: "integer", exclusiveMaximum: 100 }, [99, -1], [100, 101]],
];

const grammarOf = (schema: unknown) => pruned(schemaGrammar(schema));

test.each(ENFORCED)("%s of %j", (_, schema, possible, impossible) => {
  const grammar = grammarOf(schema);
  for (const value of possible) {
    expect([value, ajv.validate(schema as object, value)]).toEqual([value, true]);
    expect([value, isTextOf(grammar, valueText(value))]).toEqual([value, true]);
  }
  for (const value of impossible) expect([value, isTextOf(grammar, valueText(value))]).toEqual([value, false]);
});

test("every keyword that is taken is in that table, or says nothing about values", () => {
  const annotations = ["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"];
  const silent = new Set([...annotations, "readOnly", "writeOnly", "$defs", "definitions"]);
  const shown = new Set(ENFORCED.map(([keyword]) => keyword));
  expect(SUPPORTED_KEYWORDS.filter((keyword) => !silent.has(keyword) && !shown.has(keyword))).toEqual([]);
});

const NOT_ENFORCED = [
  ...["not", "if", "then", "else", "multipleOf", "uniqueItems", "contains", "minContains", "maxContains"],
  ...["patternProperties", "dependentRequired", "dependentSchemas", "dependencies", "additionalItems"],
  ...["unevaluatedItems", "unevaluatedProperties", "contentEncoding", "contentMediaType", "contentSchema"],
  ...["$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "nullable", "discriminator", "constructor"],
];
test.each(NOT_ENFORCED)("%s is refused by its name, wherever it stands", (keyword) => {
  const inner = { type: "object", properties: { a: { type: "array", items: { type: "string", [keyword]: {} } } } };
  expect(() => schemaGrammar(inner)).toThrow(`properties.a.items has the keyword "${keyword}"`);
});

test.each<[string, unknown, RegExp]>([
  ["a pattern with a length", { type: "string", pattern: "a", maxLength: 2 }, /"pattern" and "maxLength" together/],
  ["a format with a length", { type: "string", format: "date", minLength: 2 }, /"format" and "minLength" together/],
  ["an unknown format", { type: "string", format: "hostname" }, /the format "hostname"/],
  ["two schemas of allOf", { allOf: [{}, {}] }, /"allOf" of several/],
  ["a reference with more", { $ref: "#", type: "object" }, /"\$ref" and "type" together/],
  ["anyOf with more", { anyOf: [{}], type: "object" }, /"anyOf" and "type" together/],
  [
    "oneOf whose schemas overlap",
    { oneOf: [{ type: "string" }, { type: "string", maxLength: 2 }] },
    /oneOf\[1\] may be valid together/,
  ],
  ["oneOf with integer and number", { oneOf: [{ type: "integer" }, { type: "number" }] }, /may be valid together/],
  ["many properties that must be there, unnamed", { type: "object", minProperties: 2 }, /minProperties 2/],
  ["an unknown type", { type: "any" }, /type is "any"/],
  ["a reference elsewhere", { $ref: "https://example.com/a" }, /\$ref "https/],
  ["a list as items", { items: [{}] }, /Call it prefixItems|is a list/],
  ["a schema that is none", { properties: { a: 1 } }, /must be a schema/],
  ["lengths that contradict", { type: "string", minLength: 3, maxLength: 2 }, /no string has both/],
  ["a negative length", { type: "string", minLength: -1 }, /whole number/],
  ["draft 4's exclusiveMinimum", { type: "integer", exclusiveMinimum: true }, /must be a number/],
  [
    "more than 64 deep",
    Array.from({ length: 70 }).reduce((inner) => ({ type: "array", items: inner }), {}),
    /64 schemas deep/,
  ],
])("%s is refused", (_, schema, message) => expect(() => schemaGrammar(schema)).toThrow(message));

describe("numbers", () => {
  const BOUNDS = [0, -0.5, 1, 9, 10, 99.999999, 100, -7, -1000, 0.000001, 1e-7, 12.34, 1e9, 123456789012, -2.5e10, 0.1];
  const near = (bound: number) => [bound, ...[1, 0.1, 0.000001].flatMap((step) => [bound - step, bound + step])];
  const spelled = (value: number) => /^-?\d+(\.\d{1,6})?$/.test(String(value)) && !Object.is(value, -0);

  test.each(["integer", "number"])("%s: what lies within the bounds, and nothing else", (type) => {
    for (const minimum of BOUNDS) {
      for (const maximum of BOUNDS.filter((bound) => bound > minimum)) {
        for (const schema of [
          { type, minimum, maximum },
          { type, exclusiveMinimum: minimum, exclusiveMaximum: maximum },
        ]) {
          let grammar;
          try {
            grammar = grammarOf(schema);
          } catch (error) {
            expect(String(error)).toMatch(/lies/);
            continue;
          }
          for (const value of [...near(minimum), ...near(maximum), (minimum + maximum) / 2].filter(spelled)) {
            const hasManyDigits = Math.abs(value) >= 1e9 && !Number.isInteger(value);
            const wanted = ajv.validate(schema, value) && !hasManyDigits;
            expect([schema, value, isTextOf(grammar, String(value))]).toEqual([schema, value, wanted]);
          }
        }
      }
    }
  });
});
