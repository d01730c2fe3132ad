/** `wordloom/ai`: a provider for the AI SDK (the package `ai`, version 7). */
import type { LanguageModelV4, ProviderV4 } from "@ai-sdk/provider";
import { WordloomError } from "../../errors";
import { LazyGenerator, type GeneratorSource } from "../generator";
import { WordloomLanguageModel } from "./language-model";

export type { AdaptedGenerator, GeneratorSource } from "../generator";

export interface WordloomProvider extends ProviderV4 {
  /** A model by its name; without one, the only one there is. */
  (modelId?: string): LanguageModelV4;
}

const ONLY = "wordloom";

/**
 * `const wordloom = createWordloom(generator)`, and then `generateText({ model: wordloom(), prompt })`.
 *
 * Text, reasoning and calls of tools are told apart; settings go to `generate`, and what the SDK has no name for is given
 * in `providerOptions.wordloom`. Without a temperature or a cut the likeliest tokens are taken, as everywhere in Wordloom.
 * What is not supported is a warning (JSON output, reasoning effort) or an error (images, files, forced calls).
 *
 * @param models a `TextGenerator`, a promise of one, or a function that loads one when it is first used; or several by name
 */
export function createWordloom(models: GeneratorSource | Readonly<Record<string, GeneratorSource>>): WordloomProvider {
  const isOne = typeof models === "function" || models instanceof Promise || "generate" in models;
  const generators = new Map(
    Object.entries(isOne ? { [ONLY]: models as GeneratorSource } : (models as Record<string, GeneratorSource>)).map(
      ([name, source]) => [name, new LazyGenerator(source)],
    ),
  );
  const languageModel = (modelId: string): LanguageModelV4 => {
    const generator = generators.get(modelId);
    if (generator) return new WordloomLanguageModel(modelId, generator);
    throw noModel(`there is no model "${modelId}"; there are: ${[...generators.keys()].join(", ")}`);
  };
  const none = (kind: string) => (): never => {
    throw noModel(`wordloom has no ${kind} models`);
  };
  return Object.assign((modelId?: string) => languageModel(modelId ?? [...generators.keys()][0] ?? ONLY), {
    specificationVersion: "v4" as const,
    languageModel,
    embeddingModel: none("embedding"),
    imageModel: none("image"),
  });
}

function noModel(message: string): WordloomError {
  return new WordloomError("model-not-found", message, { remedy: "Name one of the models given to createWordloom." });
}
