/**
 * A chat as a tree: each message can be sent in other words and each answer be had again, and what was there before stays
 * beside it. Shown is one path through the tree.
 */
import type { TextGenerator } from "../../../api/text-generator";
import { WordloomError } from "../../../errors";
import type { GenerateOptions, GenerationEnd } from "../../generator";

/** Of a model on this device: the page names no server. */
export type ChatGenerator = Pick<TextGenerator, "conversation" | "tokenize">;
type Conversation = ReturnType<ChatGenerator["conversation"]>;
type ChatMessage = Conversation["messages"][number];
type Chunk = ReturnType<Conversation["send"]> extends AsyncIterable<infer Piece> ? Piece : never;
/** What is common to all answers stands with the conversation. */
export type AnswerOptions = Pick<GenerateOptions, Exclude<keyof GenerateOptions, "signal">>;

/** How an answer stands. `cut`: by a limit. */
export type AnswerState = "writing" | "whole" | "cut" | "stopped";

export interface KeptToken {
  id: number;
  text: string;
  logprob: number;
}

export interface Answer {
  text: string;
  reasoning: string;
  state: AnswerState;
  tokens: KeptToken[];
  /** Undefined until it has ended, and where it is of an earlier visit. */
  end: GenerationEnd | undefined;
}

/** A message and its answer; what follows it are its children. */
export interface Turn {
  readonly parent: Turn | undefined;
  readonly message: string;
  readonly answer: Answer;
  readonly next: Branches;
}

/** What may follow: all that was tried, and which of them is shown. */
export interface Branches {
  turns: Turn[];
  shown: Turn | undefined;
}

/** The tree as JSON. */
export interface PlainTurn {
  message: string;
  text: string;
  reasoning: string;
  state: Exclude<AnswerState, "writing">;
  tokens: KeptToken[];
  shown: number;
  next: PlainTurn[];
}

export interface PlainChat {
  system: string;
  shown: number;
  turns: PlainTurn[];
}

const NO_BRANCHES = (): Branches => ({ turns: [], shown: undefined });

export class ChatSession {
  #first = NO_BRANCHES();
  #generator: ChatGenerator | undefined;
  /** As they are after a turn; made of the messages where they are missing. */
  #conversations = new WeakMap<Turn, Conversation>();
  #abort: AbortController | undefined;
  #system = "";

  /** @param onChange something of `path` or `isWriting` is another */
  constructor(private readonly onChange: () => void) {}

  get isWriting(): boolean {
    return this.#abort !== undefined;
  }

  get system(): string {
    return this.#system;
  }

  /** For the answers to come. */
  set system(system: string) {
    if (system === this.#system) return;
    this.#system = system;
    this.#conversations = new WeakMap();
  }

  /** The turns that are shown, from the first to the last. */
  get path(): Turn[] {
    const path: Turn[] = [];
    for (let turn = this.#first.shown; turn; turn = turn.next.shown) path.push(turn);
    return path;
  }

  /** Who answers from now on; undefined where no model is loaded. What is being written is stopped. */
  open(generator: ChatGenerator | undefined): void {
    if (generator === this.#generator) return;
    this.stop();
    this.#generator = generator;
    this.#conversations = new WeakMap();
  }

  /** The turns beside this one, itself among them, and its place there. */
  versions(turn: Turn): { at: number; count: number } {
    const { turns } = this.#branchesWith(turn);
    return { at: turns.indexOf(turn), count: turns.length };
  }

  /** Shows the version beside it, and what followed that one when it was last shown. */
  show(turn: Turn, step: -1 | 1): void {
    const branches = this.#branchesWith(turn);
    const other = branches.turns[branches.turns.indexOf(turn) + step];
    if (!other || this.isWriting) return;
    branches.shown = other;
    this.onChange();
  }

  /** Sends a message after what is shown. */
  send(message: string, options: AnswerOptions): Promise<GenerationEnd | undefined> {
    return this.#ask(this.path.at(-1), message, options);
  }

  /** Sends a message, or the same one again, in this turn's place; the turn stays as another version. */
  sendInstead(turn: Turn, message: string, options: AnswerOptions): Promise<GenerationEnd | undefined> {
    return this.#ask(turn.parent, message, options);
  }

  stop(): void {
    this.#abort?.abort();
  }

  /** Forgets everything. */
  clear(): void {
    this.stop();
    this.#first = NO_BRANCHES();
    this.onChange();
  }

  /** Positions that the prompt would take with this message after what is shown. @throws WordloomError as `tokenize` */
  async countTokens(message: string): Promise<number | undefined> {
    if (!this.#generator) return undefined;
    return this.#after(this.path.at(-1), this.#generator).countTokens(message);
  }

  toPlain(): PlainChat {
    const plainOf = ({ message, answer: { text, reasoning, state, tokens }, next }: Turn): PlainTurn => ({
      message,
      text,
      reasoning,
      state: state === "writing" ? "stopped" : state,
      tokens,
      ...branchesOf(next),
    });
    const branchesOf = ({ turns, shown }: Branches) => ({
      shown: shown ? turns.indexOf(shown) : 0,
      next: turns.map(plainOf),
    });
    const { shown, next } = branchesOf(this.#first);
    return { system: this.#system, shown, turns: next };
  }

  /** In place of what was there. */
  restore({ system, shown, turns }: PlainChat): void {
    this.stop();
    const branchesOf = (plain: readonly PlainTurn[], at: number, parent: Turn | undefined): Branches => {
      const made = plain.map((one): Turn => {
        const { message, text, reasoning, state, tokens } = one;
        const next = NO_BRANCHES();
        const turn: Turn = { parent, message, answer: { text, reasoning, state, tokens, end: undefined }, next };
        Object.assign(next, branchesOf(one.next, one.shown, turn));
        return turn;
      });
      return { turns: made, shown: made[at] };
    };
    this.system = system;
    this.#first = branchesOf(turns, shown, undefined);
    this.onChange();
  }

  #branchesWith(turn: Turn): Branches {
    return turn.parent ? turn.parent.next : this.#first;
  }

  /** A conversation of its own, at this point of the tree. */
  #after(turn: Turn | undefined, generator: ChatGenerator): Conversation {
    const known = turn && this.#conversations.get(turn);
    if (known) return known.fork();
    const said: ChatMessage[] = this.#system === "" ? [] : [{ role: "system", content: this.#system }];
    const path: Turn[] = [];
    for (let at = turn; at; at = at.parent) path.unshift(at);
    for (const { message, answer } of path) {
      const { text, reasoning } = answer;
      said.push({ role: "user", content: message });
      said.push({ role: "assistant", content: text, ...(reasoning === "" ? {} : { reasoning_content: reasoning }) });
    }
    return generator.conversation({ messages: said, fullContext: "drop-oldest-turns", keepAborted: true });
  }

  /**
   * @returns undefined where nothing came: stopped before the first word
   * @throws WordloomError as `Conversation.send`; then the tree is as it was
   */
  async #ask(parent: Turn | undefined, message: string, options: AnswerOptions): Promise<GenerationEnd | undefined> {
    const generator = this.#generator;
    if (!generator || this.isWriting) return undefined;
    const branches = parent ? parent.next : this.#first;
    const shownBefore = branches.shown;
    const answer: Answer = { text: "", reasoning: "", state: "writing", tokens: [], end: undefined };
    const turn: Turn = { parent, message, answer, next: NO_BRANCHES() };
    branches.turns.push(turn);
    branches.shown = turn;
    const abort = new AbortController();
    this.#abort = abort;
    this.onChange();
    const takeBack = () => {
      branches.turns = branches.turns.filter((one) => one !== turn);
      branches.shown = shownBefore;
    };
    try {
      const conversation = this.#after(parent, generator);
      const run = conversation.send(message, { ...options, signal: abort.signal });
      try {
        for await (const chunk of run) {
          if (abort.signal.aborted) break;
          addTo(answer, chunk);
          this.onChange();
        }
      } catch (error) {
        if (!abort.signal.aborted) throw error; // stopped by us: `end` tells the rest
      }
      const end = await run.end;
      answer.end = end;
      answer.state = end.finishReason === "abort" ? "stopped" : end.finishReason === "stop" ? "whole" : "cut";
      if (answer.state === "stopped" && answer.text === "" && answer.reasoning === "") {
        takeBack();
        return undefined;
      }
      // One that was stopped is in the conversation as far as it had come there, which may be a few tokens further.
      if (answer.state !== "stopped") this.#conversations.set(turn, conversation);
      return end;
    } catch (error) {
      takeBack();
      throw WordloomError.from(error);
    } finally {
      this.#abort = undefined;
      this.onChange();
    }
  }
}

function addTo(answer: Answer, { text, tokens, parts }: Chunk): void {
  for (const part of parts ?? [{ type: "text" as const, text }]) {
    if (part.type === "text") answer.text += part.text;
    else if (part.type === "reasoning") answer.reasoning += part.text;
  }
  for (const { id, text: piece, logprob } of tokens) answer.tokens.push({ id, text: piece, logprob });
}

/** Whether the model has a template for messages. @throws WordloomError for any other reason than that it has none */
export async function takesChat(generator: ChatGenerator): Promise<boolean> {
  try {
    await generator.tokenize([{ role: "user", content: "?" }]);
    return true;
  } catch (error) {
    if (error instanceof WordloomError && error.code === "template-missing") return false;
    throw error;
  }
}
