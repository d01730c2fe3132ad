/** Messages and tools in OpenAI's shape → those that a chat template reads. */
import { templateCall, type TemplateToolCall } from "../../chat/assistant-message";
import type { ChatMessage, ToolDefinition } from "../../tokenizer/tokenizer";
import { ApiError, unsupported } from "./api-error";
import { isRecord, type RequestFields } from "./request-fields";

const ROLES: Readonly<Record<string, string>> = {
  system: "system",
  developer: "system", // the same by a newer name
  user: "user",
  assistant: "assistant",
  tool: "tool",
};
const MESSAGE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  system: ["name"],
  developer: ["name"],
  user: ["name"],
  assistant: ["name", "tool_calls", "reasoning_content", "refusal", "audio", "function_call"],
  tool: ["tool_call_id", "name"],
};

/** @throws ApiError 400 naming the field */
export function chatMessages(value: unknown): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new ApiError(400, "messages must be a list of at least one message", null, "messages");
  }
  const toolNames = new Map<string, string>();
  return (value as unknown[]).map((message, at) => {
    const read = chatMessage(message, `messages[${at}]`);
    for (const { id, function: made } of (read["tool_calls"] as TemplateToolCall[] | undefined) ?? []) {
      toolNames.set(id, made.name);
    }
    const id = read["tool_call_id"];
    // Templates want to see which tool answers; OpenAI's shape tells the call's id only.
    const name = typeof id === "string" && read["name"] === undefined ? toolNames.get(id) : undefined;
    return name === undefined ? read : { ...read, name };
  });
}

function chatMessage(message: unknown, place: string): ChatMessage {
  if (!isRecord(message)) throw new ApiError(400, `${place} is no object`, null, place);
  const { role, content, ...rest } = message;
  const known = typeof role === "string" && Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  if (typeof role !== "string" || known === undefined) {
    throw new ApiError(400, `${place}.role must be one of ${Object.keys(ROLES).join(", ")}`, null, `${place}.role`);
  }
  for (const [name, value] of Object.entries(rest)) {
    if (MESSAGE_FIELDS[role]?.includes(name) || value === null || value === undefined) continue;
    throw new ApiError(400, `${place} has no field ${name}`, "unknown_parameter", `${place}.${name}`);
  }
  for (const name of ["refusal", "audio", "function_call"]) {
    if ((rest[name] ?? null) !== null) throw unsupported(`${place}.${name}`, `${place}.${name} is not supported`);
  }
  const calls = rest["tool_calls"] ?? undefined;
  return {
    role: known,
    content: textOf(content, `${place}.content`, role === "assistant"),
    ...stringField(rest, "name", place),
    ...stringField(rest, "reasoning_content", place),
    ...stringField(rest, "tool_call_id", place),
    ...(calls === undefined ? {} : { tool_calls: toolCalls(calls, `${place}.tool_calls`) }),
  };
}

function stringField(fields: Record<string, unknown>, name: string, place: string): Record<string, string> {
  const value = fields[name] ?? undefined;
  if (value === undefined) return {};
  if (typeof value !== "string") throw new ApiError(400, `${place}.${name} must be a string`, null, `${place}.${name}`);
  return { [name]: value };
}

/** An assistant's message that only calls tools has no content. */
function textOf(content: unknown, place: string, mayBeMissing: boolean): string {
  if (typeof content === "string") return content;
  if ((content ?? null) === null && mayBeMissing) return "";
  if (!Array.isArray(content)) throw new ApiError(400, `${place} must be a string, or text parts`, null, place);
  return (content as unknown[])
    .map((part, at) => {
      if (isRecord(part) && part["type"] === "text" && typeof part["text"] === "string") return part["text"];
      const type = isRecord(part) ? JSON.stringify(part["type"]) : typeof part;
      throw unsupported(`${place}[${at}]`, `${place}[${at}] is of type ${type}; only text is supported`);
    })
    .join("");
}

/** Templates read the arguments as an object; OpenAI's shape has them as a string of JSON. */
function toolCalls(value: unknown, place: string): TemplateToolCall[] {
  if (!Array.isArray(value)) throw new ApiError(400, `${place} must be a list`, null, place);
  return (value as unknown[]).map((call, at) => {
    const made = isRecord(call) && call["type"] === "function" ? call["function"] : undefined;
    if (!isRecord(call) || typeof call["id"] !== "string" || !isRecord(made) || typeof made["name"] !== "string") {
      throw new ApiError(400, `${place}[${at}] is no call of a function`, null, `${place}[${at}]`);
    }
    let given: unknown;
    try {
      given = JSON.parse(typeof made["arguments"] === "string" ? made["arguments"] : "");
    } catch {
      given = undefined;
    }
    if (!isRecord(given)) {
      throw new ApiError(400, `${place}[${at}].function.arguments is no JSON object`, null, `${place}[${at}]`);
    }
    return templateCall({ id: call["id"], name: made["name"], arguments: given });
  });
}

/** The tools to offer, and those of which one must be called. With the choice "none" none are, as if they had not been given. */
export interface OfferedTools {
  tools: ToolDefinition[];
  /** Undefined: whether it calls one is the model's own choice. */
  forced: ToolDefinition[] | undefined;
}

/** @throws ApiError 400 with the field's name */
export function toolsOf(fields: RequestFields): OfferedTools {
  const given = fields.take("tools") ?? [];
  const choice = fields.take("tool_choice") ?? "auto";
  fields.allow("parallel_tool_calls", true);
  if (!Array.isArray(given)) throw new ApiError(400, "tools must be a list", null, "tools");
  const tools = (given as unknown[]).map(toolOf);
  if (choice === "none") return { tools: [], forced: undefined };
  if (choice === "auto") return { tools, forced: undefined };
  if (choice === "required") return { tools, forced: tools };
  const made = isRecord(choice) && choice["type"] === "function" ? choice["function"] : undefined;
  if (!isRecord(made) || typeof made["name"] !== "string") {
    throw unsupported("tool_choice", `tool_choice can be "auto", "none", "required", or name a function`);
  }
  const named = tools.filter(({ name }) => name === made["name"]);
  if (named.length === 0) throw new ApiError(400, `there is no tool "${made["name"]}"`, null, "tool_choice");
  return { tools, forced: named };
}

function toolOf(tool: unknown, at: number): ToolDefinition {
  const place = `tools[${at}]`;
  const made = isRecord(tool) && tool["type"] === "function" ? tool["function"] : undefined;
  if (!isRecord(made)) throw unsupported(place, `${place} is not of type "function"`);
  const { strict, ...definition } = made;
  if (strict === true)
    throw unsupported(`${place}.function.strict`, "strict tools are not supported: nothing enforces the schema");
  return definition as unknown as ToolDefinition; // `generate` checks its fields, and refuses by name
}
