/**
 * The patterns by which published tokenizers cut text into words, as their tokenizer.json spells them. On these RegExp
 * goes back by a run's own length at most, and what it went over belongs to the match; so they may run on it.
 */

/** GPT-2's words; Radford et al. 2019, gpt-2/src/encoder.py. */
export const GPT2_WORDS = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** What llama.cpp cuts by where a file says "default", one after the other. */
export const LLAMA_CPP_DEFAULT: readonly string[] = [
  "[\\p{P}\\$\\+<=>\\^~\\|]+",
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)",
  "\\p{N}+",
  "[0-9][0-9][0-9]",
];

export const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const UPPER = "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}";
const LOWER = "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}";
/** What the patterns after cl100k end with; `slash` belongs to symbols since o200k. */
const symbolsAndSpaces = (slash: string) => ` ?[^\\s\\p{L}\\p{N}]+[\\r\\n${slash}]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
export const cl100k = (digits: string) =>
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}|${symbolsAndSpaces("")}`;
/** Since o200k: capitals begin a word. */
export const cased = (after: string, digits: string) =>
  `[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]*[${LOWER}]+${after}|[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]+[${LOWER}]*${after}|` +
  `${digits}|${symbolsAndSpaces("/")}`;

const KNOWN: ReadonlySet<string> = new Set([
  GPT2_WORDS,
  ...LLAMA_CPP_DEFAULT,
  ...["\\p{N}", "\\p{N}{1,3}"].map(cl100k), // Qwen 2; Llama 3, OLMo 2, SmolLM3
  cased("", "\\p{N}"), // Mistral's Tekken
  cased(`${CONTRACTIONS}?`, "\\p{N}{1,3}"), // o200k, Phi-4-mini
]);

/** Whether `source`, as the file spells it, is one of those above. */
export function isPublishedPattern(source: string): boolean {
  return KNOWN.has(source);
}
