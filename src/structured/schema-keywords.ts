/** The keywords of JSON schema that are kept to, and the refusal of all others by name. */
import { WordloomError } from "../errors";

export type SchemaObject = Readonly<Record<string, unknown>>;

/** Say nothing about which values are valid. */
const ANNOTATIONS = [
  ...["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"],
  ...["readOnly", "writeOnly", "$defs", "definitions"],
];

/** By the type of value they are about. */
export const KEYWORDS_OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"],
  array: ["items", "prefixItems", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  boolean: [],
  null: [],
};

const EVERYWHERE = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"];

export const SUPPORTED_KEYWORDS: readonly string[] = [
  ...EVERYWHERE,
  ...new Set(Object.values(KEYWORDS_OF_TYPE).flat()),
  ...ANNOTATIONS,
];

/** @param path of the schema within the whole, as it is named in messages */
export function refusal(path: string, what: string, remedy?: string): WordloomError {
  return new WordloomError("option-invalid", `${path} ${what}`, remedy === undefined ? {} : { remedy });
}

/** The keywords that say something about values. @throws WordloomError option-invalid for one that is not kept to */
export function keywordsOf(schema: SchemaObject, path: string): string[] {
  const unknown = Object.keys(schema).find((keyword) => !SUPPORTED_KEYWORDS.includes(keyword));
  if (unknown !== undefined) {
    throw refusal(path, `has the keyword "${unknown}", which is not enforced here`, remedyFor(unknown));
  }
  return Object.keys(schema).filter((keyword) => !ANNOTATIONS.includes(keyword));
}

function remedyFor(keyword: string): string {
  if (keyword === "patternProperties") return "List the properties, or give additionalProperties a schema.";
  return `Leave it out, or say it with: ${SUPPORTED_KEYWORDS.filter((one) => !ANNOTATIONS.includes(one)).join(", ")}.`;
}

/** Refuses a schema where `keyword` stands with others that would have to hold at the same time. */
export function onlyWith(keywords: readonly string[], keyword: string, others: readonly string[], path: string): void {
  const beside = keywords.find((one) => one !== keyword && !others.includes(one));
  if (beside === undefined) return;
  throw refusal(
    path,
    `has "${keyword}" and "${beside}" together; both at once are not enforced here`,
    "Write it as one.",
  );
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param min refuses what is below it */
export function numberAt(schema: SchemaObject, keyword: string, path: string): number | undefined {
  const value = schema[keyword];
  if (value === undefined) return undefined;
  // JSON may spell numbers that are too large to be held.
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw refusal(
      `${path}.${keyword}`,
      `must be a number${value === Infinity || value === -Infinity ? " that can be held" : ""}`,
    );
  }
  return value;
}

export function countAt(schema: SchemaObject, keyword: string, path: string): number | undefined {
  const value = numberAt(schema, keyword, path);
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
  throw refusal(`${path}.${keyword}`, `is ${value}; it must be a whole number of 0 or more`);
}

export function listAt(schema: SchemaObject, keyword: string, path: string): readonly unknown[] {
  const value = schema[keyword];
  if (!Array.isArray(value)) throw refusal(`${path}.${keyword}`, "must be a list");
  return value;
}
