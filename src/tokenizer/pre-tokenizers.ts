/** The `pre_tokenizer` of tokenizer.json: text → the words that the model cuts into pieces one by one. */
import { spellBytes } from "./byte-alphabet";
import { flag, list, record, text, typeOf, unsupported, type JsonRecord } from "./json-fields";
import { compileOniguruma, compilePattern, escapeLiteral } from "./pattern";

/** `first`: the first word begins where the whole text begins. Empty words are dropped by the caller. */
export type PreTokenize = (words: readonly string[], first: boolean) => string[];

type Behavior = "Removed" | "Isolated" | "MergedWithPrevious" | "MergedWithNext" | "Contiguous";
const BEHAVIORS: readonly string[] = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"];

/** GPT-2's words; Radford et al. 2019, gpt-2/src/encoder.py. */
const GPT2_WORDS = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
const PUNCTUATION = "\\p{P}$+<=>^`|~";

/**
 * @param config `pre_tokenizer` of tokenizer.json; null or absent: the text is one word
 * @throws `tokenizer-unsupported` for a kind that is not computed exactly, `file-invalid` for a wrong shape
 */
export function createPreTokenizer(config: unknown, place = "pre_tokenizer"): PreTokenize {
  if (config === null || config === undefined) return (words) => [...words];
  const component = record(config, place);
  const type = typeOf(component, place);
  switch (type) {
    case "Sequence": {
      const steps = list(component["pretokenizers"], `${place}.pretokenizers`).map((step, i) =>
        createPreTokenizer(step, `${place}.pretokenizers[${i}]`),
      );
      return (words, first) =>
        steps.reduce((current, step) => step(current, first).filter((word) => word !== ""), [...words]);
    }
    case "ByteLevel": {
      const prefixed = flag(component["add_prefix_space"], `${place}.add_prefix_space`, true);
      const pattern = flag(component["use_regex"], `${place}.use_regex`, true)
        ? compileOniguruma(GPT2_WORDS)
        : undefined;
      return each((word) => {
        const whole = prefixed && !word.startsWith(" ") ? ` ${word}` : word;
        return (pattern === undefined ? [whole] : split(whole, pattern, "Isolated", false)).map(spellBytes);
      });
    }
    case "Split": {
      const pattern = compilePattern(component["pattern"], `${place}.pattern`);
      const behavior = behaviorOf(component, place, undefined);
      const invert = flag(component["invert"], `${place}.invert`, false);
      return each((word) => (pattern === undefined ? [word] : split(word, pattern, behavior, invert)));
    }
    case "Metaspace":
      return metaspace(component, place);
    case "Digits": {
      const individual = flag(component["individual_digits"], `${place}.individual_digits`, false);
      return each((word) => split(word, /\p{N}/gu, individual ? "Isolated" : "Contiguous", false));
    }
    case "Punctuation": {
      const behavior = behaviorOf(component, place, "Isolated");
      return each((word) => split(word, new RegExp(`[${PUNCTUATION}]`, "gu"), behavior, false));
    }
    case "Whitespace":
      return each((word) => split(word, new RegExp(`[${WORD}]+|[^${WORD}\\p{White_Space}]+`, "gu"), "Removed", true));
    case "WhitespaceSplit":
      return each((word) => split(word, /\p{White_Space}/gu, "Removed", false));
    case "BertPreTokenizer":
      return each((word) =>
        split(word, /\p{White_Space}/gu, "Removed", false).flatMap((part) =>
          split(part, new RegExp(`[${PUNCTUATION}]`, "gu"), "Isolated", false),
        ),
      );
    case "CharDelimiterSplit": {
      const delimiter = new RegExp(escapeLiteral(text(component["delimiter"], `${place}.delimiter`)), "gu");
      return each((word) => split(word, delimiter, "Removed", false));
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
  const replacement = text(component["replacement"], `${place}.replacement`);
  const prefixed = flag(component["add_prefix_space"], `${place}.add_prefix_space`, true);
  const scheme = text(component["prepend_scheme"] ?? (prefixed ? "always" : "never"), `${place}.prepend_scheme`);
  if (!["always", "first", "never"].includes(scheme)) throw unsupported(`the prepend_scheme ${scheme}`);
  const divided = flag(component["split"], `${place}.split`, true);
  const pattern = new RegExp(escapeLiteral(replacement), "gu");
  return (words, first) =>
    words.flatMap((word, i) => {
      let spelled = word.replaceAll(" ", replacement);
      const prepends = scheme === "always" || (scheme === "first" && first && i === 0);
      if (prepends && !spelled.startsWith(replacement)) spelled = replacement + spelled;
      return divided ? split(spelled, pattern, "MergedWithNext", false) : [spelled];
    });
}

/**
 * Cuts `word` at the matches of `pattern`. `invert`: what lies between the matches counts as the match.
 * The behaviours are those of the Hugging Face tokenizers.
 */
function split(word: string, pattern: RegExp, behavior: Behavior, invert: boolean): string[] {
  const parts: { text: string; matched: boolean }[] = [];
  let end = 0;
  for (const match of word.matchAll(pattern)) {
    if (match.index > end) parts.push({ text: word.slice(end, match.index), matched: invert });
    parts.push({ text: match[0], matched: !invert }); // an empty match cuts as well
    end = match.index + match[0].length;
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
