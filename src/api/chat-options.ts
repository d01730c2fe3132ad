/** What a chat prompt holds beside its messages, checked: tools, variables of the template, an answer already begun. */
import { WordloomError } from "../errors";
import type { ChatOptions, ToolDefinition } from "../tokenizer/tokenizer";
import { flag, given, invalid, refuseUnknown } from "./option-checks";

/** Options of input that is chat messages; with any other input they are refused. */
export interface ChatPromptOptions {
  /**
   * Functions that the model may ask for, in the place its template has for them. Calls come as parts of type "tool-call";
   * it is the caller who runs them, and answers with a message `{ role: "tool", tool_call_id, name, content }`. Refused
   * with tools-unsupported by models whose template has no place for tools, or whose calls are in no known format.
   */
  tools?: readonly ToolDefinition[];
  /** Further variables for the template, as JSON: `{ enable_thinking: false }`. What it does not read is refused. */
  templateOptions?: Readonly<Record<string, unknown>>;
  /** The last message is the beginning of the assistant's answer, which goes on from its last character; default false. */
  continueFinalMessage?: boolean;
}

const TOOL_FIELDS: Record<keyof ToolDefinition, true> = { name: true, description: true, parameters: true };

/** @throws WordloomError option-invalid, with the option's name */
export function resolveChatOptions(options: ChatPromptOptions): ChatOptions {
  const { tools, templateOptions } = options;
  const continueFinalMessage = flag(options, "continueFinalMessage", false);
  return {
    ...(given(tools) ? { tools: checkedTools(tools) } : {}),
    ...(given(templateOptions) ? { templateOptions: jsonObject("templateOptions", templateOptions) } : {}),
    ...(continueFinalMessage ? { continueFinalMessage } : {}),
  };
}

function checkedTools(tools: unknown): ToolDefinition[] {
  if (!Array.isArray(tools)) throw invalid("tools", tools, "a list of { name, description, parameters }");
  const names = new Set<string>();
  return tools.map((tool: unknown, at) => {
    const place = `tools[${at}]`;
    const { name, description, parameters } = checkedFields(place, tool);
    if (typeof name !== "string" || !/^[\w.-]{1,64}$/.test(name)) {
      throw invalid(`${place}.name`, name, "1 to 64 letters, digits, _, - or .");
    }
    if (names.has(name)) throw new WordloomError("option-invalid", `two tools have the name "${name}"`);
    names.add(name);
    if (given(description) && typeof description !== "string") {
      throw invalid(`${place}.description`, description, "a string");
    }
    return {
      name,
      ...(given(description) ? { description } : {}),
      ...(given(parameters) ? { parameters: jsonObject(`${place}.parameters`, parameters) } : {}),
    };
  });
}

function checkedFields(place: string, tool: unknown): Partial<Record<keyof ToolDefinition, unknown>> {
  if (typeof tool !== "object" || tool === null) throw invalid(place, tool, "{ name, description, parameters }");
  refuseUnknown(tool, TOOL_FIELDS, place);
  return tool;
}

/** A copy, which can be posted to a worker. */
function jsonObject(name: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(name, value, "an object");
  try {
    return JSON.parse(JSON.stringify(value)) as Record<string, unknown>; // of an object
  } catch (cause) {
    throw new WordloomError("option-invalid", `${name} is no JSON: ${String(cause)}`, { cause });
  }
}
