import { WordloomError } from "../errors";
import { ownModule } from "../own-module";
import { AddedTokenSplitter, readAddedTokens } from "./added-tokens";
import { createByteDecoder } from "./byte-decoder";
import { record } from "./json-fields";
import { createNormalizer } from "./normalizers";
import { readSpecialFrame } from "./post-processor";
import { createPreTokenizer } from "./pre-tokenizers";
import { chatTemplateOf, templateTokens } from "./read-template";
import { TextStream } from "./text-stream";
import { createModel } from "./token-model";
import type { Tokenizer } from "./tokenizer";

export interface TokenizerFiles {
  /** tokenizer.json, parsed. */
  tokenizerJson: unknown;
  /** tokenizer_config.json, parsed: the chat template and the special tokens it names. */
  tokenizerConfig: unknown;
  /** Contents of chat_template.jinja, which wins over the template in tokenizer_config.json. */
  chatTemplate?: string;
}

/** As models/sizes.ts says of models. */
const MAX_VOCAB_SIZE = 2 ** 22;

/**
 * The tokenizer that a model's files describe, equal to the Hugging Face tokenizers on the same tokenizer.json.
 *
 * Of tokenizer_config.json only the chat template and the names of the special tokens count: what is added around a
 * text is said by tokenizer.json's post-processor, and decoded text is never "cleaned up".
 *
 * @throws `tokenizer-unsupported` (with the kind's name) for what is not computed exactly, `file-invalid` for malformed JSON
 */
export function createTokenizer(files: TokenizerFiles): Tokenizer {
  const json = record(files.tokenizerJson, "tokenizer.json");
  const normalize = createNormalizer(json["normalizer"]);
  const preTokenize = createPreTokenizer(json["pre_tokenizer"]);
  const model = createModel(json["model"]);
  const frame = readSpecialFrame(json["post_processor"]);
  const decoder = createByteDecoder(json["decoder"]);
  const template = chatTemplateOf(files.chatTemplate, files.tokenizerConfig);
  const variables = templateTokens(files.tokenizerConfig);

  const added = readAddedTokens(json["added_tokens"]);
  const splitter = new AddedTokenSplitter(added, normalize);
  const addedById = new Map(added.map((token) => [token.id, token]));
  const pieces: (string | undefined)[] = [];
  for (const [piece, id] of model.vocab) pieces[id] = piece;
  const vocabSize = added.reduce((size, token) => Math.max(size, token.id + 1), pieces.length);
  if (vocabSize > MAX_VOCAB_SIZE) {
    const message = `tokenizer.json: there is an id ${vocabSize - 1}; a vocabulary has at most ${MAX_VOCAB_SIZE}`;
    throw new WordloomError("file-invalid", message);
  }

  const encodeSections = (text: string, guard: string | undefined): number[] => {
    const ids: number[] = [];
    // Half a character cannot be written in UTF-8.
    const wellFormed = text.replace(/\p{Surrogate}/gu, "\ufffd");
    for (const section of splitter.split(wellFormed, guard)) {
      if ("id" in section) ids.push(section.id);
      else {
        for (const word of preTokenize([section.text], section.first)) {
          if (word !== "") for (const id of model.encodeWord(word)) ids.push(id);
        }
      }
    }
    return ids;
  };

  const computeBytes = (id: number, isFirst: boolean): Uint8Array => {
    const token = addedById.get(id);
    if (token !== undefined) return token.special ? NO_BYTES : decoder.bytesOfAdded(token.content, isFirst);
    const piece = pieces[id];
    return piece === undefined ? NO_BYTES : decoder.bytesOf(piece, isFirst);
  };
  const bytesInside: (Uint8Array | undefined)[] = [];

  const tokenizer: Tokenizer = {
    vocabSize,
    hasChatTemplate: template !== undefined,
    chatTemplate: template,
    addedTokens: added.map(({ id, content, special }) => ({ id, content, special })),
    isSpecial: (id) => addedById.get(id)?.special === true,

    encode(text, { addSpecialTokens }) {
      const ids = encodeSections(text, undefined);
      return Uint32Array.from(addSpecialTokens ? [...frame.before, ...ids, ...frame.after] : ids);
    },

    bytesOf(id, isFirst) {
      if (isFirst) return computeBytes(id, true).slice();
      return (bytesInside[id] ??= computeBytes(id, false)).slice();
    },

    decode(ids) {
      const stream = new TextStream(tokenizer, []);
      let text = "";
      for (let i = 0; i < ids.length; i++) text += stream.push(ids[i] ?? 0).text;
      return text + stream.flush();
    },

    async encodeChat(messages, options = {}) {
      if (template === undefined) {
        throw new WordloomError(
          "template-missing",
          "this model has no chat template: neither chat_template.jinja nor one in tokenizer_config.json",
        );
      }
      const specials = added.filter((token) => token.special).map((token) => token.content);
      const { chatPrompt } = await ownModule(import("./chat-prompt")); // many never chat: a parser and an interpreter come with it
      const prompt = await chatPrompt(messages, options, { template, variables, specials });
      return Uint32Array.from(encodeSections(prompt.text, prompt.guard)); // the template writes its own special tokens
    },
  };
  return tokenizer;
}

const NO_BYTES = new Uint8Array(0);
