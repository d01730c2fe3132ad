/**
 * Regular expressions of JavaScript → expressions. What would need more than a grammar (looking around, references back,
 * borders of words) is refused by its place; nothing is read in another meaning than JavaScript's with the flag `u`.
 */
import { WordloomError } from "../errors";
import { ALL_CHARS, charsOf, charSet, complement, LAST_CODE_POINT, minus, union, type CharSet } from "./char-set";
import { choice, chars, EMPTY, repeat, sequence, type Expression } from "./expression";

const MAX_LENGTH = 4096;
const MAX_DEPTH = 64;
const MAX_COUNT = 10_000;

const DIGITS: CharSet = charSet([[0x30, 0x39]]);
const WORD: CharSet = union(DIGITS, charSet([[0x41, 0x5a]]), charSet([[0x61, 0x7a]]), charsOf("_"));
const SPACE: CharSet = union(
  charsOf("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"),
  charSet([[0x2000, 0x200a]]),
);
const LINE_ENDS = charsOf("\n\r\u2028\u2029");
const CLASSES: Readonly<Record<string, CharSet>> = {
  d: DIGITS,
  w: WORD,
  s: SPACE,
  D: complement(DIGITS),
  W: complement(WORD),
  S: complement(SPACE),
};
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11 };

export interface RegexOptions {
  /** What it is called in messages. */
  name: string;
  flags?: string;
  /** "all": the whole text is matched, anchored or not. "part": any part, unless it is anchored. */
  matches: "all" | "part";
}

/**
 * The texts that it matches.
 *
 * @throws WordloomError option-invalid, with the place of what is not understood
 */
export function regexExpression(source: string, { name, flags = "", matches }: RegexOptions): Expression {
  if (source.length > MAX_LENGTH) {
    throw new WordloomError(
      "option-invalid",
      `${name} has ${source.length} characters; at most ${MAX_LENGTH} are read`,
    );
  }
  const unknown = Array.from(flags).find((flag) => !"usdgy".includes(flag));
  if (unknown !== undefined) {
    throw new WordloomError("option-invalid", `${name} has the flag "${unknown}"; only u and s change what is matched`);
  }
  return new RegexReader(source, name, flags.includes("s"), matches).read();
}

class RegexReader {
  #at = 0;
  #depth = 0;
  readonly #source: readonly string[];
  readonly #any: CharSet;

  constructor(
    source: string,
    private readonly name: string,
    dotAll: boolean,
    private readonly matches: "all" | "part",
  ) {
    this.#source = Array.from(source);
    this.#any = dotAll ? ALL_CHARS : minus(ALL_CHARS, LINE_ENDS);
  }

  read(): Expression {
    const options = [this.#anchored()];
    while (this.#take("|")) options.push(this.#anchored());
    if (this.#peek() !== undefined) throw this.#refusal('a ")" without its "("');
    return choice(...options);
  }

  /** One alternative of the whole, with its anchors. */
  #anchored(): Expression {
    const anything = repeat(chars(ALL_CHARS), 0, Infinity);
    const isPart = this.matches === "part";
    const start = this.#take("^") || !isPart ? EMPTY : anything;
    const body = this.#sequence();
    const end = this.#take("$") || !isPart ? EMPTY : anything;
    if (this.#peek() === "$" || (this.#peek() !== undefined && this.#peek() !== "|" && this.#peek() !== ")")) {
      throw this.#refusal('"$" before the end of an alternative');
    }
    return sequence(start, body, end);
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    for (;;) {
      const next = this.#peek();
      if (next === undefined || next === "|" || next === ")" || (next === "$" && this.#depth === 0)) break;
      parts.push(this.#quantified(this.#atom()));
    }
    return sequence(...parts);
  }

  #atom(): Expression {
    const char = this.#next();
    switch (char) {
      case "(":
        return this.#group();
      case "[":
        return chars(this.#class());
      case ".":
        return chars(this.#any);
      case "\\":
        return chars(this.#escape(false));
      case "^":
      case "$":
        throw this.#refusal(`"${char}" inside; it is read at the very beginning or end only`);
      case "*":
      case "+":
      case "?":
      case "{":
      case "}":
      case "]":
        throw this.#refusal(`"${char}" that repeats or closes nothing; as a character it is "\\${char}"`);
      default:
        return chars(charsOf(char));
    }
  }

  #group(): Expression {
    if (++this.#depth > MAX_DEPTH) throw this.#refusal(`groups within groups, more than ${MAX_DEPTH} deep`);
    if (this.#take("?")) {
      if (this.#take("<")) {
        if (this.#peek() === "=" || this.#peek() === "!") throw this.#refusal("looking behind");
        while (this.#next() !== ">");
      } else if (!this.#take(":")) {
        throw this.#refusal(this.#peek() === "=" || this.#peek() === "!" ? "looking ahead" : "a kind of group");
      }
    }
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    if (!this.#take(")")) throw this.#refusal('a "(" without its ")"');
    this.#depth--;
    return choice(...options);
  }

  #quantified(atom: Expression): Expression {
    const bounds = this.#bounds();
    if (bounds === undefined) return atom;
    this.#take("?"); // as few as possible: the texts are the same
    if (this.#bounds() !== undefined) throw this.#refusal("a repetition of a repetition");
    return repeat(atom, bounds[0], bounds[1]);
  }

  #bounds(): [min: number, max: number] | undefined {
    if (this.#take("*")) return [0, Infinity];
    if (this.#take("+")) return [1, Infinity];
    if (this.#take("?")) return [0, 1];
    if (!this.#take("{")) return undefined;
    const min = this.#count();
    const max = this.#take(",") ? (this.#peek() === "}" ? Infinity : this.#count()) : min;
    if (!this.#take("}")) throw this.#refusal('a "{" that is no repetition');
    if (max < min) throw this.#refusal(`a repetition of ${min} to ${max}`);
    return [min, max];
  }

  #count(): number {
    let digits = "";
    while (/[0-9]/.test(this.#peek() ?? "")) digits += this.#next();
    if (digits === "" || Number(digits) > MAX_COUNT) throw this.#refusal(`a repetition that is not 0 to ${MAX_COUNT}`);
    return Number(digits);
  }

  /** After "[". */
  #class(): CharSet {
    const isNegated = this.#take("^");
    let set: CharSet = [];
    while (!this.#take("]")) {
      const first = this.#classAtom();
      if (this.#peek() === "-" && this.#source[this.#at + 1] !== "]") {
        this.#at++;
        const last = this.#classAtom();
        const [from, to] = [single(first), single(last)];
        if (from === undefined || to === undefined || from > to)
          throw this.#refusal("a range whose ends are in no order");
        set = union(set, charSet([[from, to]]));
      } else set = union(set, first);
    }
    return isNegated ? complement(set) : set;
  }

  #classAtom(): CharSet {
    const char = this.#next();
    return char === "\\" ? this.#escape(true) : charsOf(char);
  }

  /** After the backslash. */
  #escape(inClass: boolean): CharSet {
    const char = this.#next();
    if (Object.hasOwn(CLASSES, char)) return CLASSES[char] ?? [];
    if (Object.hasOwn(CONTROLS, char)) return charSet([[CONTROLS[char] ?? 0, CONTROLS[char] ?? 0]]);
    if (char === "b" && inClass) return charSet([[8, 8]]);
    if (char === "b" || char === "B") throw this.#refusal(`"\\${char}", a border of a word`);
    if (char === "p" || char === "P") throw this.#refusal(`"\\${char}", a property of Unicode`);
    if (char === "k" || /[1-9]/.test(char)) throw this.#refusal(`"\\${char}", a reference back`);
    if (char === "0" && !/[0-9]/.test(this.#peek() ?? "")) return charSet([[0, 0]]);
    if (char === "x") return this.#code(2);
    if (char === "u") return this.#take("{") ? this.#code(undefined) : this.#codeUnits();
    if (char === "c" && /[A-Za-z]/.test(this.#peek() ?? "")) return this.#one(this.#next().charCodeAt(0) % 32);
    if (/[A-Za-z0-9]/.test(char)) throw this.#refusal(`"\\${char}", which means nothing`);
    return charsOf(char);
  }

  #codeUnits(): CharSet {
    const high = this.#hex(4);
    if (high < 0xd800 || high > 0xdbff) return this.#one(high);
    if (!(this.#take("\\") && this.#take("u"))) throw this.#refusal("half a character");
    const low = this.#hex(4);
    return this.#one(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
  }

  #code(digits: number | undefined): CharSet {
    return this.#one(this.#hex(digits));
  }

  #one(codePoint: number): CharSet {
    if (codePoint > LAST_CODE_POINT) throw this.#refusal("a character beyond Unicode");
    const set = charSet([[codePoint, codePoint]]);
    if (set.length === 0) throw this.#refusal("half a character");
    return set;
  }

  /** @param digits undefined: up to the closing brace */
  #hex(digits: number | undefined): number {
    let read = "";
    while (read.length < (digits ?? 8) && /[0-9A-Fa-f]/.test(this.#peek() ?? "")) read += this.#next();
    if (read === "" || (digits !== undefined && read.length < digits))
      throw this.#refusal("a number that is not whole");
    if (digits === undefined && !this.#take("}")) throw this.#refusal("a number that is not whole");
    return Number.parseInt(read, 16);
  }

  #peek(): string | undefined {
    return this.#source[this.#at];
  }

  #next(): string {
    const char = this.#peek();
    if (char === undefined) throw this.#refusal("the end, where something was to follow");
    this.#at++;
    return char;
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at++;
    return true;
  }

  #refusal(what: string): WordloomError {
    const source = this.#source.join("");
    const shown = source.length > 60 ? `${source.slice(0, 60)}…` : source;
    return new WordloomError(
      "option-invalid",
      `${this.name}, /${shown}/, has at ${this.#at} what is not supported: ${what}`,
      {
        remedy: "Write it with characters, classes, groups, | and repetitions; it has to match the whole answer.",
      },
    );
  }
}

/** The one code point of a set of one. */
function single(set: CharSet): number | undefined {
  const [range] = set;
  return set.length === 1 && range && range[0] === range[1] ? range[0] : undefined;
}
