/**
 * The text of a tool call → its name and arguments, in the notations that models use. What is not exactly one of them
 * is refused with a reason; nothing is guessed or repaired.
 */
import type { CallFormat } from "./answer-format";
import { parsePythonCalls, type ParsedCall } from "./python-calls";

export type { ParsedCall } from "./python-calls";

/** What a tool's parameters are, as JSON schema; only for notations whose values carry no type. */
export type ParameterSchemas = ReadonlyMap<string, Readonly<Record<string, unknown>> | undefined>;

/**
 * @param body what stands between the marks
 * @throws Error saying why it is no call
 */
export function parseCalls(body: string, syntax: CallFormat["syntax"], schemas: ParameterSchemas): ParsedCall[] {
  const text = body.trim();
  if (text === "") throw new Error("the call is empty");
  if (syntax === "tags" && text.startsWith("<")) return parseTags(text, schemas);
  if (syntax === "python" && !text.startsWith("[{")) return parsePythonCalls(text);
  return parseJsonCalls(text);
}

/**
 * - `{"name": …, "arguments": {…}}`, or `parameters`: one, a list of them, or several with `;`, `,` or blanks between
 * - `name[ARGS]{…}`, `name[CALL_ID]id[ARGS]{…}` and `name{…}` (Mistral's newer tokenizers)
 */
function parseJsonCalls(text: string): ParsedCall[] {
  const named = /^([\w.-]+)(?:\[CALL_ID\]([\w-]+))?(?:\[ARGS\])?\s*(\{[\s\S]*)$/.exec(text);
  if (named?.[1] !== undefined && named[3] !== undefined) {
    return [callOf({ name: named[1], arguments: parseJson(named[3]), id: named[2] })];
  }
  if (text.startsWith("[")) {
    const list = parseJson(text);
    if (!Array.isArray(list) || list.length === 0) throw new Error("the list of calls is empty");
    return list.map(callOf);
  }
  const calls: ParsedCall[] = [];
  for (let rest = text; rest !== "";) {
    const end = jsonObjectEnd(rest);
    if (end === undefined) throw new Error("the call is no JSON object, or one without its end");
    calls.push(callOf(parseJson(rest.slice(0, end))));
    rest = rest.slice(end).replace(/^[\s;,]+/, "");
  }
  return calls;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Error(`the call is not valid JSON (${cause instanceof Error ? cause.message : String(cause)})`, {
      cause,
    });
  }
}

function callOf(value: unknown): ParsedCall {
  if (!isObject(value)) throw new Error("a call must be a JSON object");
  const { name, id } = value;
  if (typeof name !== "string" || name === "") throw new Error("the call names no tool");
  let given: unknown = value["arguments"] ?? value["parameters"] ?? {};
  if (typeof given === "string") given = parseJson(given); // some models write the arguments as a string of JSON
  if (!isObject(given)) throw new Error("the call's arguments are no JSON object");
  return { name, arguments: given, ...(typeof id === "string" && id !== "" ? { id } : {}) };
}

/** `<function=name><parameter=key>value</parameter>…</function>`, whose values are text unless the schema says else. */
function parseTags(text: string, schemas: ParameterSchemas): ParsedCall[] {
  const outer = /^<function=([^>\s]+)>([\s\S]*)<\/function>$/.exec(text);
  if (outer?.[1] === undefined || outer[2] === undefined) throw new Error("the call is not one whole <function=…>");
  const [, name, body] = outer;
  const given: Record<string, unknown> = {};
  let rest = body.trim();
  while (rest !== "") {
    const parameter = /^<parameter=([^>\s]+)>\n?([\s\S]*?)\n?<\/parameter>\s*/.exec(rest);
    if (parameter?.[1] === undefined || parameter[2] === undefined) {
      throw new Error("between the parameters of the call stands something else");
    }
    const [whole, key, value] = parameter;
    define(given, key, typedValue(value, propertyOf(schemas.get(name), key)));
    rest = rest.slice(whole.length);
  }
  return [{ name, arguments: given }];
}

function propertyOf(schema: Readonly<Record<string, unknown>> | undefined, key: string): unknown {
  const properties = schema?.["properties"];
  return isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** A value of a type other than string is JSON; where it is not, or the type is not known, it is text. */
function typedValue(text: string, schema: unknown): unknown {
  const type = isObject(schema) ? schema["type"] : undefined;
  if (type === undefined || type === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // the tool's own check of its arguments says what is wrong with it
  }
}

/** Sets an own property, whatever its name ("__proto__" too). */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Where the JSON object at the beginning of `text` ends; undefined as long as it does not, or where there is none. */
export function jsonObjectEnd(text: string): number | undefined {
  if (!text.startsWith("{")) return undefined;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text[at];
    if (inString) {
      if (unit === "\\") at++;
      else if (unit === '"') inString = false;
    } else if (unit === '"') inString = true;
    else if (unit === "{" || unit === "[") depth++;
    else if (unit === "}" || unit === "]") {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
