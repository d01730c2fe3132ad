import { choice, EMPTY, optional, sequence, text, type Expression } from "./expression";
import { ANY_VALUE, entry, keyOtherThan, listOf } from "./json-values";
import { countAt, isObject, listAt, refusal, type SchemaObject } from "./schema-keywords";

/** What reading an object or array needs of the whole schema. */
export interface SchemaContext {
  expressionOf(schema: unknown, path: string): Expression;
  /** The expression by a name, so that it can stand in several places. */
  named(expression: Expression): Expression;
}

/**
 * Properties come in the order of the schema; others than those listed only where `additionalProperties` has a schema, or
 * nothing is listed at all.
 */
export function objectExpression(schema: SchemaObject, path: string, context: SchemaContext): Expression {
  const properties = schema["properties"] ?? {};
  if (!isObject(properties)) throw refusal(`${path}.properties`, "must be an object");
  const required = "required" in schema ? listAt(schema, "required", path) : [];
  if (!required.every((name) => typeof name === "string"))
    throw refusal(`${path}.required`, "must be a list of strings");
  const extra = schema["additionalProperties"];
  const names = Object.keys(properties);
  const unlisted = required.filter((name) => !Object.hasOwn(properties, name));
  const extraValue =
    extra === undefined ? ANY_VALUE : context.named(context.expressionOf(extra, `${path}.additionalProperties`));
  const entries = [
    ...names.map((name) => ({
      needed: required.includes(name),
      written: property(name, context.expressionOf(properties[name], `${path}.properties.${name}`)),
    })),
    ...unlisted.map((name) => ({ needed: true, written: property(name, extraValue) })),
  ];
  const min = countAt(schema, "minProperties", path) ?? 0;
  const max = countAt(schema, "maxProperties", path) ?? Infinity;
  if (entries.length === 0) {
    if (min > 1) throw refusal(path, `has minProperties ${min}: keys may be the same`, "At most 1 is enforced here.");
    if (min > max) throw refusal(path, `has minProperties ${min} and maxProperties ${max}; no object has both`);
    return braced(listOf(entry(keyExpression(schema, path, context), extraValue), { min, max }));
  }
  if ("propertyNames" in schema) throw refusal(path, "has propertyNames beside properties that it lists");
  if (min > entries.filter(({ needed }) => needed).length || max < entries.length) {
    throw refusal(
      path,
      "counts properties that it lists",
      "Leave minProperties and maxProperties out, or use required.",
    );
  }
  const hasMore = extra !== undefined && extra !== true && extra !== false;
  if (hasMore && max !== Infinity) throw refusal(path, "has maxProperties and additionalProperties together");
  const more = hasMore ? entry(keyOtherThan([...names, ...unlisted]), extraValue) : undefined;
  return braced(entriesExpression(entries, more, context));
}

function keyExpression(schema: SchemaObject, path: string, context: SchemaContext): Expression {
  const names = schema["propertyNames"] ?? {};
  if (!isObject(names) || (names["type"] ?? "string") !== "string") {
    throw refusal(`${path}.propertyNames`, "must be a schema of strings");
  }
  return context.expressionOf({ ...names, type: "string" }, `${path}.propertyNames`);
}

const property = (name: string, value: Expression): Expression => sequence(text(`${JSON.stringify(name)}: `), value);

const braced = (content: Expression): Expression => sequence(text("{"), content, text("}"));

/** Each one or, where it is not needed, none; with commas between those that are there. */
function entriesExpression(
  entries: readonly { needed: boolean; written: Expression }[],
  more: Expression | undefined,
  context: SchemaContext,
): Expression {
  const firstNeeded = entries.findIndex(({ needed }) => needed);
  const mayBeFirst = firstNeeded === -1 ? entries.length : firstNeeded + 1;
  // An entry stands in two places where it may be the first, and what follows in as many as there are before.
  const parts = entries.map(({ written }, at) =>
    at < mayBeFirst && mayBeFirst > 1 ? context.named(written) : written,
  );
  let rest = more === undefined ? EMPTY : listAfterComma(more);
  const restAfter: Expression[] = [];
  for (let at = entries.length - 1; at >= 0; at--) {
    restAfter[at] = rest;
    const following = sequence(text(", "), parts[at] ?? EMPTY);
    rest = sequence(entries[at]?.needed ? following : optional(following), rest);
    if (at < mayBeFirst && mayBeFirst > 1) rest = context.named(rest);
  }
  const options = parts.slice(0, mayBeFirst).map((part, at) => sequence(part, restAfter[at] ?? EMPTY));
  if (firstNeeded === -1) options.push(EMPTY, ...(more ? [listOf(more, { min: 1, max: Infinity })] : []));
  return choice(...options);
}

function listAfterComma(item: Expression): Expression {
  return { kind: "repeat", body: sequence(text(", "), item), min: 0, max: Infinity };
}

/** All of `prefixItems`, then as many of `items` as are allowed. */
export function arrayExpression(schema: SchemaObject, path: string, context: SchemaContext): Expression {
  const min = countAt(schema, "minItems", path) ?? 0;
  const max = countAt(schema, "maxItems", path) ?? Infinity;
  if (min > max) throw refusal(path, `has minItems ${min} and maxItems ${max}; no array has both`);
  const { items } = schema;
  if (Array.isArray(items)) throw refusal(`${path}.items`, "is a list", "Call it prefixItems.");
  const prefix = "prefixItems" in schema ? listAt(schema, "prefixItems", path) : [];
  const first = prefix.slice(0, max).map((item, at) => context.expressionOf(item, `${path}.prefixItems[${at}]`));
  const item = items === undefined ? ANY_VALUE : context.named(context.expressionOf(items, `${path}.items`));
  const wanted = Math.max(0, min - first.length);
  // What follows the prefix need not be there; it is only written where the schema speaks of it.
  const isOpen = isObject(items) || prefix.length === 0;
  const count = { min: wanted, max: items === false ? 0 : isOpen ? max - first.length : wanted };
  if (count.min > count.max) throw refusal(path, `has minItems ${min} and room for ${first.length} items`);
  if (first.length === 0) return sequence(text("["), listOf(item, count), text("]"));
  const after: Expression = { kind: "repeat", body: sequence(text(", "), item), ...count };
  const written = first.flatMap((one, at) => (at === 0 ? [one] : [text(", "), one]));
  return sequence(text("["), ...written, ...(count.max === 0 ? [] : [after]), text("]"));
}
