/**
 * Python's values as chat templates meet them: what is true, equal, printed, written as JSON.
 *
 * Strings, booleans, None (null) and whole numbers are JavaScript's own; an undefined name is `undefined`. Lists are
 * arrays, dicts are Maps.
 */

/** A float, which prints with its point even where it is whole. */
export class Float {
  constructor(readonly value: number) {}
}

/** A list that cannot change; prints in parentheses. */
export class Tuple extends Array<Value> {
  static holding(items: Iterable<Value>): Tuple {
    const tuple = new Tuple();
    for (const item of items) tuple.push(item);
    return tuple;
  }
}

/** `namespace(…)`: the one thing whose attributes a template can set. */
export class Namespace {
  constructor(readonly attributes: Map<string, Value>) {}
}

export class Callable {
  constructor(readonly call: (args: Value[], named: Map<string, Value>) => Value) {}
}

export type Value = string | number | boolean | null | undefined | Float | Value[] | Dict | Namespace | Callable;
export type Dict = Map<string | number, Value>;

/** Work already done, in steps; throws where a template does far more than any chat needs. */
export type Spend = (steps: number) => void;

/** In UTF-16 units, of any one string: some 250,000 tokens. */
export const MAX_STRING_LENGTH = 1 << 20;

const CHARACTERS_PER_STEP = 32;

/** For a list that was made. */
export function spendList(length: number, spend: Spend): void {
  spend(length / 2);
}

/** For reading a string. */
export function spendReading(text: string, spend: Spend): void {
  spend(text.length / CHARACTERS_PER_STEP);
}

/** Before a string is made: the work, and whether it is one that no chat needs. */
export function spendText(length: number, spend: Spend): void {
  if (length > MAX_STRING_LENGTH) throw new Error(`a string of more than ${MAX_STRING_LENGTH} characters`);
  spend(length / CHARACTERS_PER_STEP);
}

/** Looking for `part` in `whole`; where both are alike throughout, each place takes as long as `part` is. */
export function spendSearch(whole: string, part: string, spend: Spend): void {
  spend((whole.length / CHARACTERS_PER_STEP) * (1 + part.length / 4));
}

/** Joins texts; their length is known before anything is set aside. */
export function joinTexts(texts: readonly string[], separator: string, spend: Spend): string {
  const gaps = Math.max(0, texts.length - 1) * separator.length;
  spend(texts.length);
  spendText(
    texts.reduce((sum, text) => sum + text.length, gaps),
    spend,
  );
  return texts.join(separator);
}

/** JSON from outside, or a function, as a template sees it. */
export function toValue(given: unknown): Value {
  if (typeof given === "number") return Number.isInteger(given) ? given : new Float(given);
  if (typeof given === "string" || typeof given === "boolean" || given === null || given === undefined) return given;
  if (given instanceof Callable || given instanceof Map) return given as Value; // made here
  if (Array.isArray(given)) return given.map(toValue);
  if (typeof given === "object") return new Map(Object.entries(given).map(([key, value]) => [key, toValue(value)]));
  throw new Error(`a ${typeof given} cannot be given to a template`);
}

export function typeName(value: Value): string {
  if (value === undefined) return "Undefined";
  if (value === null) return "NoneType";
  if (typeof value === "string") return "str";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return "int";
  if (value instanceof Float) return "float";
  if (value instanceof Tuple) return "tuple";
  if (Array.isArray(value)) return "list";
  if (value instanceof Map) return "dict";
  return value instanceof Namespace ? "Namespace" : "function";
}

export function isTrue(value: Value): boolean {
  if (value instanceof Float) return value.value !== 0;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return Boolean(value);
}

/** Of an int, a float or a bool; undefined for what is no number. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  return value instanceof Float ? value.value : undefined;
}

export function equals(a: Value, b: Value, spend: Spend): boolean {
  spend(1);
  if (typeof a === "string" && typeof b === "string") {
    if (a.length === b.length) spendReading(a, spend);
    return a === b;
  }
  if (a === b) return true;
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return left === right;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length || a instanceof Tuple !== b instanceof Tuple) return false;
    return a.every((item, i) => equals(item, b[i], spend));
  }
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([key, value]) => b.has(key) && equals(value, b.get(key), spend));
  }
  return false;
}

/** -1, 0 or 1; throws for what Python does not order. */
export function compare(a: Value, b: Value, spend: Spend): number {
  spend(1);
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return Math.sign(left - right);
  if (typeof a === "string" && typeof b === "string") {
    spend(Math.min(a.length, b.length) / 2);
    return compareText(a, b);
  }
  throw new Error(`${typeName(a)} and ${typeName(b)} cannot be compared`);
}

/** By code point, as Python; JavaScript's < goes by UTF-16 unit, where U+FFFF comes after U+10000. */
function compareText(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === a.length || at === b.length) return Math.sign(a.length - b.length);
  const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
  const isHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
  return isHalf(left) === isHalf(right) ? Math.sign(left - right) : isHalf(left) ? 1 : -1;
}

/** What a `for` goes through, and what `list` makes of it. */
export function itemsOf(value: Value): Value[] {
  if (value instanceof Tuple) return Array.from(value);
  if (Array.isArray(value)) return value;
  if (typeof value === "string") return Array.from(value);
  if (value instanceof Map) return [...value.keys()];
  if (value === undefined) return [];
  throw new Error(`${typeName(value)} is not iterable`);
}

/** As `str(value)`: what `{{ value }}` prints. */
export function print(value: Value, spend: Spend): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : represent(value, spend);
}

/** As `repr(value)`. */
function represent(value: Value, spend: Spend): string {
  spend(3);
  if (typeof value === "string") {
    spendText(4 * value.length, spend);
    return quote(value);
  }
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value === null) return "None";
  if (value === undefined) return "Undefined";
  if (value instanceof Float) return printFloat(value.value);
  if (Array.isArray(value)) {
    const items = joinTexts(
      Array.from(value, (item) => represent(item, spend)),
      ", ",
      spend,
    );
    if (!(value instanceof Tuple)) return `[${items}]`;
    return value.length === 1 ? `(${items},)` : `(${items})`;
  }
  if (value instanceof Map) {
    const entries = [...value].map(([key, item]) => `${represent(key, spend)}: ${represent(item, spend)}`);
    return `{${joinTexts(entries, ", ", spend)}}`;
  }
  throw new Error(`a ${typeName(value)} cannot be printed`);
}

/** A string in Python's quotes: single, unless only single ones are inside. */
function quote(value: string): string {
  const mark = value.includes("'") && !value.includes('"') ? '"' : "'";
  const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", [mark]: `\\${mark}` };
  const inside = value.replace(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (character) => {
    if (character === "'" || character === '"') return named[character] ?? character;
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    const escaped =
      hex.length <= 2 ? `\\x${hex.padStart(2, "0")}` : hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : "";
    return named[character] ?? (escaped || `\\U${hex.padStart(8, "0")}`);
  });
  return mark + inside + mark;
}

/** As Python's `repr`: the shortest digits, with an exponent below 1e-4 and from 1e16. */
function printFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  const digits = Object.is(value, -0) ? "-0" : String(value);
  return digits.includes(".") ? digits : `${digits}.0`;
}

export interface JsonStyle {
  ensureAscii: boolean;
  /** One level's blanks; null: all on one line. */
  indent: string | null;
  itemSeparator: string;
  keySeparator: string;
  sortKeys: boolean;
}

/** As Python's `json.dumps`. */
export function writeJson(value: Value, style: JsonStyle, spend: Spend, margin = "\n"): string {
  spend(3);
  if (typeof value === "string") return writeString(value, style.ensureAscii, spend);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  if (value instanceof Float) {
    const names: Record<string, string> = { nan: "NaN", inf: "Infinity", "-inf": "-Infinity" };
    const printed = printFloat(value.value);
    return names[printed] ?? printed;
  }
  const inner = style.indent === null ? "" : margin + style.indent;
  const wrap = (open: string, parts: string[], close: string): string => {
    if (parts.length === 0) return open + close;
    return (
      open +
      inner +
      joinTexts(parts, style.itemSeparator + inner, spend) +
      (style.indent === null ? "" : margin) +
      close
    );
  };
  if (Array.isArray(value)) {
    return wrap("[", Array.from(value, (item) => writeJson(item, style, spend, inner)), "]"); // prettier-ignore
  }
  if (value instanceof Map) {
    const entries = [...value];
    if (style.sortKeys) entries.sort(([a], [b]) => compare(a, b, spend));
    const part = ([key, item]: [string | number, Value]): string =>
      writeString(String(key), style.ensureAscii, spend) + style.keySeparator + writeJson(item, style, spend, inner);
    return wrap("{", entries.map(part), "}");
  }
  throw new Error(`a ${typeName(value)} has no JSON`);
}

function writeString(value: string, ensureAscii: boolean, spend: Spend): string {
  spendText(2 * value.length, spend);
  const written = JSON.stringify(value);
  if (!ensureAscii) return written;
  return written.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
