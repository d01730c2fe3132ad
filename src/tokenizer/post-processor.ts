/** The `post_processor` of tokenizer.json: the ids that the tokenizer itself puts around a text. */
import { count, invalid, isRecord, list, record, text, typeOf, unsupported, type JsonRecord } from "./json-fields";

export interface SpecialFrame {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/**
 * @param config `post_processor` of tokenizer.json; null or absent: nothing is added
 * @throws `tokenizer-unsupported` for a kind that is not known, `file-invalid` for a wrong shape
 */
export function readSpecialFrame(config: unknown, place = "post_processor"): SpecialFrame {
  if (config === null || config === undefined) return { before: [], after: [] };
  const component = record(config, place);
  const type = typeOf(component, place);
  switch (type) {
    case "ByteLevel": // changes offsets only
      return { before: [], after: [] };
    case "BertProcessing":
    case "RobertaProcessing":
      return { before: [idOfPair(component, "cls", place)], after: [idOfPair(component, "sep", place)] };
    case "TemplateProcessing":
      return readTemplate(component, place);
    case "Sequence": {
      const frames = list(component["processors"], `${place}.processors`).map((step, i) =>
        readSpecialFrame(step, `${place}.processors[${i}]`),
      );
      return {
        before: frames.toReversed().flatMap((frame) => frame.before),
        after: frames.flatMap((frame) => frame.after),
      };
    }
    default:
      throw unsupported(`the post-processor ${type}`);
  }
}

/** ["[CLS]", 101] */
function idOfPair(component: JsonRecord, name: string, place: string): number {
  return count(list(component[name], `${place}.${name}`)[1], `${place}.${name}[1]`);
}

function readTemplate(component: JsonRecord, place: string): SpecialFrame {
  const specials = record(component["special_tokens"] ?? {}, `${place}.special_tokens`);
  const before: number[] = [];
  const after: number[] = [];
  let target: number[] = before;
  list(component["single"], `${place}.single`).forEach((entry, i) => {
    const item = record(entry, `${place}.single[${i}]`);
    if (isRecord(item["SpecialToken"])) {
      const name = text(item["SpecialToken"]["id"], `${place}.single[${i}].SpecialToken.id`);
      const special = record(specials[name], `${place}.special_tokens[${JSON.stringify(name)}]`);
      for (const id of list(special["ids"], `${place}.special_tokens[${JSON.stringify(name)}].ids`)) {
        target.push(count(id, `${place}.special_tokens[${JSON.stringify(name)}].ids`));
      }
    } else if (isRecord(item["Sequence"]) && item["Sequence"]["id"] === "A" && target === before) {
      target = after;
    } else {
      throw invalid(`${place}.single[${i}]`, "a special token or, once, sequence A");
    }
  });
  if (target === before) throw invalid(`${place}.single`, "a list with sequence A");
  return { before, after };
}
