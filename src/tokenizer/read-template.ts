/** Which chat template a model has, and what it may read. What runs it is loaded when the first messages come. */
import { invalid, isRecord, list, record, text } from "./json-fields";

/**
 * The template of a model.
 *
 * @param file contents of chat_template.jinja, which wins
 * @param tokenizerConfig parsed tokenizer_config.json, whose `chat_template` is a template or a list of named ones
 * @returns undefined if the model has none
 */
export function chatTemplateOf(file: string | undefined, tokenizerConfig: unknown): string | undefined {
  if (file !== undefined) return file;
  const value = isRecord(tokenizerConfig) ? tokenizerConfig["chat_template"] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  const place = "chat_template of tokenizer_config.json";
  const named = list(value, place).map((entry, i) => {
    const { name, template } = record(entry, `${place}[${i}]`);
    return { name: text(name, `${place}[${i}].name`), template: text(template, `${place}[${i}].template`) };
  });
  if (named.length === 0) return undefined;
  const chosen = named.find((entry) => entry.name === "default");
  if (chosen === undefined)
    throw invalid(place, `a list with "default", not only ${named.map((n) => n.name).join(", ")}`);
  return chosen.template;
}

/** `bos_token`, `eos_token` and so on, as the template sees them. */
export function templateTokens(tokenizerConfig: unknown): Record<string, string> {
  const tokens: Record<string, string> = {};
  if (!isRecord(tokenizerConfig)) return tokens;
  for (const name of ["bos", "eos", "unk", "sep", "pad", "cls", "mask"].map((kind) => `${kind}_token`)) {
    const value = tokenizerConfig[name];
    const content = isRecord(value) ? value["content"] : value;
    if (typeof content === "string") tokens[name] = content;
  }
  return tokens;
}
