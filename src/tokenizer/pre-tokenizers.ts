/** The `pre_tokenizer` of tokenizer.json: text → the words that the model cuts into pieces one by one. */
import { spellBytes } from "./byte-alphabet";
import { character, flag, list, record, text, typeOf, unsupported, type JsonRecord } from "./json-fields";
import { GPT2_WORDS } from "./published-patterns";
import { literalPattern, nativePattern, onigurumaPattern, readPattern, type TextPattern } from "./text-pattern";
import { checkGrowth, checkSteps } from "./tokenizer-limits";

/** `first`: the first word begins where the whole text begins. Empty words are dropped by the caller. */
export type PreTokenize = (words: readonly string[], first: boolean) => string[];

type Behavior = "Removed" | "Isolated" | "MergedWithPrevious" | "MergedWithNext" | "Contiguous";
const BEHAVIORS: readonly string[] = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"];

const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";

const DIGIT = nativePattern(/\p{N}/gu);
const BLANK = nativePattern(/\p{White_Space}/gu);
const PUNCTUATION_MARK = nativePattern(/[\p{P}$+<=>^`|~]/gu);
const WORD_OR_SYMBOLS = nativePattern(new RegExp(`[${WORD}]+|[^${WORD}\\p{White_Space}]+`, "gu"));

/**
 * @param config `pre_tokenizer` of tokenizer.json; null or absent: the text is one word
 * @throws `tokenizer-unsupported` for a kind that is not computed exactly, `file-invalid` for a wrong shape
 */
export function createPreTokenizer(config: unknown, place = "pre_tokenizer"): PreTokenize {
  if (config === null || config === undefined) return (words) => [...words];
  const steps = stepsOf(record(config, place), place);
  checkSteps(steps.length, "pre-tokenizers");
  return (words, first) => {
    const given = charactersIn(words);
    return steps.reduce(
      (current, step) => {
        const next = step(current, first);
        checkGrowth(given, charactersIn(next), "a pre-tokenizer");
        return next.filter((word) => word !== "");
      },
      [...words],
    );
  };
}

/** One after the other; a sequence inside a sequence is part of it. */
function stepsOf(component: JsonRecord, place: string): PreTokenize[] {
  if (typeOf(component, place) !== "Sequence") return [createStep(component, place)];
  return list(component["pretokenizers"], `${place}.pretokenizers`).flatMap((step, i) => {
    const inner = `${place}.pretokenizers[${i}]`;
    return step === null ? [] : stepsOf(record(step, inner), inner);
  });
}

function charactersIn(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + word.length, 0);
}

function createStep(component: JsonRecord, place: string): PreTokenize {
  const type = typeOf(component, place);
  switch (type) {
    case "ByteLevel": {
      const prefixed = flag(component["add_prefix_space"], `${place}.add_prefix_space`, true);
      const pattern = flag(component["use_regex"], `${place}.use_regex`, true)
        ? onigurumaPattern(GPT2_WORDS)
        : undefined;
      return each((word) => {
        const whole = prefixed && !word.startsWith(" ") ? ` ${word}` : word;
        return (pattern === undefined ? [whole] : split(whole, pattern, "Isolated", false)).map(spellBytes);
      });
    }
    case "Split": {
      const pattern = readPattern(component["pattern"], `${place}.pattern`);
      const behavior = behaviorOf(component, place, undefined);
      const invert = flag(component["invert"], `${place}.invert`, false);
      return each((word) => (pattern === undefined ? [word] : split(word, pattern, behavior, invert)));
    }
    case "Metaspace":
      return metaspace(component, place);
    case "Digits": {
      const individual = flag(component["individual_digits"], `${place}.individual_digits`, false);
      return each((word) => split(word, DIGIT, individual ? "Isolated" : "Contiguous", false));
    }
    case "Punctuation": {
      const behavior = behaviorOf(component, place, "Isolated");
      return each((word) => split(word, PUNCTUATION_MARK, behavior, false));
    }
    case "Whitespace":
      return each((word) => split(word, WORD_OR_SYMBOLS, "Removed", true));
    case "WhitespaceSplit":
      return each((word) => split(word, BLANK, "Removed", false));
    case "BertPreTokenizer":
      return each((word) =>
        split(word, BLANK, "Removed", false).flatMap((part) => split(part, PUNCTUATION_MARK, "Isolated", false)),
      );
    case "CharDelimiterSplit": {
      const delimiter = character(component["delimiter"], `${place}.delimiter`);
      const pattern = literalPattern(delimiter);
      return each((word) => (pattern === undefined ? [word] : split(word, pattern, "Removed", false)));
    }
    default:
      throw unsupported(`the pre-tokenizer ${type}`);
  }
}

function each(one: (word: string) => string[]): PreTokenize {
  return (words) => words.flatMap(one);
}

function behaviorOf(component: JsonRecord, place: string, absent: Behavior | undefined): Behavior {
  const value = component["behavior"] ?? absent;
  const name = text(value, `${place}.behavior`);
  if (!BEHAVIORS.includes(name)) throw unsupported(`the behavior ${name} of a pre-tokenizer`);
  return name as Behavior; // checked against the list of them
}

/** Spaces become visible; the first word of a text (or each section) gets one in front. */
function metaspace(component: JsonRecord, place: string): PreTokenize {
  const replacement = character(component["replacement"], `${place}.replacement`);
  const prefixed = flag(component["add_prefix_space"], `${place}.add_prefix_space`, true);
  const scheme = text(component["prepend_scheme"] ?? (prefixed ? "always" : "never"), `${place}.prepend_scheme`);
  if (!["always", "first", "never"].includes(scheme)) throw unsupported(`the prepend_scheme ${scheme}`);
  const divided = flag(component["split"], `${place}.split`, true);
  const pattern = literalPattern(replacement);
  return (words, first) =>
    words.flatMap((word, i) => {
      let spelled = word.replaceAll(" ", replacement);
      const prepends = scheme === "always" || (scheme === "first" && first && i === 0);
      if (prepends && !spelled.startsWith(replacement)) spelled = replacement + spelled;
      return divided && pattern !== undefined ? split(spelled, pattern, "MergedWithNext", false) : [spelled];
    });
}

/**
 * Cuts `word` at the matches of `pattern`. `invert`: what lies between the matches counts as the match.
 * The behaviours are those of the Hugging Face tokenizers.
 */
function split(word: string, pattern: TextPattern, behavior: Behavior, invert: boolean): string[] {
  const parts: { text: string; matched: boolean }[] = [];
  let end = 0;
  for (const match of pattern.matchesIn(word)) {
    if (match.index > end) parts.push({ text: word.slice(end, match.index), matched: invert });
    parts.push({ text: match.text, matched: !invert }); // an empty match cuts as well
    end = match.index + match.text.length;
  }
  if (end < word.length) parts.push({ text: word.slice(end), matched: invert });

  const result: string[] = [];
  const append = (part: string) => result.push((result.pop() ?? "") + part);
  switch (behavior) {
    case "Isolated":
      return parts.map((part) => part.text);
    case "Removed":
      return parts.filter((part) => !part.matched).map((part) => part.text);
    case "Contiguous":
      parts.forEach((part, i) => (parts[i - 1]?.matched === part.matched ? append(part.text) : result.push(part.text)));
      return result;
    case "MergedWithPrevious":
      parts.forEach((part, i) =>
        part.matched && parts[i - 1]?.matched === false ? append(part.text) : result.push(part.text),
      );
      return result;
    case "MergedWithNext":
      parts.forEach((part, i) =>
        !part.matched && parts[i - 1]?.matched === true ? append(part.text) : result.push(part.text),
      );
      return result;
  }
}
