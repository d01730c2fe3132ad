/** A prompt of the AI SDK → the messages and tools that a chat template reads. */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { messageOf } from "../../chat/assistant-message";
import type { AnswerPart } from "../../chat/answer-parts";
import { WordloomError } from "../../errors";
import type { ChatMessage, ToolDefinition } from "../../tokenizer/tokenizer";

type Message = LanguageModelV4Prompt[number];
type AssistantContent = Extract<Message, { role: "assistant" }>["content"];
type ToolContent = Extract<Message, { role: "tool" }>["content"];
type ToolOutput = Extract<ToolContent[number], { type: "tool-result" }>["output"];

/** @throws WordloomError option-invalid for content that is not text, reasoning, or calls of tools and their results */
export function chatMessagesOf(prompt: LanguageModelV4Prompt): ChatMessage[] {
  return prompt.flatMap((message): ChatMessage[] => {
    switch (message.role) {
      case "system":
        return [{ role: "system", content: message.content }];
      case "user":
        return [{ role: "user", content: message.content.map(userText).join("") }];
      case "assistant":
        return [messageOf(message.content.map(assistantPart))];
      case "tool":
        return message.content.map(toolMessage);
    }
  });
}

function userText(part: Extract<Message, { role: "user" }>["content"][number]): string {
  if (part.type === "text") return part.text;
  throw unsupported(`a user's message with a part of type ${part.type}`);
}

function assistantPart(part: AssistantContent[number]): AnswerPart {
  if (part.type === "text" || part.type === "reasoning") return { type: part.type, text: part.text };
  if (part.type === "tool-call") {
    const { toolCallId: id, toolName: name, input } = part;
    if (typeof input === "object" && input !== null && !Array.isArray(input)) {
      return { type: "tool-call", id, name, arguments: input as Record<string, unknown> }; // an object by the line above
    }
    throw unsupported("a tool call whose input is no object");
  }
  throw unsupported(`an assistant's message with a part of type ${part.type}`);
}

function toolMessage(part: ToolContent[number]): ChatMessage {
  if (part.type === "tool-result") {
    return { role: "tool", tool_call_id: part.toolCallId, name: part.toolName, content: outputText(part.output) };
  }
  throw unsupported(`a tool's message with a part of type ${part.type}`);
}

function outputText(output: ToolOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return output.reason ?? "The user did not allow this call.";
    case "content":
      return output.value
        .map((part) => {
          if (part.type === "text") return part.text;
          throw unsupported(`a tool's result of type ${part.type}`);
        })
        .join("");
  }
}

/** @throws WordloomError option-invalid for a choice that would force a call, and for tools that a provider runs */
export function toolsOf({ tools = [], toolChoice }: LanguageModelV4CallOptions): ToolDefinition[] {
  if (toolChoice?.type === "required" || toolChoice?.type === "tool") {
    throw unsupported(`toolChoice ${toolChoice.type}: a call cannot be forced`);
  }
  if (toolChoice?.type === "none") return [];
  return tools.map((tool) => {
    if (tool.type !== "function") {
      throw unsupported(`the tool ${tool.name}, which a provider would run`);
    }
    const { name, description, inputSchema } = tool;
    return {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: inputSchema as Record<string, unknown>, // JSON schema of an object, in the SDK's own type
    };
  });
}

function unsupported(what: string): WordloomError {
  return new WordloomError("option-invalid", `not supported: ${what}`, {
    remedy: "Leave it out; docs: README, “AI SDK”.",
  });
}
