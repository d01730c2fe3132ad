/** What `prompt`, `append` and `create` take → messages for the chat template, checked as the Prompt API's draft says. */
import { messageOf } from "../../chat/assistant-message";
import type { AnswerPart } from "../../chat/answer-parts";
import type { ChatMessage } from "../../tokenizer/tokenizer";
import { notSupported } from "./failures";
import { LanguageModelToolCall, LanguageModelToolError, LanguageModelToolSuccess } from "./tool-values";

export type LanguageModelContentType = "text" | "image" | "audio" | "tool-call" | "tool-response";

export interface LanguageModelMessageContent {
  type: LanguageModelContentType;
  value: unknown;
}

export interface LanguageModelMessage {
  role: "system" | "user" | "assistant";
  content: string | readonly LanguageModelMessageContent[];
  /** Of a last message of the assistant: it is the answer's beginning. */
  prefix?: boolean;
}

/** A string is one message of the user. */
export type LanguageModelPrompt = string | readonly LanguageModelMessage[];

export interface ReadPrompt {
  messages: ChatMessage[];
  /** The last message is to be continued. */
  hasPrefix: boolean;
}

const ROLES: readonly unknown[] = ["system", "user", "assistant"];
const TYPES: readonly unknown[] = ["text", "image", "audio", "tool-call", "tool-response"];

/**
 * @param expected the types that the session was created for; text always is
 * @param isFirst nothing has been said yet, so that a system prompt may come
 * @throws TypeError, or a DOMException NotSupportedError or SyntaxError
 */
export function readPrompt(input: unknown, expected: ReadonlySet<string>, isFirst: boolean): ReadPrompt {
  if (!Array.isArray(input)) return { messages: [{ role: "user", content: String(input) }], hasPrefix: false };
  const given = input as readonly unknown[];
  if (given.length === 0) return { messages: [{ role: "user", content: "" }], hasPrefix: false };
  const messages = given.flatMap((message, at) => {
    const { role, content, prefix } = checkedMessage(message, at);
    if (prefix && (role !== "assistant" || at < given.length - 1)) {
      throw new DOMException("prefix is for a last message of the assistant only", "SyntaxError");
    }
    if (role === "system" && !(isFirst && at === 0)) throw new TypeError("a system prompt can only come first of all");
    return role === "assistant" ? [assistantMessage(content)] : otherMessages(role, content, expected);
  });
  const last = given.at(-1);
  return { messages, hasPrefix: typeof last === "object" && last !== null && "prefix" in last && last.prefix === true };
}

function checkedMessage(
  message: unknown,
  at: number,
): LanguageModelMessage & { content: LanguageModelMessageContent[] } {
  if (typeof message !== "object" || message === null) throw new TypeError(`message ${at} is no object`);
  const { role, content, prefix } = message as Partial<Record<keyof LanguageModelMessage, unknown>>;
  if (!ROLES.includes(role))
    throw new TypeError(`the role of message ${at} is ${String(role)}, not system, user or assistant`);
  if (content === undefined) throw new TypeError(`message ${at} has no content`);
  const list = Array.isArray(content) ? (content as unknown[]) : [{ type: "text", value: `${content as string}` }];
  return {
    role: role as LanguageModelMessage["role"], // one of the three, by the line above
    content: list.map((part) => checkedContent(part, at)),
    prefix: Boolean(prefix),
  };
}

function checkedContent(part: unknown, at: number): LanguageModelMessageContent {
  if (typeof part !== "object" || part === null) throw new TypeError(`message ${at} has a content that is no object`);
  const { type, value } = part as Partial<LanguageModelMessageContent>;
  if (type === undefined || !TYPES.includes(type))
    throw new TypeError(`message ${at} has a content of type ${String(type)}`);
  if (type === "text" && typeof value !== "string") throw new TypeError(`message ${at} has a text that is no string`);
  return { type, value };
}

function assistantMessage(content: readonly LanguageModelMessageContent[]): ChatMessage {
  return messageOf(
    content.map(({ type, value }): AnswerPart => {
      if (type === "text") return { type, text: String(value) };
      if (type !== "tool-call") throw notSupported(`a message of the assistant cannot hold ${type}`);
      if (!(value instanceof LanguageModelToolCall)) throw new TypeError("a tool-call must be a LanguageModelToolCall");
      return { type, id: value.callId, name: value.name, arguments: value.arguments };
    }),
  );
}

/** Text of one message is put together; each response of a tool is a message of its own. */
function otherMessages(
  role: string,
  content: readonly LanguageModelMessageContent[],
  expected: ReadonlySet<string>,
): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let text: string | undefined;
  for (const { type, value } of content) {
    if (type === "text") text = (text ?? "") + String(value);
    else if (type === "tool-response" && role === "user") {
      if (!expected.has(type)) throw notSupported("expectedInputs does not list tool-response");
      messages.push(toolMessage(value));
    } else throw notSupported(`a message of the ${role} cannot hold ${type} here`);
  }
  if (text !== undefined || messages.length === 0) messages.push({ role, content: text ?? "" });
  return messages;
}

function toolMessage(value: unknown): ChatMessage {
  if (value instanceof LanguageModelToolError) {
    return { role: "tool", tool_call_id: value.callId, name: value.name, content: value.errorMessage };
  }
  if (!(value instanceof LanguageModelToolSuccess)) {
    throw new TypeError("a tool-response must be a LanguageModelToolSuccess or a LanguageModelToolError");
  }
  const content = value.result.map((part) => {
    if (part.type === "text") return String(part.value);
    if (part.type === "object") return JSON.stringify(part.value);
    throw notSupported(`a tool's result of type ${part.type} is not supported`);
  });
  return { role: "tool", tool_call_id: value.callId, name: value.name, content: content.join("") };
}
