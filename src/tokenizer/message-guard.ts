/**
 * Keeps what people write in chat messages from becoming control tokens.
 *
 * A template writes control tokens and messages into one text, and in that text a message that spells `<|im_end|>`
 * looks like the template's own. So before rendering a guard character is put in front of every spelling of a special
 * token inside a message; the tokenizer does not take a guarded spelling for a token, and removes the guards. The
 * guard is a noncharacter that occurs in no message, so nothing else changes, and templates that trim, compare or
 * search the content find it as it was.
 */
import { WordloomError } from "../errors";

export interface GuardedMessages<T> {
  readonly messages: T;
  readonly guard: string;
}

/** U+FDD0 to U+FDEF are noncharacters: never in text that is interchanged, and left alone by normalization. */
const CANDIDATES = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i));

/**
 * @param messages any JSON; every string in it is guarded, and every key that spells a special token
 * @param specials the spellings of the special tokens
 * @param template the text that will be rendered around them
 */
export function guardMessages<T>(messages: T, specials: readonly string[], template: string): GuardedMessages<T> {
  const written = JSON.stringify(messages) + template + specials.join("");
  const guard = unusedNoncharacter(written);
  const spellings = specials.filter((special) => special !== "");
  const guarded = (value: unknown, key: string): unknown => {
    if (typeof value === "string") {
      const wellFormed = value.replace(/\p{Surrogate}/gu, "\ufffd");
      // A role is part of the template's own spelling in some models ("<|" + role + "|>").
      return guardText(wellFormed, spellings, guard, key !== "role");
    }
    if (Array.isArray(value)) return value.map((entry) => guarded(entry, key));
    if (typeof value === "object" && value !== null) {
      const entries = Object.entries(value);
      // Names that a tool's schema gives to its properties are printed, too.
      return Object.fromEntries(
        entries.map(([name, entry]) => [guardText(name, spellings, guard, false), guarded(entry, name)]),
      );
    }
    return value;
  };
  return { messages: guarded(messages, "") as T, guard }; // the same shape, strings for strings
}

/** A character that `written` does not hold. */
export function unusedNoncharacter(written: string): string {
  const unused = CANDIDATES.find((candidate) => !written.includes(candidate));
  if (unused !== undefined) return unused;
  throw new WordloomError("template-failed", "the messages hold every one of the noncharacters U+FDD0 to U+FDEF", {
    remedy: "Remove the noncharacters from the messages.",
  });
}

/** `borders`: also where the text could complete a token together with what the template puts beside it. */
function guardText(text: string, spellings: readonly string[], guard: string, borders: boolean): string {
  const guarded = new Set<number>();
  for (const spelling of spellings) {
    for (let at = text.indexOf(spelling); at >= 0; at = text.indexOf(spelling, at + 1)) guarded.add(at);
  }
  if (borders) {
    // Templates often trim, so the borders of the trimmed text count too.
    for (const [from, to] of [
      [0, text.length],
      [text.length - text.trimStart().length, text.trimEnd().length],
    ] as const) {
      const inner = text.slice(from, to);
      if (spellings.some((spelling) => startsInside(inner, spelling))) guarded.add(from);
      if (spellings.some((spelling) => endsInside(inner, spelling))) guarded.add(to);
    }
  }
  if (guarded.size === 0) return text;
  let result = "";
  for (let at = 0; at <= text.length; at++) result += (guarded.has(at) ? guard : "") + text.charAt(at);
  return result;
}

/** The text begins with the rest of a spelling, of which the template may have written the beginning. */
function startsInside(text: string, spelling: string): boolean {
  for (let cut = 1; cut < spelling.length; cut++) if (text.startsWith(spelling.slice(cut))) return true;
  return false;
}

/** The text ends with the beginning of a spelling, of which the template may write the rest. */
function endsInside(text: string, spelling: string): boolean {
  for (let cut = 1; cut < spelling.length; cut++) if (text.endsWith(spelling.slice(0, cut))) return true;
  return false;
}
