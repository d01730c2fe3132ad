/**
 * Which texts are beginnings of a grammar's texts, by derivatives (Brzozowski 1964): slow, short, and nothing like
 * xgrammar, whose masks are compared with it.
 */
import { hasChar, intersection, type CharSet } from "../structured/char-set";
import { chars, choice, EMPTY, isImpossible, repeat, sequence, text } from "../structured/expression";
import type { Expression, Grammar } from "../structured/expression";

/** A beginning of one of a grammar's texts, the last character of which may be cut. */
export class Beginning {
  private constructor(
    private readonly grammar: Grammar,
    private readonly rest: Expression,
    private readonly cut: Uint8Array,
  ) {}

  static of(grammar: Grammar): Beginning {
    return new Beginning(grammar, grammar.root, new Uint8Array(0));
  }

  get canEnd(): boolean {
    return this.cut.length === 0 && isNullable(this.rest, this.grammar);
  }

  /** @returns undefined where that is no beginning */
  after(bytes: Uint8Array): Beginning | undefined {
    const { whole, cut } = splitUtf8(Uint8Array.from([...this.cut, ...bytes]));
    if (whole === undefined || /[\u2028\u2029]/.test(whole)) return undefined; // line separators are never written
    let rest = this.rest;
    for (const char of whole) {
      rest = after(rest, char.codePointAt(0) ?? 0, this.grammar);
      if (isImpossible(rest)) return undefined;
    }
    const isPossible =
      cut.length === 0 || intersection(firstOf(rest, this.grammar), charsBeginningWith(cut)).length > 0;
    return isPossible ? new Beginning(this.grammar, rest, cut) : undefined;
  }
}

function isNullable(expression: Expression, grammar: Grammar, within: readonly string[] = []): boolean {
  const inside = (one: Expression) => isNullable(one, grammar, within);
  switch (expression.kind) {
    case "text":
      return expression.text === "";
    case "chars":
      return false;
    case "sequence":
      return expression.parts.every(inside);
    case "choice":
      return expression.options.some(inside);
    case "repeat":
      return expression.min === 0 || inside(expression.body);
    case "rule":
      if (within.includes(expression.name)) return false;
      return isNullable(bodyOf(expression.name, grammar), grammar, [...within, expression.name]);
  }
}

function after(expression: Expression, char: number, grammar: Grammar): Expression {
  switch (expression.kind) {
    case "text": {
      const [first, ...rest] = Array.from(expression.text);
      return first?.codePointAt(0) === char ? text(rest.join("")) : chars([]);
    }
    case "chars":
      return hasChar(expression.set, char) ? EMPTY : chars([]);
    case "sequence": {
      const options: Expression[] = [];
      for (const [at, part] of expression.parts.entries()) {
        options.push(sequence(after(part, char, grammar), ...expression.parts.slice(at + 1)));
        if (!isNullable(part, grammar)) break;
      }
      return oneOf(options);
    }
    case "choice":
      return oneOf(expression.options.map((option) => after(option, char, grammar)));
    case "repeat": {
      const { body, min, max } = expression;
      return oneOf([sequence(after(body, char, grammar), repeat(body, Math.max(0, min - 1), max - 1))]);
    }
    case "rule":
      return after(bodyOf(expression.name, grammar), char, grammar);
  }
}

/** The possible ones, each once: what is left of a text must not grow with every character. */
function oneOf(options: readonly Expression[]): Expression {
  const possible = options.filter((option) => !isImpossible(option));
  const distinct = new Map(possible.map((option) => [JSON.stringify(option), option]));
  return distinct.size === 0 ? chars([]) : choice(...distinct.values());
}

function firstOf(expression: Expression, grammar: Grammar): CharSet {
  switch (expression.kind) {
    case "text": {
      const code = expression.text.codePointAt(0);
      return code === undefined ? [] : [[code, code]];
    }
    case "chars":
      return expression.set;
    case "sequence": {
      const sets: CharSet[] = [];
      for (const part of expression.parts) {
        sets.push(firstOf(part, grammar));
        if (!isNullable(part, grammar)) break;
      }
      return sets.flat();
    }
    case "choice":
      return expression.options.flatMap((option) => firstOf(option, grammar));
    case "repeat":
      return firstOf(expression.body, grammar);
    case "rule":
      return firstOf(bodyOf(expression.name, grammar), grammar);
  }
}

function bodyOf(name: string, { rules }: Grammar): Expression {
  const body = rules.get(name);
  if (!body) throw new Error(`no rule ${name}`);
  return body;
}

/** Whole characters, and the bytes of one that is cut; `whole` undefined where it is no UTF-8. */
function splitUtf8(bytes: Uint8Array): { whole: string | undefined; cut: Uint8Array } {
  for (let length = 0; length <= Math.min(3, bytes.length); length++) {
    const cut = bytes.subarray(bytes.length - length);
    if (length > 0 && charsBeginningWith(cut).length === 0) continue;
    try {
      const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
      return { whole: decoder.decode(bytes.subarray(0, bytes.length - length)), cut };
    } catch {
      continue; // another cut may do
    }
  }
  return { whole: undefined, cut: new Uint8Array(0) };
}

/** @param cut the first bytes of a character, not all of them; none: no character begins so */
function charsBeginningWith(cut: Uint8Array): CharSet {
  const [lead = 0, ...more] = cut;
  const length =
    lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 0;
  if (length <= cut.length || more.some((byte) => byte >> 6 !== 2)) return [];
  const shift = 6 * (length - cut.length);
  const first = more.reduce((code, byte) => (code << 6) | (byte & 63), lead & (0xff >> (length + 1))) << shift;
  const least = length === 2 ? 0x80 : length === 3 ? 0x800 : 0x10000;
  const range: CharSet = [[Math.max(first, least), Math.min(first + 2 ** shift - 1, 0x10ffff)]];
  return range[0] && range[0][0] <= range[0][1]
    ? intersection(range, [
        [0, 0xd7ff],
        [0xe000, 0x10ffff],
      ])
    : [];
}
