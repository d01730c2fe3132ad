/**
 * A checkpoint for chat whose answers are written down: what the prompt's last character is decides which one is given.
 */
import { spellBytes } from "../tokenizer/byte-alphabet";
import { scriptedCheckpoint } from "./scripted-checkpoint";

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

export function scriptedChatCheckpoint(chat: ScriptedChat): Map<string, Uint8Array<ArrayBuffer>> {
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
  return scriptedCheckpoint({
    pieces,
    size: Math.ceil(pieces.length / 8) * 8,
    table: (last, following) => (following === (next.get(last) ?? 0) ? SURE : 0),
    contextLength: chat.contextLength ?? 2048,
    chatTemplate: chat.template,
    added,
  });
}
