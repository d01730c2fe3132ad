/** What a caller gives to continue: text, exact ids or chat messages; checked once, and told apart by a tag. */
import type { TaggedInput } from "../engine/engine";
import { WordloomError } from "../errors";
import type { ChatMessage, ChatOptions } from "../tokenizer/tokenizer";
import type { ChatPromptOptions } from "./chat-options";

/**
 * What is to be continued, or scored.
 *
 * - a string: as it is, with the special tokens that the tokenizer itself adds (`<s>` in front, say)
 * - token ids, each from 0 to `info.vocabSize` - 1, at least one: exactly these
 * - messages, at least one: through the model's chat template, ready for the assistant's answer
 */
export type ModelInput = string | readonly number[] | Uint32Array | readonly ChatMessage[];

/**
 * @param chat only for messages
 * @throws WordloomError option-invalid for anything else, an empty list, or an id the model does not have
 */
export function tagInput(input: ModelInput, vocabSize: number, chat: ChatOptions = {}): TaggedInput {
  const tagged = tag(input, vocabSize);
  if (tagged.kind === "chat") return { ...tagged, ...chat };
  const names: readonly (keyof ChatPromptOptions)[] = ["tools", "templateOptions", "continueFinalMessage"];
  const name = names.find((one) => chat[one] !== undefined);
  if (name === undefined) return tagged;
  throw new WordloomError("option-invalid", `${name} needs input that is chat messages`, {
    remedy: `Remove ${name}, or pass messages of the form { role, content }.`,
  });
}

function tag(input: ModelInput, vocabSize: number): TaggedInput {
  if (typeof input === "string") return { kind: "text", text: input };
  if (input instanceof Uint32Array) return { kind: "ids", ids: checkIds(input, vocabSize) };
  if (!Array.isArray(input)) {
    throw new WordloomError("option-invalid", `the input is ${typeof input}; it must be ${EXPECTED}`);
  }
  const items: readonly unknown[] = input;
  if (items.length === 0)
    throw new WordloomError("option-invalid", `the input is an empty list; it must be ${EXPECTED}`);
  if (items.every((item) => typeof item === "number")) return { kind: "ids", ids: checkIds(items, vocabSize) };
  if (items.every(isMessage)) return { kind: "chat", messages: items };
  throw new WordloomError(
    "option-invalid",
    `the input is a list of neither numbers nor messages; it must be ${EXPECTED}`,
  );
}

/** @throws WordloomError option-invalid, naming the first id that is not in the vocabulary */
export function checkIds(ids: ArrayLike<number>, vocabSize: number): Uint32Array {
  if (ids.length === 0) throw new WordloomError("option-invalid", "the input has no token ids; give at least one");
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at];
    if (id === undefined || !Number.isInteger(id) || id < 0 || id >= vocabSize) {
      throw new WordloomError("option-invalid", `token id ${id} (number ${at}) is not from 0 to ${vocabSize - 1}`);
    }
  }
  return Uint32Array.from(ids);
}

const EXPECTED = "a string, token ids, or messages of the form { role, content }";

function isMessage(item: unknown): item is ChatMessage {
  if (typeof item !== "object" || item === null || !("role" in item) || !("content" in item)) return false;
  return typeof item.role === "string" && (typeof item.content === "string" || Array.isArray(item.content));
}
