/**
 * The patterns of a tokenizer.json, bound in time: those of published tokenizers run on RegExp, which is quickest and, on
 * them, never goes far back; a pattern that nobody here has seen runs on bounded-pattern.ts, with the same matches.
 */
import { BoundedPattern, PatternTooHard } from "./bounded-pattern";
import { invalid, isRecord, text, unsupported } from "./json-fields";
import { compileOniguruma } from "./pattern";
import { isPublishedPattern } from "./published-patterns";
import { checkGrowth, checkSpelling } from "./tokenizer-limits";

export interface PatternMatch {
  /** In UTF-16 units. */
  index: number;
  text: string;
}

export interface TextPattern {
  /** One after the other, without overlaps; empty ones, too. As `String.matchAll`. */
  matchesIn(text: string): Iterable<PatternMatch>;
}

/** `{ "String": … }` or `{ "Regex": … }`; undefined for an empty string. */
export function readPattern(pattern: unknown, place: string): TextPattern | undefined {
  if (!isRecord(pattern)) throw invalid(place, 'an object with "String" or "Regex"');
  if ("String" in pattern) return literalPattern(text(pattern["String"], `${place}.String`));
  if ("Regex" in pattern) return onigurumaPattern(text(pattern["Regex"], `${place}.Regex`));
  throw invalid(place, 'an object with "String" or "Regex"');
}

export function onigurumaPattern(source: string): TextPattern {
  const native = compileOniguruma(source);
  if (isPublishedPattern(source)) return nativePattern(native);
  const failing = <T>(act: () => T): T => {
    try {
      return act();
    } catch (error) {
      if (error instanceof PatternTooHard) throw unsupported(`the pattern ${source}, which ${error.message},`);
      throw error;
    }
  };
  const bounded = failing(() => new BoundedPattern(native.source));
  return { matchesIn: (value) => failing(() => Array.from(bounded.matchesIn(value))) };
}

/** For patterns of this project's own, which look at one character at a time. */
export function nativePattern(pattern: RegExp): TextPattern {
  return {
    *matchesIn(value) {
      for (const match of value.matchAll(pattern)) yield { index: match.index, text: match[0] };
    },
  };
}

/** @returns undefined for an empty one */
export function literalPattern(literal: string): TextPattern | undefined {
  checkSpelling(literal, "a string to look for");
  if (literal === "") return undefined;
  return {
    *matchesIn(value) {
      for (let at = value.indexOf(literal); at >= 0; at = value.indexOf(literal, at + literal.length)) {
        yield { index: at, text: literal };
      }
    },
  };
}

/** Each match replaced by `content`. @throws WordloomError tokenizer-unsupported where the text grows without measure */
export function replaceMatches(value: string, pattern: TextPattern, content: string): string {
  let result = "";
  let done = 0;
  for (const match of pattern.matchesIn(value)) {
    result += value.slice(done, match.index) + content;
    done = match.index + match.text.length;
    checkGrowth(value.length, result.length, "a replacement");
  }
  return done === 0 && result === "" ? value : result + value.slice(done);
}
