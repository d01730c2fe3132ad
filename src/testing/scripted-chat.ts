/**
 * A model for chat whose answers are written down: what the prompt's last character is decides which one is given. It is
 * a real checkpoint (scripted-checkpoint.ts), so that the answer comes through engine, sampler and tokenizer.
 */
import { TextGenerator } from "../api/text-generator";
import type { LoadOptions } from "../api/options";
import { spellBytes } from "../tokenizer/byte-alphabet";
import { filesOf, scriptedCheckpoint } from "./scripted-checkpoint";

/** A text is one token; in objects stand added tokens, which are special unless `visible`. */
export type AnswerPiece = string | { token: string; visible?: boolean };

export interface ScriptedChat {
  /** Jinja; its text holds printable ASCII and newlines only, and ends with a key of `answers`. */
  template: string;
  /** By the prompt's last character. Texts have two characters or more, and none occurs twice. */
  answers: Readonly<Record<string, readonly AnswerPiece[]>>;
  /** Added tokens that no answer holds; special. */
  added?: readonly string[];
  contextLength?: number;
}

const CHARACTERS = ["\n", ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))];
/** Far from all others, so that a draw at temperature 1 takes it, too. */
const SURE = 60;

export function scriptedChatFiles(chat: ScriptedChat): File[] {
  const pieces = ["<end>", "<begin>", ...CHARACTERS.map(spellBytes)];
  const added = new Map([
    [0, true],
    [1, true],
  ]);
  const idOf = (piece: AnswerPiece): number => {
    const spelling = typeof piece === "string" ? spellBytes(piece) : piece.token;
    const known = pieces.indexOf(spelling);
    if (known >= 0 && typeof piece === "string") throw new Error(`${JSON.stringify(piece)} is no new text`);
    const id = known >= 0 ? known : pieces.push(spelling) - 1;
    if (typeof piece !== "string") added.set(id, piece.visible !== true);
    return id;
  };
  const next = new Map<number, number>();
  for (const [last, answer] of Object.entries(chat.answers)) {
    let id = pieces.indexOf(spellBytes(last));
    for (const piece of answer) {
      const following = idOf(piece);
      next.set(id, following);
      id = following;
    }
    next.set(id, 0);
  }
  for (const token of chat.added ?? []) idOf({ token });
  return filesOf(
    scriptedCheckpoint({
      pieces,
      size: Math.ceil(pieces.length / 8) * 8,
      table: (last, following) => (following === (next.get(last) ?? 0) ? SURE : 0),
      contextLength: chat.contextLength ?? 2048,
      chatTemplate: chat.template,
      added,
    }),
  );
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
