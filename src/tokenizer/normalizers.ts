/** The `normalizer` of tokenizer.json: text → text, before it is cut into words. */
import { spellBytes } from "./byte-alphabet";
import { flag, list, record, text, typeOf, unsupported } from "./json-fields";
import { compilePattern } from "./pattern";

export type Normalize = (text: string) => string;

/** Leading and trailing white space as Unicode has it (JavaScript's trim also takes U+FEFF, and leaves U+0085). */
const LEADING = /^\p{White_Space}+/u;
const TRAILING = /\p{White_Space}+$/u;

/**
 * @param config `normalizer` of tokenizer.json; null or absent: text as it is
 * @throws `tokenizer-unsupported` for a kind that is not computed exactly, `file-invalid` for a wrong shape
 */
export function createNormalizer(config: unknown, place = "normalizer"): Normalize {
  if (config === null || config === undefined) return (value) => value;
  const component = record(config, place);
  const type = typeOf(component, place);
  switch (type) {
    case "Sequence": {
      const steps = list(component["normalizers"], `${place}.normalizers`).map((step, i) =>
        createNormalizer(step, `${place}.normalizers[${i}]`),
      );
      return (value) => steps.reduce((current, step) => step(current), value);
    }
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD":
      return (value) => value.normalize(type);
    case "Lowercase":
      return lowercase;
    case "Prepend": {
      const prefix = text(component["prepend"], `${place}.prepend`);
      return (value) => (value === "" ? "" : prefix + value);
    }
    case "Replace": {
      const pattern = compilePattern(component["pattern"], `${place}.pattern`);
      const content = text(component["content"], `${place}.content`);
      return (value) => (pattern === undefined ? value : value.replace(pattern, () => content));
    }
    case "Strip": {
      const left = flag(component["strip_left"], `${place}.strip_left`, true);
      const right = flag(component["strip_right"], `${place}.strip_right`, true);
      return (value) => {
        const cut = left ? value.replace(LEADING, "") : value;
        return right ? cut.replace(TRAILING, "") : cut;
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
