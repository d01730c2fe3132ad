/** A conversation: messages and answers in turn, whose keys and values stay in the cache. */
import type { AnswerPart } from "../chat/answer-parts";
import { messageOf } from "../chat/assistant-message";
import { seenTokens } from "../chat/sliding-window";
import {
  beginsTurn,
  messagesOf,
  turnStarts,
  withExchange,
  withoutLastTurns,
  withoutOldestTurn,
  type History,
} from "../chat/turns";
import type { Chunk } from "../engine/answer-stream";
import type { AnswerSettings, ChatInput, Engine, GenerationEnd, ProcessLogits } from "../engine/engine";
import { WordloomError } from "../errors";
import { ownModule } from "../own-module";
import type { ChatMessage } from "../tokenizer/tokenizer";
import { checkSendOptions, sentMessages, type ConversationSettings, type SendOptions } from "./conversation-options";
import { GenerationRun } from "./generation-run";
import { given, invalid, refuseUnknown } from "./option-checks";

/** What a conversation needs of a chunk. */
interface ConversationPiece {
  text: string;
  tokens: readonly { id: number | null }[];
  parts?: readonly AnswerPart[];
}

/** What is checked of one answer before its turn. */
export interface CheckedAnswer {
  settings: AnswerSettings;
  process: ProcessLogits | undefined;
  holds: "json" | "text" | undefined;
}

/** The generator behind it. */
export interface ConversationHost<Piece> {
  engine: Engine<{ contextLength: number | undefined; backend: string }, Piece>;
  /** @throws WordloomError option-invalid; disposed */
  check(options: SendOptions): CheckedAnswer;
}

/**
 * Messages that a model answers one after the other, by `TextGenerator.conversation` or `TextGenerator.restore`. Each
 * prompt begins as the one before it and its answer did, so that only what is new has to be run; the ids of an answer stay
 * those that were sampled wherever the template shows its text as it was. (Templates that leave out the reasoning of
 * earlier answers change the text: then the rest of that answer is run once more.)
 *
 * The model has one cache: what is written in between (another conversation, a fork, `generate`) takes its place, but for
 * the tokens that both begin with, and the next `send` runs the rest again. But for rounding, nothing depends on it.
 */
export class Conversation<Piece extends ConversationPiece = Chunk> {
  readonly #host: ConversationHost<Piece>;
  readonly #settings: ConversationSettings;
  /** Never changed, only replaced: forks share it. */
  #history: History;
  #underWay = 0;
  #queue: Promise<unknown> = Promise.resolve();

  /** Not for callers: `TextGenerator.conversation` makes one. */
  constructor(host: ConversationHost<Piece>, settings: ConversationSettings, history: History) {
    this.#host = host;
    this.#settings = settings;
    this.#history = history;
  }

  /** What has been said, answers among them (with `reasoning_content` and `tool_calls`, where there are any); a copy. */
  get messages(): ChatMessage[] {
    return structuredClone(messagesOf(this.#history));
  }

  /** A turn begins with each message that is not the answer of a tool. */
  get turnCount(): number {
    return turnStarts(this.#history).length;
  }

  /**
   * Positions of the context that are free after the last answer; undefined on a server that does not tell its context.
   * What a message would take is `countTokens`.
   */
  get remaining(): number | undefined {
    const { contextLength } = this.#host.engine.info;
    const last = this.#history.exchanges.at(-1);
    if (contextLength === undefined) return undefined;
    return Math.max(0, contextLength - (last ? last.tokens.length - last.unseen : 0));
  }

  /**
   * Sends a message, and writes the answer to it; waits its turn after the one before. As `generate`, it never throws: what
   * is wrong is thrown by the run.
   *
   * Before the run's `end` resolves, message and answer are in `messages`. A send that fails or is aborted leaves the
   * history exactly as it was, the message included (with `keepAborted` an answer that had begun stays, as far as it came);
   * one that a limit cut ("length", "time") stays.
   *
   * @param message a text of the user's, a message, or several that belong together: the results of several calls of tools
   */
  send(message: string | ChatMessage | readonly ChatMessage[], options: SendOptions = {}): GenerationRun<Piece> {
    return new GenerationRun<Piece>(given(options.signal) ? options.signal : undefined, (onChunk, signal) => {
      checkSendOptions(options);
      const checked = this.#host.check(options);
      const sent = sentMessages(message);
      const end = this.#inTurn(signal, () => this.#answer(sent, checked, onChunk, signal));
      return { seed: checked.settings.seed, holds: checked.holds, end };
    });
  }

  /**
   * Tokens of the prompt that `send` would make of this message, with all that was said before, before anything is
   * dropped: more than `info.contextLength` has no room. Waits for an answer that is being written.
   */
  async countTokens(message: string | ChatMessage | readonly ChatMessage[]): Promise<number> {
    const sent = sentMessages(message);
    await this.#queue;
    const history = this.#history;
    return this.#seen(history, await this.#tokenize(history, sent)).length;
  }

  /** A copy with the same history, as it is now; each goes on by itself, and both begin with what the cache holds. */
  fork(): Conversation<Piece> {
    return new Conversation(this.#host, this.#settings, this.#history);
  }

  /**
   * Takes back the last turns: each a message, its answer, and what tools said in between.
   *
   * @param count 0 to `turnCount`
   * @throws WordloomError option-invalid, also while an answer is being written
   */
  rewind(count = 1): void {
    if (!Number.isSafeInteger(count) || count < 0 || count > this.turnCount) {
      throw invalid("count", count, `a whole number from 0 to ${this.turnCount}, the number of turns`);
    }
    if (this.#underWay > 0) {
      throw new WordloomError("option-invalid", "rewind was called while an answer is being written", {
        remedy: "Wait for the run's end, or abort it first.",
      });
    }
    this.#history = withoutLastTurns(this.#history, count);
  }

  /**
   * Keeps the conversation with its keys and values in this browser's storage, where `TextGenerator.restore(name)` finds
   * it; it takes the place of an older one of that name. What the cache no longer holds is run first. A few MiB at a time
   * are in memory.
   *
   * @throws WordloomError storage-failed, also where there is no such storage; option-invalid; `signal.reason` on abort
   */
  async save(name: string, options: { signal?: AbortSignal } = {}): Promise<void> {
    if (typeof name !== "string") throw invalid("name", name, "a string");
    const { keepSaved } = await ownModule(import("./saved-conversation"));
    await keepSaved(name, await this.#parts(options));
  }

  /** As `save`, into a Blob (of about the size of the filled part of the cache), for any other place. */
  async toBlob(options: { signal?: AbortSignal } = {}): Promise<Blob> {
    const blobs: Blob[] = [];
    // Each part is a Blob of its own, so that the browser may move it out of memory.
    for await (const part of await this.#parts(options)) blobs.push(new Blob([part]));
    return new Blob(blobs, { type: "application/octet-stream" });
  }

  async #parts(options: { signal?: AbortSignal }): Promise<AsyncGenerator<Uint8Array<ArrayBuffer>, void>> {
    refuseUnknown(options, { signal: true }, "save");
    const { signal } = options;
    if (given(signal) && !(signal instanceof AbortSignal)) throw invalid("signal", signal, "an AbortSignal");
    await this.#queue;
    signal?.throwIfAborted();
    const { savedParts } = await ownModule(import("./saved-conversation"));
    const { cache, info } = this.#host.engine;
    const state = { settings: this.#settings, history: this.#history };
    return savedParts(state, cache, info.contextLength ?? 0, signal ?? new AbortController().signal);
  }

  /** One after the other; one that is aborted while it waits ends then. */
  #inTurn(signal: AbortSignal, work: () => Promise<GenerationEnd>): Promise<GenerationEnd> {
    const before = this.#queue;
    const end = Promise.race([before, abortOf(signal)]).then(work);
    this.#underWay++;
    const over = end.then(
      () => void this.#underWay--,
      () => void this.#underWay--,
    );
    this.#queue = Promise.all([before, over]);
    return end;
  }

  async #answer(
    sent: readonly ChatMessage[],
    { settings, process }: CheckedAnswer,
    onChunk: (chunk: Piece) => void,
    signal: AbortSignal,
  ): Promise<GenerationEnd> {
    const { engine } = this.#host;
    const prompt = await this.#prompt(sent, settings.maxNewTokens);
    const { history, tokens, turns } = prompt;
    const parts: AnswerPart[] = [];
    const ids: number[] = [];
    const { chat, fullContext, sinks, keepAborted } = this.#settings;
    const input: ChatInput = { kind: "chat", messages: [...messagesOf(history), ...sent], ...chat };
    if (tokens) input.ids = this.#seen(history, tokens);
    const end = await engine.generate(
      { ...settings, ...(fullContext === "slide" ? { slide: { sinks } } : {}), input },
      (chunk) => {
        if (signal.aborted) return; // whoever aborted has not seen it
        parts.push(...(chunk.parts ?? [{ type: "text" as const, text: chunk.text }]));
        for (const { id } of chunk.tokens) if (id !== null) ids.push(id);
        onChunk(chunk);
      },
      signal,
      process,
    );
    const isAborted = end.finishReason === "abort" || signal.aborted;
    if (isAborted && !(keepAborted && parts.length > 0)) return end;
    const dropped = { turns, tokens: unseenOf(history) + (end.dropped?.tokens ?? 0) };
    this.#history = withExchange(history, {
      sent,
      answer: messageOf(parts),
      tokens: tokens ? Uint32Array.from([...tokens, ...ids]) : new Uint32Array(0),
      unseen: dropped.tokens,
    });
    return turns > 0 || dropped.tokens > 0 ? { ...end, dropped } : end;
  }

  /**
   * What is sent, and the history that it follows: all of it, or without its oldest turns.
   *
   * @throws WordloomError prompt-too-long; as `Tokenizer.encodeChat`
   */
  async #prompt(
    sent: readonly ChatMessage[],
    maxNewTokens: number,
  ): Promise<{ history: History; tokens: Uint32Array | undefined; turns: number }> {
    const { contextLength } = this.#host.engine.info;
    let history = this.#history;
    // A server has its own ids and its own cache.
    if (contextLength === undefined || !this.#host.engine.cache) return { history, tokens: undefined, turns: 0 };
    const drops = this.#settings.fullContext === "drop-oldest-turns";
    // The last token of an answer is not run, and takes no position.
    const room = drops ? Math.min(maxNewTokens, Math.max(1, Math.floor(contextLength / 4))) - 1 : 0;
    for (let turns = 0; ; turns++) {
      const tokens = await this.#tokenize(history, sent);
      const hasRoom = tokens.length + room <= contextLength;
      if (hasRoom || this.#settings.fullContext === "slide") return { history, tokens, turns };
      // What a tool says belongs to the last turn, which then stays.
      const droppable = turnStarts(history).length - (beginsTurn(sent) ? 0 : 1);
      if (drops && droppable > 0) {
        history = withoutOldestTurn(history);
        continue;
      }
      if (tokens.length <= contextLength) return { history, tokens, turns };
      const message = `the prompt has ${tokens.length} tokens; the context holds ${contextLength}`;
      throw new WordloomError("prompt-too-long", message);
    }
  }

  async #tokenize(history: History, sent: readonly ChatMessage[]): Promise<Uint32Array> {
    const known = history.exchanges.at(-1)?.tokens ?? new Uint32Array(0);
    const input: ChatInput = {
      kind: "chat",
      messages: [...messagesOf(history), ...sent],
      ...this.#settings.chat,
      known,
    };
    return Uint32Array.from(await this.#host.engine.tokenize(input, { addSpecialTokens: false }));
  }

  #seen(history: History, tokens: Uint32Array): Uint32Array {
    return seenTokens(tokens, this.#settings.sinks, unseenOf(history));
  }
}

function unseenOf({ exchanges }: History): number {
  return exchanges.at(-1)?.unseen ?? 0;
}

/** Resolves, with nothing, when the signal aborts. */
function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
