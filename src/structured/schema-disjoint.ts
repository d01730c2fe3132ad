/** Whether two schemas can never hold for one value; what `oneOf` needs to mean the same as `anyOf`. */
import { isObject, type SchemaObject } from "./schema-keywords";

/** False where it is not seen at once. References are not followed. */
export function isDisjoint(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === false || b === false;
  const [values, others] = [valuesOf(a), valuesOf(b)];
  if (values && others) return !values.some((value) => others.includes(value));
  const [types, otherTypes] = [typesOf(a), typesOf(b)];
  if (types && otherTypes && !types.some((type) => otherTypes.includes(type))) return true;
  return isObjectOnly(a) && isObjectOnly(b) && isDisjointByProperty(a, b);
}

/** A property that both need, and that has a value of its own in each. */
function isDisjointByProperty(a: SchemaObject, b: SchemaObject): boolean {
  const [properties, others] = [a["properties"], b["properties"]];
  if (!isObject(properties) || !isObject(others)) return false;
  return Object.keys(properties).some((name) => {
    const needed = [a, b].every(({ required }) => Array.isArray(required) && required.includes(name));
    const [own, other] = [properties[name], others[name]];
    const [values, otherValues] = [isObject(own) && valuesOf(own), isObject(other) && valuesOf(other)];
    return needed && values && otherValues && !values.some((value) => otherValues.includes(value));
  });
}

function isObjectOnly(schema: SchemaObject): boolean {
  return schema["type"] === "object";
}

/** The JSON of each value that it allows, where it lists them. */
function valuesOf(schema: SchemaObject): string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema["const"])];
  const listed = schema["enum"];
  return Array.isArray(listed) ? listed.map((value) => JSON.stringify(value)) : undefined;
}

/** Integers are numbers. */
function typesOf(schema: SchemaObject): string[] | undefined {
  const values = valuesOf(schema);
  if (values) return values.map((value) => typeOf(JSON.parse(value)));
  const { type } = schema;
  const types: unknown[] | undefined = type === undefined ? undefined : Array.isArray(type) ? type : [type];
  return types?.map((one) => (one === "integer" ? "number" : String(one)));
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
