/**
 * JSON schema → grammar. Every text of the grammar is a value that the schema allows; not every value that it allows is
 * such a text (README, "Structured output"). What is not enforced is refused by name.
 */
import { choice, chars, rule, text, type Expression, type Grammar } from "./expression";
import { ANY_VALUE, valueRules, valueText } from "./json-values";
import { decimals, integers } from "./numbers";
import { isDisjoint } from "./schema-disjoint";
import { isObject, KEYWORDS_OF_TYPE, keywordsOf, listAt, numberAt, onlyWith, refusal } from "./schema-keywords";
import type { SchemaObject } from "./schema-keywords";
import { arrayExpression, objectExpression, type SchemaContext } from "./schema-objects";
import { stringExpression } from "./schema-strings";

const MAX_DEPTH = 64;
const MAX_SCHEMA_CHARACTERS = 100_000;
const NOTHING = chars([]);

/** @throws WordloomError option-invalid, with the path and the keyword */
export function schemaGrammar(schema: unknown): Grammar {
  const { length } = JSON.stringify(schema);
  if (length > MAX_SCHEMA_CHARACTERS) {
    throw refusal(NAME, `has ${length} characters of JSON; at most ${MAX_SCHEMA_CHARACTERS} are read`);
  }
  return new SchemaReader(schema).read();
}

const NAME = "constraint.jsonSchema";

class SchemaReader implements SchemaContext {
  readonly #rules = new Map<string, Expression>(valueRules());
  /** By where a reference leads. */
  readonly #references = new Map<string, string>();
  #depth = 0;

  constructor(private readonly whole: unknown) {}

  read(): Grammar {
    return { root: this.expressionOf(this.whole, NAME), rules: this.#rules };
  }

  named(expression: Expression): Expression {
    if (expression.kind === "rule") return expression;
    const name = `part_${this.#rules.size}`;
    this.#rules.set(name, expression);
    return rule(name);
  }

  expressionOf(schema: unknown, path: string): Expression {
    if (schema === true) return ANY_VALUE;
    if (schema === false) return NOTHING;
    if (!isObject(schema)) throw refusal(path, "must be a schema: an object, true or false");
    if (++this.#depth > MAX_DEPTH) throw refusal(path, `lies more than ${MAX_DEPTH} schemas deep`);
    const expression = this.#read(schema, keywordsOf(schema, path), path);
    this.#depth--;
    return expression;
  }

  #read(schema: SchemaObject, keywords: readonly string[], path: string): Expression {
    const has = (keyword: string): boolean => keywords.includes(keyword);
    if (has("$ref")) {
      onlyWith(keywords, "$ref", [], path);
      return this.#reference(schema["$ref"], path);
    }
    if (has("const")) {
      onlyWith(keywords, "const", ["type"], path);
      return this.#oneOfValues([schema["const"]], schema, path);
    }
    if (has("enum")) {
      onlyWith(keywords, "enum", ["type"], path);
      return this.#oneOfValues(listAt(schema, "enum", path), schema, path);
    }
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      if (!has(keyword)) continue;
      onlyWith(keywords, keyword, [], path);
      return this.#combined(keyword, listAt(schema, keyword, path), path);
    }
    const types = typesOf(schema, keywords, path);
    if (types === undefined) return ANY_VALUE;
    return choice(...types.map((type) => this.#ofType(type, schema, keywords, path)));
  }

  #ofType(type: string, schema: SchemaObject, keywords: readonly string[], path: string): Expression {
    switch (type) {
      case "object":
        return objectExpression(schema, path, this);
      case "array":
        return arrayExpression(schema, path, this);
      case "string": {
        const own = keywords.filter((keyword) => keyword === "type" || KEYWORDS_OF_TYPE["string"]?.includes(keyword));
        return stringExpression(schema, own, path);
      }
      case "number":
      case "integer": {
        const bounds = {
          minimum: numberAt(schema, "minimum", path),
          maximum: numberAt(schema, "maximum", path),
          exclusiveMinimum: numberAt(schema, "exclusiveMinimum", path),
          exclusiveMaximum: numberAt(schema, "exclusiveMaximum", path),
        };
        const range = type === "integer" ? integers(bounds) : decimals(bounds);
        if (range === undefined) throw refusal(path, `has bounds between which no ${type} lies`);
        return range;
      }
      case "boolean":
        return choice(text("true"), text("false"));
      default:
        return text("null");
    }
  }

  #oneOfValues(values: readonly unknown[], schema: SchemaObject, path: string): Expression {
    const types = schema["type"] === undefined ? undefined : typesOf(schema, ["type"], path);
    const left = values.filter((value) => types === undefined || types.some((type) => isOfType(value, type)));
    return left.length === 0 ? NOTHING : choice(...left.map((value) => text(valueText(value))));
  }

  #combined(keyword: string, schemas: readonly unknown[], path: string): Expression {
    if (schemas.length === 0) throw refusal(`${path}.${keyword}`, "is empty");
    if (keyword === "allOf" && schemas.length > 1) {
      throw refusal(path, 'has "allOf" of several schemas, which is not enforced here', "Write them as one schema.");
    }
    if (keyword === "oneOf") {
      const resolved = schemas.map((schema) => this.#resolved(schema, path));
      const overlap = resolved.findIndex((one, at) => resolved.slice(0, at).some((other) => !isDisjoint(one, other)));
      if (overlap !== -1) {
        throw refusal(
          `${path}.oneOf[${overlap}]`,
          "may be valid together with one before it, which is not enforced here",
          "Use anyOf, or a required property with another const in each.",
        );
      }
    }
    return choice(...schemas.map((schema, at) => this.expressionOf(schema, `${path}.${keyword}[${at}]`)));
  }

  #reference(reference: unknown, path: string): Expression {
    const target = this.#target(reference, path);
    const known = this.#references.get(target.pointer);
    if (known !== undefined) return rule(known);
    const name = `ref_${this.#references.size}`;
    this.#references.set(target.pointer, name);
    const depth = this.#depth;
    this.#depth = 0;
    this.#rules.set(name, this.expressionOf(target.schema, target.pointer));
    this.#depth = depth;
    return rule(name);
  }

  /** Where "#/…" leads, within the whole schema. */
  #target(reference: unknown, path: string): { pointer: string; schema: unknown } {
    if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) {
      throw refusal(
        path,
        `has the $ref ${JSON.stringify(reference)}`,
        'References within the schema are read: "#/$defs/…".',
      );
    }
    let schema: unknown = this.whole;
    for (const part of reference.split("/").slice(1)) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      const inside: unknown = Array.isArray(schema) || isObject(schema) ? Object.entries(schema) : [];
      schema = (inside as [string, unknown][]).find(([name]) => name === key)?.[1];
    }
    if (schema === undefined) throw refusal(path, `has the $ref "${reference}", which leads nowhere`);
    return { pointer: `${NAME}${reference.slice(1).replaceAll("/", ".")}`, schema };
  }

  /** Through its references, as far as they go without turning in a circle. */
  #resolved(schema: unknown, path: string): unknown {
    let resolved = schema;
    for (let steps = 0; isObject(resolved) && "$ref" in resolved && steps < MAX_DEPTH; steps++) {
      resolved = this.#target(resolved["$ref"], path).schema;
    }
    return resolved;
  }
}

/** Those that it names, or that its keywords are about; undefined: any value. */
function typesOf(schema: SchemaObject, keywords: readonly string[], path: string): readonly string[] | undefined {
  const { type } = schema;
  if (type === undefined) {
    const about = Object.keys(KEYWORDS_OF_TYPE).filter((one) =>
      keywords.some((keyword) => KEYWORDS_OF_TYPE[one]?.includes(keyword)),
    );
    if (about.length === 0) return undefined;
    return about.includes("number") ? about.filter((one) => one !== "integer") : about;
  }
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const names = types.filter((one): one is string => typeof one === "string" && Object.hasOwn(KEYWORDS_OF_TYPE, one));
  if (names.length !== types.length || names.length === 0) {
    throw refusal(`${path}.type`, `is ${JSON.stringify(type)}; known are ${Object.keys(KEYWORDS_OF_TYPE).join(", ")}`);
  }
  return names.includes("number") ? names.filter((one) => one !== "integer") : names;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isObject(value) : typeof value === type;
}
