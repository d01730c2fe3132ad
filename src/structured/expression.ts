/** Grammars as trees of expressions, and their text in xgrammar's EBNF. */
import { charsOf, hasChar, minus, type CharSet } from "./char-set";
import { escaped, printedSet, placesInSet } from "./ebnf-chars";

export type Expression =
  | { kind: "text"; text: string }
  /** One character of it; of an empty set there is none. */
  | { kind: "chars"; set: CharSet }
  | { kind: "sequence"; parts: readonly Expression[] }
  | { kind: "choice"; options: readonly Expression[] }
  | { kind: "repeat"; body: Expression; min: number; max: number }
  | { kind: "rule"; name: string };

export interface Grammar {
  root: Expression;
  /** By name; none is called "root". */
  rules: ReadonlyMap<string, Expression>;
}

export const text = (text: string): Expression => ({ kind: "text", text });
export const chars = (set: CharSet): Expression => ({ kind: "chars", set });
export const rule = (name: string): Expression => ({ kind: "rule", name });
export const EMPTY: Expression = { kind: "sequence", parts: [] };

export function sequence(...parts: readonly Expression[]): Expression {
  const flat = parts.flatMap((part) => (part.kind === "sequence" ? part.parts : [part]));
  return flat.length === 1 && flat[0] ? flat[0] : { kind: "sequence", parts: flat };
}

/** @param options at least one */
export function choice(...options: readonly Expression[]): Expression {
  return options.length === 1 && options[0] ? options[0] : { kind: "choice", options };
}

export function optional(body: Expression): Expression {
  return choice(EMPTY, body);
}

/** @param max Infinity: without end */
export function repeat(body: Expression, min: number, max: number): Expression {
  if (max === 0) return EMPTY;
  return min === 1 && max === 1 ? body : { kind: "repeat", body, min, max };
}

/** In the spelling of xgrammar's EBNF parser. */
export function ebnfOf({ root, rules }: Grammar): string {
  const lines = [`root ::= ${printed(root)}`];
  for (const [name, body] of rules) lines.push(`${name} ::= ${printed(body)}`);
  return lines.join("\n");
}

/**
 * How many places for a character there are when all repetitions are written out: what compiling takes grows with it.
 * A repetition without end is its least number, and one more.
 */
export function placesOf({ root, rules }: Grammar): number {
  return [root, ...rules.values()].reduce((sum, body) => sum + placesIn(body), 0);
}

function placesIn(expression: Expression): number {
  switch (expression.kind) {
    case "text":
      return expression.text.length;
    case "chars":
      return placesInSet(expression.set);
    case "rule":
      return 1;
    case "sequence":
      return expression.parts.reduce((sum, part) => sum + placesIn(part), 0);
    case "choice":
      return expression.options.reduce((sum, option) => sum + placesIn(option), 0);
    case "repeat":
      return placesIn(expression.body) * (expression.max === Infinity ? expression.min + 1 : expression.max);
  }
}

function printed(expression: Expression): string {
  switch (expression.kind) {
    case "text":
      return `"${Array.from(expression.text, (char) => escaped(char.codePointAt(0) ?? 0)).join("")}"`;
    case "chars":
      return printedSet(expression.set);
    case "rule":
      return expression.name;
    case "sequence":
      return expression.parts.length === 0 ? '""' : `(${expression.parts.map(printed).join(" ")})`;
    case "choice":
      return `(${expression.options.map(printed).join(" | ")})`;
    case "repeat": {
      const { min, max } = expression;
      return `(${printed(expression.body)})${max === Infinity ? `{${min},}` : `{${min},${max}}`}`;
    }
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CONTROLS: CharSet = [[0, 0x1f]];
const SHORT_ESCAPES: readonly [codePoint: number, escape: string][] = [
  [QUOTE, '\\"'],
  [BACKSLASH, "\\\\"],
  [0x08, "\\b"],
  [0x0c, "\\f"],
  [0x0a, "\\n"],
  [0x0d, "\\r"],
  [0x09, "\\t"],
];

/**
 * The same texts as they stand between the quotes of a JSON string: each character has one spelling, its short escape
 * where it needs one. Control characters that have none are left out; of a rule its name is kept.
 */
export function inJsonString(expression: Expression): Expression {
  switch (expression.kind) {
    case "text":
      return text(JSON.stringify(expression.text).slice(1, -1));
    case "chars": {
      const { set } = expression;
      const plain = minus(minus(set, CONTROLS), charsOf('"\\'));
      const escapes = SHORT_ESCAPES.filter(([codePoint]) => hasChar(set, codePoint)).map(([, escape]) => text(escape));
      const options = [...(plain.length > 0 ? [chars(plain)] : []), ...escapes];
      return options.length > 0 ? choice(...options) : chars([]);
    }
    case "sequence":
      return sequence(...expression.parts.map(inJsonString));
    case "choice":
      return choice(...expression.options.map(inJsonString));
    case "repeat":
      return repeat(inJsonString(expression.body), expression.min, expression.max);
    case "rule":
      return expression;
  }
}

/** Whether no text at all is one of it, as far as that is seen without following rules. */
export function isImpossible(expression: Expression): boolean {
  switch (expression.kind) {
    case "chars":
      return expression.set.length === 0;
    case "sequence":
      return expression.parts.some(isImpossible);
    case "choice":
      return expression.options.every(isImpossible);
    case "repeat":
      return expression.min > 0 && isImpossible(expression.body);
    case "text":
    case "rule":
      return false;
  }
}

/** Without the options that no text is one of, which xgrammar has no spelling for. */
export function withoutImpossible(expression: Expression): Expression {
  switch (expression.kind) {
    case "sequence":
      return sequence(...expression.parts.map(withoutImpossible));
    case "choice":
      return choice(...expression.options.filter((option) => !isImpossible(option)).map(withoutImpossible));
    case "repeat":
      return isImpossible(expression.body) ? EMPTY : { ...expression, body: withoutImpossible(expression.body) };
    default:
      return expression;
  }
}
