/**
 * A model for chat whose answers are written down (scripted-chat-checkpoint.ts). It is a real checkpoint, so that the
 * answer comes through engine, sampler and tokenizer.
 */
import { TextGenerator } from "../api/text-generator";
import type { LoadOptions } from "../api/options";
import { filesOf } from "./scripted-checkpoint";
import { scriptedChatCheckpoint, type ScriptedChat } from "./scripted-chat-checkpoint";

export type { AnswerPiece, ScriptedChat } from "./scripted-chat-checkpoint";

export function scriptedChatFiles(chat: ScriptedChat): File[] {
  return filesOf(scriptedChatCheckpoint(chat));
}

/** On the reference, on this thread. */
export function loadScriptedChat(chat: ScriptedChat, options: LoadOptions = {}): Promise<TextGenerator> {
  return TextGenerator.load(scriptedChatFiles(chat), { backend: "reference", dtype: "f32", worker: false, ...options });
}

/**
 * Tools as in Hermes' and Qwen's format. The prompt ends with ">" after a user, with "~" after a tool's result, and with
 * "!" where `enable_thinking` is false.
 */
export const TOOL_TEMPLATE =
  "{% if tools %}{{ tools | tojson }}<tool_call>{% endif %}" +
  "{% for m in messages %}{{ m.role }}:{{ m.content }}" +
  "{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}" +
  "{% if not loop.last or add_generation_prompt %};{% endif %}{% endfor %}" +
  "{% if add_generation_prompt %}" +
  "{{ '~' if messages[-1].role == 'tool' else '!' if enable_thinking is defined and not enable_thinking else '>' }}" +
  "{% endif %}";
