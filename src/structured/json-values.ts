/** JSON as it is written here: ", " and ": " between things, no other white space, each character in one spelling. */
import { ALL_CHARS, charsOf, minus } from "./char-set";
import {
  choice,
  chars,
  EMPTY,
  inJsonString,
  optional,
  repeat,
  rule,
  sequence,
  text,
  type Expression,
} from "./expression";
import { decimals } from "./numbers";

export const ANY_CHAR = chars(ALL_CHARS);
/** The rule that any value is. */
export const ANY_VALUE = rule("value");

export function quoted(content: Expression): Expression {
  return sequence(text('"'), inJsonString(content), text('"'));
}

export function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)}: ${valueText(one)}`)
    .join(", ")}}`;
}

/** @param count of items; max may be Infinity */
export function listOf(item: Expression, count: { min: number; max: number }): Expression {
  if (count.max === 0) return EMPTY;
  const items = sequence(item, repeat(sequence(text(", "), item), Math.max(0, count.min - 1), count.max - 1));
  return count.min === 0 ? optional(items) : items;
}

/** Any key, and what follows it. */
export function entry(key: Expression, value: Expression): Expression {
  return sequence(key, text(": "), value);
}

/** Every key but these. */
export function keyOtherThan(names: readonly string[]): Expression {
  return quoted(otherThan(names.map((name) => Array.from(name))));
}

/** Every text but these. */
function otherThan(names: readonly (readonly string[])[]): Expression {
  const rest = repeat(ANY_CHAR, 0, Infinity);
  if (names.length === 0) return rest;
  const firsts = [...new Set(names.flatMap(([first]) => first ?? []))];
  const follow = firsts.map((first) =>
    sequence(text(first), otherThan(names.filter((name) => name[0] === first).map((name) => name.slice(1)))),
  );
  const others = sequence(chars(minus(ALL_CHARS, charsOf(firsts.join("")))), rest);
  return choice(...(names.some((name) => name.length === 0) ? [] : [EMPTY]), others, ...follow);
}

/** What `ANY_VALUE` stands for. */
export function valueRules(): [name: string, body: Expression][] {
  const string = quoted(repeat(ANY_CHAR, 0, Infinity));
  const number = decimals({ ...{ minimum: undefined, maximum: undefined }, ...NO_EXCLUSIVE }) ?? text("0");
  const many = { min: 0, max: Infinity };
  const object = sequence(text("{"), listOf(entry(string, ANY_VALUE), many), text("}"));
  const array = sequence(text("["), listOf(ANY_VALUE, many), text("]"));
  return [["value", choice(string, number, object, array, text("true"), text("false"), text("null"))]];
}

const NO_EXCLUSIVE = { exclusiveMinimum: undefined, exclusiveMaximum: undefined };
