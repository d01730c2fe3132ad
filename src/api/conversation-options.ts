/** What a caller may ask of a conversation, checked once. */
import { historyOf, type History } from "../chat/turns";
import { WordloomError } from "../errors";
import type { ChatMessage, ChatOptions } from "../tokenizer/tokenizer";
import { resolveChatOptions, type ChatPromptOptions } from "./chat-options";
import { DEFAULT_SINKS, type GenerateOptions } from "./generate-options";
import { tagInput } from "./model-input";
import { flag, given, invalid, oneOf, refuseUnknown, whole } from "./option-checks";

/**
 * What happens where the next prompt, or the answer, has no room in the context. What it costs is time: what has moved to
 * other positions must be run again.
 *
 * - "error": a prompt that does not fit is refused with prompt-too-long, and nothing is changed. An answer ends with
 *   "length" where the context does
 * - "drop-oldest-turns": the oldest turns leave the history for good, as many as it takes; messages of the system stay.
 *   Room is made for the whole answer, but for no more than a quarter of the context. All but the system's messages is run
 *   again, at each `send` that drops something
 * - "slide": the history stays whole, but the model sees only the first `sinks` tokens and the last ones, in prompt and
 *   answer, so that an answer has no end but its own. The last ones are half of what the context holds beside the sinks,
 *   and are run again each time the other half is full
 */
export type FullContext = "error" | "drop-oldest-turns" | "slide";

export interface ConversationOptions extends Pick<ChatPromptOptions, "tools" | "templateOptions"> {
  /** A message of the system, which stays at the beginning. */
  system?: string;
  /** What has been said before; not together with `system`, which may be among them. */
  messages?: readonly ChatMessage[];
  /** Default "error". */
  fullContext?: FullContext;
  /** Of "slide": first tokens that stay in sight; 0 or more, default 4. To keep the system's message, as many as it has. */
  sinks?: number;
  /** An answer that is stopped after its first character stays in the history, as far as it came; default false. */
  keepAborted?: boolean;
}

/** Like everything that is saved, JSON. */
export interface ConversationSettings {
  chat: ChatOptions;
  fullContext: FullContext;
  sinks: number;
  keepAborted: boolean;
}

/** Options of `generate` for one answer; what a whole conversation has in common stands with the conversation. */
export type SendOptions = Omit<
  GenerateOptions,
  "tools" | "templateOptions" | "continueFinalMessage" | "fullContext" | "sinks" | "n"
>;

const KNOWN: Record<keyof ConversationOptions, true> = {
  system: true,
  messages: true,
  tools: true,
  templateOptions: true,
  fullContext: true,
  sinks: true,
  keepAborted: true,
};
const POLICIES: readonly FullContext[] = ["error", "drop-oldest-turns", "slide"];

/**
 * @param onServer what has to know tokens is refused
 * @throws WordloomError option-invalid, with the option's name
 */
export function resolveConversationOptions(
  options: ConversationOptions,
  onServer: boolean,
): { settings: ConversationSettings; history: History } {
  refuseUnknown(options, KNOWN, "conversation");
  const { system, messages } = options;
  if (given(system) && typeof system !== "string") throw invalid("system", system, "a string");
  if (given(system) && given(messages)) {
    throw new WordloomError("option-invalid", "system and messages are given, and messages may have one of the system");
  }
  const said = given(system) ? [{ role: "system", content: system }] : given(messages) ? checkedMessages(messages) : [];
  const fullContext = given(options.fullContext) ? oneOf(options, "fullContext", POLICIES, "error") : "error";
  if (onServer && fullContext !== "error") {
    throw invalid("fullContext", fullContext, `"error" for a model on a server, which does not tell how it counts`);
  }
  if (given(options.sinks) && fullContext !== "slide") {
    throw new WordloomError("option-invalid", 'sinks is given without fullContext: "slide", and means nothing alone');
  }
  return {
    settings: {
      chat: resolveChatOptions(options),
      fullContext,
      sinks: whole(options, "sinks", DEFAULT_SINKS, { min: 0, max: Number.MAX_SAFE_INTEGER }),
      keepAborted: flag(options, "keepAborted", false),
    },
    history: historyOf(said),
  };
}

const NOT_OF_SEND: readonly string[] = [
  ...["tools", "templateOptions", "continueFinalMessage", "fullContext", "sinks"],
  "n",
];
/** Where else what is meant can be had. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  continueFinalMessage: "Use generate with the conversation's messages.",
  n: "A conversation goes on with one answer; for several, use generate with its messages, or fork().",
};

/** @throws WordloomError option-invalid for an option that belongs to the conversation */
export function checkSendOptions(options: object): void {
  const name = NOT_OF_SEND.find((one) => given((options as Record<string, unknown>)[one])); // looked at, not believed
  if (name === undefined) return;
  throw new WordloomError("option-invalid", `send has no option "${name}"`, {
    remedy: ELSEWHERE[name] ?? `Give ${name} to conversation(), for all of its answers.`,
  });
}

/** A text is a user's message; several messages are the answers to several calls of tools. */
export function sentMessages(message: unknown): ChatMessage[] {
  if (typeof message === "string") return [{ role: "user", content: message }];
  const sent = checkedMessages(Array.isArray(message) ? message : [message]);
  if (sent.length === 0) throw invalid("message", message, "a string, a message, or a list of them");
  const own = sent.find(({ role }) => role === "assistant" || role === "system");
  if (own) throw invalid("role", own.role, `one that is answered, such as "user" or "tool"`);
  return sent;
}

/** Copies: what the caller changes later changes nothing here. */
export function checkedMessages(messages: unknown): ChatMessage[] {
  if (!Array.isArray(messages)) throw invalid("messages", messages, "a list of messages");
  if (messages.length === 0) return [];
  const tagged = tagInput(messages as ChatMessage[], Number.MAX_SAFE_INTEGER); // which checks what they are
  if (tagged.kind !== "chat") throw invalid("messages", messages, "messages of the form { role, content }");
  try {
    return JSON.parse(JSON.stringify(tagged.messages)) as ChatMessage[]; // of messages
  } catch (cause) {
    throw new WordloomError("option-invalid", `the messages are no JSON: ${String(cause)}`, { cause });
  }
}
