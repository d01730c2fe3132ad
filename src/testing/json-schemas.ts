/** Schemas of every kind that structured output takes, small enough that an answer of any model ends. */

const word = { type: "string", minLength: 1, maxLength: 6 };
const count = { type: "integer", minimum: 0, maximum: 99 };

/** An object that needs all of its properties. */
const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  ...{ type: "object", properties, required: Object.keys(properties), additionalProperties: false },
  ...more,
});
const list = (items: unknown, minItems: number, maxItems: number) => ({ type: "array", items, minItems, maxItems });
const orEnd = (value: unknown) => ({ anyOf: [{ type: "null" }, value] });

export const JSON_SCHEMAS: Readonly<Record<string, Record<string, unknown>>> = {
  boolean: { type: "boolean" },
  null: { type: "null" },
  "an enum of strings": { enum: ["red", "green", "dark green", "blue"] },
  "an enum of all types": { enum: ["a", 1, -2.5, true, null, [1, "x"], { k: [] }] },
  "an enum cut by a type": { type: "integer", enum: ["a", 1, 2.5, 3] },
  "a const": { const: 'one\ntext "with" marks' },
  "a const of another script": { const: "日本語 и ещё 😀" },
  "an enum of other scripts": { enum: ["été", "Ελλάδα", "中文", "😀😃"] },
  "a string of up to 8": { type: "string", maxLength: 8 },
  "a string of 3 to 5": { type: "string", minLength: 3, maxLength: 5 },
  "an empty string": { type: "string", maxLength: 0 },
  "a pattern": { type: "string", pattern: "^[A-Z]{2}-[0-9]{3}$" },
  "a pattern with marks": { type: "string", pattern: '^["\\\\/]{1,3}$' },
  "a pattern of other scripts": { type: "string", pattern: "^[а-я]{1,4}[é-ü]?$" },
  "a pattern of two": { type: "string", pattern: "^(?:yes|no), (?:sir|madam)$" },
  "a date": { type: "string", format: "date" },
  "a time": { type: "string", format: "time" },
  "a date and time": { type: "string", format: "date-time" },
  "a uuid": { type: "string", format: "uuid" },
  "an address of 4 bytes": { type: "string", format: "ipv4" },
  "an integer": { type: "integer" },
  "an integer between": { type: "integer", minimum: -17, maximum: 1234 },
  "an integer above": { type: "integer", exclusiveMinimum: 99, maximum: 105 },
  "an integer below zero": { type: "integer", minimum: -1000, exclusiveMaximum: 0 },
  "a number": { type: "number" },
  "a number between": { type: "number", minimum: 0.25, maximum: 1.75 },
  "a number strictly between": { type: "number", exclusiveMinimum: -0.001, exclusiveMaximum: 0.5 },
  "a large number": { type: "number", minimum: 1e9, maximum: 1e12 },
  "string or number": { type: ["string", "integer", "null"], maxLength: 4, minimum: 0, maximum: 9 },
  "an object": object({ name: word, age: count }),
  "an object that may lack": { type: "object", properties: { a: count, b: word, c: { type: "null" } } },
  "an object that may lack the first": {
    ...{ type: "object", properties: { a: count, b: word, c: { type: "boolean" } } },
    ...{ required: ["b"], additionalProperties: false },
  },
  "keys of other scripts": object({ größe: count, 名前: word, 'a"b\\c': { type: "null" } }),
  "nested objects": object({ who: object({ first: word, last: word }), where: object({ x: count, y: count }) }),
  "objects four deep": object({ a: object({ b: object({ c: object({ d: { type: "boolean" } }) }) }) }),
  "a map": { type: "object", additionalProperties: count, propertyNames: { maxLength: 4 }, maxProperties: 2 },
  "a map of one": {
    ...{ type: "object", additionalProperties: { type: "boolean" }, propertyNames: { pattern: "^[a-z]{2}$" } },
    ...{ minProperties: 1, maxProperties: 1 },
  },
  "a list of integers": list(count, 1, 4),
  "an empty list": list(count, 0, 0),
  "a list of lists": list(list(count, 1, 2), 1, 2),
  "a list of objects": list(object({ id: count, tag: { enum: ["new", "old"] } }), 1, 2),
  "a list of choices": list({ anyOf: [{ type: "boolean" }, { enum: ["maybe"] }, count] }, 2, 3),
  "a tuple": { type: "array", prefixItems: [word, count, { type: "boolean" }], items: false, minItems: 3 },
  "a tuple and more": { type: "array", prefixItems: [{ type: "null" }], items: count, minItems: 2, maxItems: 3 },
  "one of several shapes": {
    oneOf: [object({ kind: { const: "circle" }, radius: count }), object({ kind: { const: "square" }, side: count })],
  },
  "any of several types": { anyOf: [{ type: "boolean" }, word, list(count, 1, 2)] },
  "all of one": { allOf: [object({ ok: { type: "boolean" } })] },
  "a reference": {
    ...object({ from: { $ref: "#/$defs/point" }, to: { $ref: "#/$defs/point" } }),
    $defs: { point: object({ x: count, y: count }) },
  },
  "a chain of references": {
    $ref: "#/$defs/node",
    $defs: {
      node: object({ value: count, next: orEnd({ $ref: "#/$defs/leaf" }) }),
      leaf: object({ value: count, next: { type: "null" } }),
    },
  },
  "what a form asks": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Order",
    ...object({
      id: { type: "string", pattern: "^[a-z]{3}\\d{2}$", description: "short" },
      state: { enum: ["open", "sent", "done"], default: "open" },
      items: list(
        object({ sku: { type: "string", maxLength: 4 }, price: { type: "number", minimum: 0, maximum: 9.99 } }),
        1,
        2,
      ),
      note: orEnd({ type: "string", maxLength: 8 }),
    }),
  },
};
