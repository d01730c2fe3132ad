/** A model in a Hugging Face folder: config.json, tokenizer.json, safetensors. */
import { WordloomError } from "../errors";
import { foreignContent } from "../formats/foreign-content";
import { MAX_TOKENIZER_BYTES, readBytes, readJson } from "../formats/read-json";
import { readModelConfig } from "../models/registry";
import type { ModelFiles } from "../storage/model-files";
import { createTokenizer } from "../tokenizer/load-tokenizer";
import type { Tokenizer } from "../tokenizer/tokenizer";
import type { ModelParts } from "./model-parts";

const MAX_TEMPLATE_BYTES = 4 * 2 ** 20;

/** @throws WordloomError model-not-found, model-unsupported, config-invalid, config-unsupported, file-invalid */
export async function openFolder(files: ModelFiles, signal: AbortSignal): Promise<ModelParts> {
  const config = await readJson(files, "config.json", { signal });
  if (config === undefined) {
    throw new WordloomError("model-not-found", `there is no config.json in ${files.description}`);
  }
  return {
    ...readModelConfig(config, await readJson(files, "generation_config.json", { signal, optional: true })),
    tokenizerFile: "tokenizer.json",
    readTokenizer: () => readTokenizer(files, signal),
    checkpoint: undefined,
  };
}

async function readTokenizer(files: ModelFiles, signal: AbortSignal): Promise<Tokenizer> {
  const tokenizerJson = await readJson(files, "tokenizer.json", { signal, maxBytes: MAX_TOKENIZER_BYTES });
  if (tokenizerJson === undefined) {
    throw new WordloomError("model-not-found", `there is no tokenizer.json in ${files.description}`);
  }
  const tokenizerConfig = await readJson(files, "tokenizer_config.json", { signal, optional: true });
  const chatTemplate = await readTemplate(files, signal);
  return createTokenizer({ tokenizerJson, tokenizerConfig, ...(chatTemplate === undefined ? {} : { chatTemplate }) });
}

async function readTemplate(files: ModelFiles, signal: AbortSignal): Promise<string | undefined> {
  const file = await files.find("chat_template.jinja", signal);
  if (file === undefined) return undefined;
  const bytes = await readBytes(file, { maxBytes: MAX_TEMPLATE_BYTES, signal });
  // Some servers answer a missing file with their start page.
  return foreignContent(bytes) === "an HTML page" ? undefined : new TextDecoder().decode(bytes);
}
