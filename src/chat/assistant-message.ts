/** Parts of an answer → one list of them, and the message that the next prompt has in its place. */
import type { AnswerPart, ToolCallPart } from "./answer-parts";

/** What a chat template reads of an assistant's turn, as transformers passes it. */
export interface AssistantMessage {
  role: "assistant";
  /** The text for the reader; "" where there was none. */
  content: string;
  /** Templates that show reasoning of earlier turns read it here. */
  reasoning_content?: string;
  tool_calls?: TemplateToolCall[];
  [key: string]: unknown;
}

export interface TemplateToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: Record<string, unknown> };
}

/** Neighbouring texts of one kind as one. */
export function joinParts(parts: readonly AnswerPart[]): AnswerPart[] {
  const joined: AnswerPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === "tool-call" || last === undefined || last.type !== part.type) joined.push({ ...part });
    else if (last.type === "reasoning" && part.type === "reasoning") last.text += part.text;
    else if (isPlain(last) && isPlain(part)) last.text += part.text;
    else joined.push({ ...part });
  }
  return joined;
}

export function messageOf(parts: readonly AnswerPart[]): AssistantMessage {
  const reasoning = textOf(parts, "reasoning");
  const calls = parts.filter((part): part is ToolCallPart => part.type === "tool-call");
  return {
    role: "assistant",
    content: textOf(parts, "text"),
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(templateCall) }),
  };
}

export function templateCall(call: Omit<ToolCallPart, "type">): TemplateToolCall {
  return { id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } };
}

export function textOf(parts: readonly AnswerPart[], type: "text" | "reasoning"): string {
  return parts.map((part) => (part.type === type ? part.text : "")).join("");
}

function isPlain(part: AnswerPart): part is { type: "text"; text: string } {
  return part.type === "text" && part.malformedCall === undefined;
}
