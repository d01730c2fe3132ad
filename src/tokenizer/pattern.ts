/**
 * Patterns of tokenizer.json → JavaScript's RegExp, exactly.
 *
 * The files are written for Oniguruma (Ruby syntax, Unicode). Read as JavaScript the same text means something else:
 * `\s` there includes U+0085 and not U+FEFF (the byte order mark), `\d` and `\w` are Unicode, `.` stops at "\n" only,
 * `^` and `$` stand at lines, `(?i:…)` is not understood by every browser, and needless backslashes are errors.
 * What cannot be carried over exactly is refused.
 */
import { unsupported } from "./json-fields";
import { MAX_PATTERN_DEPTH, MAX_PATTERN_LENGTH } from "./tokenizer-limits";

const CLASSES: Readonly<Record<string, string>> = {
  s: "\\p{White_Space}",
  S: "\\P{White_Space}",
  d: "\\p{Nd}",
  D: "\\P{Nd}",
};
const WORD = "\\p{L}\\p{M}\\p{Nd}\\p{Pc}";
/** Letters with further equals under Unicode's simple case folding: the long s and the Kelvin sign. */
const FOLDED: Readonly<Record<string, string>> = { s: "\u017f", k: "\u212a" };

function escapeLiteral(literal: string): string {
  return literal.replace(/[$()*+.?[\\\]^{|}/]/g, "\\$&");
}

/**
 * As a RegExp with the flags g and u, whose `source` is the translation.
 *
 * @throws WordloomError tokenizer-unsupported for what cannot be carried over, and for a pattern that is too long
 */
export function compileOniguruma(source: string): RegExp {
  if (source.length > MAX_PATTERN_LENGTH) {
    throw unsupported(`a pattern of ${source.length} characters (at most ${MAX_PATTERN_LENGTH} are read)`);
  }
  const translated = new Translation(source).whole();
  try {
    return new RegExp(translated, "gu");
  } catch (cause) {
    throw unsupported(`the pattern ${source} (${cause instanceof Error ? cause.message : String(cause)})`);
  }
}

class Translation {
  private at = 0;
  private depth = 0;

  constructor(private readonly source: string) {}

  whole(): string {
    const result = this.alternatives(false);
    if (this.at < this.source.length) throw this.refuse("an unmatched )");
    return result;
  }

  /** Up to the closing parenthesis of the group, or the end. */
  private alternatives(ignoreCase: boolean): string {
    if (++this.depth > MAX_PATTERN_DEPTH) throw this.refuse(`groups more than ${MAX_PATTERN_DEPTH} deep`);
    let result = "";
    while (this.at < this.source.length && this.source[this.at] !== ")") {
      const character = this.character();
      switch (character) {
        case "(":
          result += this.group(ignoreCase);
          break;
        case "[":
          result += this.characterClass(ignoreCase);
          break;
        case "\\":
          result += this.escape(false);
          break;
        case ".":
          result += "[^\\n]";
          break;
        case "^":
          result += "(?<![^\\n])";
          break;
        case "$":
          result += "(?![^\\n])";
          break;
        case "|":
          result += "|";
          break;
        case "*":
        case "+":
        case "?":
          result += this.quantifier(character);
          break;
        case "{":
          result += this.braces();
          break;
        default:
          result += ignoreCase ? eitherCase(character) : escapeLiteral(character);
      }
    }
    this.depth -= 1;
    return result;
  }

  private group(ignoreCase: boolean): string {
    let opening = "(?:"; // nothing here refers back to a group
    if (this.source[this.at] === "?") {
      const form = /^\?(?:[:=!]|<[=!]|i:|-i:)/.exec(this.source.slice(this.at))?.[0];
      if (form !== undefined) this.at += form.length;
      if (form === "?i:") ignoreCase = true;
      else if (form === "?-i:") ignoreCase = false;
      else if (form !== undefined) opening = `(${form}`;
      else if (this.source.startsWith("?i)", this.at)) {
        // From here to the end of the enclosing group.
        this.at += "?i)".length;
        return `(?:${this.alternatives(true)})`;
      } else throw this.refuse("a group of this form");
    }
    const inner = this.alternatives(ignoreCase);
    if (this.source[this.at] !== ")") throw this.refuse("an unmatched (");
    this.at += 1;
    return `${opening}${inner})`;
  }

  private quantifier(sign: string): string {
    if (this.source[this.at] === "+") throw this.refuse("a possessive quantifier");
    return sign;
  }

  private braces(): string {
    const rest = /^(\d*)(,?)(\d*)\}/.exec(this.source.slice(this.at));
    if (rest === null || (rest[1] === "" && rest[3] === "")) return "\\{";
    this.at += rest[0].length;
    if (this.source[this.at] === "+") throw this.refuse("a repeated quantifier");
    return `{${rest[1] === "" ? "0" : rest[1]}${rest[2]}${rest[3]}}`;
  }

  private characterClass(ignoreCase: boolean): string {
    let result = "[";
    if (this.source[this.at] === "^") {
      this.at += 1;
      result += "^";
    }
    const start = this.at;
    for (;;) {
      if (this.at >= this.source.length) throw this.refuse("an unclosed [");
      const character = this.character();
      if (character === "]" && this.at - 1 > start) return `${result}]`;
      if (character === "[") throw this.refuse("a class inside a class");
      if (character === "&" && this.source[this.at] === "&") throw this.refuse("an intersection of classes");
      if (character === "\\") result += this.escape(true);
      else if (character === "-") result += this.at - 1 === start || this.source[this.at] === "]" ? "\\-" : "-";
      else if (ignoreCase && /\p{L}/u.test(character)) result += caseForms(character).join("");
      else result += escapeLiteral(character);
    }
  }

  private escape(inClass: boolean): string {
    if (this.at >= this.source.length) throw this.refuse("a backslash at the end");
    const letter = this.character();
    const known = CLASSES[letter];
    if (known !== undefined) return known;
    switch (letter) {
      case "w":
        return inClass ? WORD : `[${WORD}]`;
      case "W":
        if (inClass) throw this.refuse("\\W in a class");
        return `[^${WORD}]`;
      case "h":
        return inClass ? "0-9a-fA-F" : "[0-9a-fA-F]";
      case "A":
        return "^";
      case "z":
        return "$";
      case "p":
      case "P":
        return this.property(letter);
      case "n":
      case "r":
      case "t":
      case "f":
      case "v":
        return `\\${letter}`;
      case "x":
      case "u":
        return this.codePoint(letter);
    }
    if (/[a-zA-Z0-9]/.test(letter)) throw this.refuse(`\\${letter}`);
    return letter === "-" ? "\\-" : escapeLiteral(letter);
  }

  private property(letter: string): string {
    const name = /^\{(\^?)([\w =]+)\}/.exec(this.source.slice(this.at));
    if (name === null) throw this.refuse(`\\${letter} without {name}`);
    this.at += name[0].length;
    const negated = (letter === "P") !== (name[1] === "^");
    const script = `Script=${name[2]}`;
    const property = isProperty(name[2] ?? "") ? name[2] : isProperty(script) ? script : undefined;
    if (property === undefined) throw this.refuse(`the property ${name[2]}`);
    return `\\${negated ? "P" : "p"}{${property}}`;
  }

  private codePoint(letter: string): string {
    const form = letter === "x" ? /^(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))/ : /^([0-9a-fA-F]{4})/;
    const hex = form.exec(this.source.slice(this.at));
    if (hex === null) throw this.refuse(`\\${letter} without its digits`);
    this.at += hex[0].length;
    return `\\u{${hex[1] ?? hex[2]}}`;
  }

  private character(): string {
    const character = String.fromCodePoint(this.source.codePointAt(this.at) ?? 0);
    this.at += character.length;
    return character;
  }

  private refuse(what: string): Error {
    return unsupported(`${what} in the pattern ${this.source}`);
  }
}

function isProperty(name: string): boolean {
  try {
    return new RegExp(`\\p{${name}}`, "u").source !== "";
  } catch {
    return false; // the only way to ask an engine which properties it knows
  }
}

function caseForms(character: string): string[] {
  const lower = character.toLowerCase();
  const folded = FOLDED[lower];
  return [...new Set([lower, character.toUpperCase(), ...(folded === undefined ? [] : [folded])])];
}

function eitherCase(character: string): string {
  const forms = caseForms(character);
  return forms.length === 1 ? escapeLiteral(character) : `[${forms.join("")}]`;
}
