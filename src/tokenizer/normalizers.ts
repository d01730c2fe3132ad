/** The `normalizer` of tokenizer.json: text → text, before it is cut into words. */
import { spellBytes } from "./byte-alphabet";
import { flag, list, record, text, typeOf, unsupported, type JsonRecord } from "./json-fields";
import { readPattern, replaceMatches } from "./text-pattern";
import { checkGrowth, checkSpelling, checkSteps } from "./tokenizer-limits";

export type Normalize = (text: string) => string;

/** White space as Unicode has it (JavaScript's trim also takes U+FEFF, and leaves U+0085). */
const LEADING = /^\p{White_Space}+/u;
const BLANK = /\p{White_Space}/u;

/**
 * @param config `normalizer` of tokenizer.json; null or absent: text as it is
 * @throws `tokenizer-unsupported` for a kind that is not computed exactly, `file-invalid` for a wrong shape
 */
export function createNormalizer(config: unknown, place = "normalizer"): Normalize {
  if (config === null || config === undefined) return (value) => value;
  const steps = stepsOf(record(config, place), place);
  checkSteps(steps.length, "normalizers");
  return (value) =>
    steps.reduce((current, step) => {
      const next = step(current);
      checkGrowth(value.length, next.length, "a normalizer");
      return next;
    }, value);
}

/** One after the other; a sequence inside a sequence is part of it. */
function stepsOf(component: JsonRecord, place: string): Normalize[] {
  if (typeOf(component, place) !== "Sequence") return [createStep(component, place)];
  return list(component["normalizers"], `${place}.normalizers`).flatMap((step, i) => {
    const inner = `${place}.normalizers[${i}]`;
    return step === null ? [] : stepsOf(record(step, inner), inner);
  });
}

function createStep(component: JsonRecord, place: string): Normalize {
  const type = typeOf(component, place);
  switch (type) {
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD":
      return (value) => value.normalize(type);
    case "Lowercase":
      return lowercase;
    case "Prepend": {
      const prefix = checkSpelling(text(component["prepend"], `${place}.prepend`), "a prefix");
      return (value) => (value === "" ? "" : prefix + value);
    }
    case "Replace": {
      const pattern = readPattern(component["pattern"], `${place}.pattern`);
      const content = checkSpelling(text(component["content"], `${place}.content`), "a replacement");
      return (value) => (pattern === undefined ? value : replaceMatches(value, pattern, content));
    }
    case "Strip": {
      const left = flag(component["strip_left"], `${place}.strip_left`, true);
      const right = flag(component["strip_right"], `${place}.strip_right`, true);
      return (value) => {
        const cut = left ? value.replace(LEADING, "") : value;
        return right ? withoutTrailingBlanks(cut) : cut;
      };
    }
    case "StripAccents":
      return (value) => value.replace(/\p{M}/gu, "");
    case "ByteLevel":
      return spellBytes;
    default:
      throw unsupported(`the normalizer ${type}`);
  }
}

/** One character at a time: the whole string's lower case would depend on neighbours (Greek final sigma). */
function lowercase(value: string): string {
  let lower = "";
  for (const character of value) lower += character.toLowerCase();
  return lower;
}

/** By hand: a pattern for blanks at the end tries every run of blanks before it, from each of its places. */
function withoutTrailingBlanks(value: string): string {
  let end = value.length;
  while (end > 0 && BLANK.test(value.charAt(end - 1))) end -= 1;
  return value.slice(0, end);
}
