/** Messages, tools and template options → the prompt's text, with a guard before what must stay text (message-guard.ts). */
import { WordloomError } from "../errors";
import { isReservedName, renderChat } from "./chat-template";
import { isRecord } from "./json-fields";
import { guardMessages, unusedNoncharacter } from "./message-guard";
import type { ChatMessage, ChatOptions, ToolDefinition } from "./tokenizer";

export interface ChatTemplate {
  template: string;
  /** The special tokens' names in the template. */
  variables: Readonly<Record<string, string>>;
  /** Spellings of the special tokens. */
  specials: readonly string[];
}

/** @throws as `Tokenizer.encodeChat`, but for template-missing */
export async function chatPrompt(
  messages: readonly ChatMessage[],
  options: ChatOptions,
  { template, variables, specials }: ChatTemplate,
): Promise<{ text: string; guard: string }> {
  const { tools = [], templateOptions = {}, continueFinalMessage = false } = options;
  for (const name of Object.keys(templateOptions)) checkTemplateOption(name, template, variables);
  const given = placeTools(template, messages, tools);
  const opened = continueFinalMessage ? openFinalMessage(given.messages) : undefined;
  const content = { messages: opened?.messages ?? given.messages, tools: given.tools, templateOptions };
  const { messages: guarded, guard } = guardMessages(content, specials, template);
  const text = await renderChat(template, guarded.messages, {
    ...variables,
    ...guarded.templateOptions,
    ...(guarded.tools === undefined ? {} : { tools: guarded.tools }),
    ...(opened ? { add_generation_prompt: false } : {}),
  });
  return { text: opened ? cutAt(text, opened) : text, guard };
}

function checkTemplateOption(name: string, template: string, variables: Readonly<Record<string, string>>): void {
  if (isReservedName(name) || Object.hasOwn(variables, name)) {
    throw new WordloomError("option-invalid", `templateOptions.${name} is not free: the template finds it elsewhere`, {
      remedy: `Remove templateOptions.${name}; tools, messages and special tokens are given in other ways.`,
    });
  }
  // Names with anything but letters, digits and _ are none that a template can read.
  if (!/^[A-Za-z_]\w*$/.test(name) || !new RegExp(`\\b${name}\\b`).test(template)) {
    throw new WordloomError("option-invalid", `this model's chat template does not read templateOptions.${name}`, {
      remedy: "Remove it, or look up in the model's description what its template reads.",
    });
  }
}

/** Most templates have a variable `tools`; some (Phi-4-mini) read them, as JSON, from the system message. */
function placeTools(
  template: string,
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[],
): { messages: readonly ChatMessage[]; tools: unknown } {
  if (tools.length === 0) return { messages, tools: undefined };
  const inMessage = /message(\[['"]tools['"]\]|\.tools\b)/g;
  if (/\btools\b/.test(template.replace(inMessage, "").replace(/['"]tools['"]/g, ""))) {
    return { messages, tools: tools.map((tool) => ({ type: "function", function: tool })) };
  }
  if (!inMessage.test(template)) {
    throw new WordloomError("tools-unsupported", "this model's chat template has no place for tools");
  }
  const [first, ...rest] = messages;
  const hasSystem = first?.role === "system";
  const system: ChatMessage = {
    ...(hasSystem ? first : { role: "system", content: "" }),
    tools: JSON.stringify(tools),
  };
  return { messages: [system, ...(hasSystem ? rest : messages)], tools: undefined };
}

/** The last message, with a mark where the answer is to go on. */
interface OpenedMessage {
  messages: readonly ChatMessage[];
  mark: string;
  /** White space at the message's end, which templates may trim. */
  blanks: string;
}

function openFinalMessage(messages: readonly ChatMessage[]): OpenedMessage {
  const last: unknown = messages.at(-1);
  if (!isRecord(last) || last["role"] !== "assistant" || typeof last["content"] !== "string") {
    throw new WordloomError(
      "option-invalid",
      "continueFinalMessage needs a last message of the assistant, whose content is a string",
    );
  }
  const content = last["content"];
  const mark = unusedNoncharacter(JSON.stringify(messages));
  const opened: ChatMessage = { ...last, role: "assistant", content: content.trimEnd() + mark };
  return { messages: [...messages.slice(0, -1), opened], mark, blanks: content.slice(content.trimEnd().length) };
}

function cutAt(text: string, { mark, blanks }: OpenedMessage): string {
  const at = text.lastIndexOf(mark);
  if (at >= 0) return text.slice(0, at) + blanks;
  throw new WordloomError(
    "template-failed",
    "the chat template does not show the last message, so it cannot be continued",
  );
}
