/** One session: a conversation with the model, whose operations are done one after the other. */
import type { GenerateOptions } from "../../api/generate-options";
import type { TokenizeOptions } from "../../api/text-generator";
import type { AnswerPart, ToolCallPart } from "../../chat/answer-parts";
import { messageOf } from "../../chat/assistant-message";
import type { ChatMessage } from "../../tokenizer/tokenizer";
import { partsOf, roomOf, type AdaptedGenerator } from "../generator";
import {
  constraintOf,
  toolDefinitions,
  type LanguageModelPromptOptions,
  type LanguageModelSamplingMode,
  type LanguageModelTool,
  type SessionSampling,
} from "./create-options";
import { constraintFailure, domFailure, quotaExceeded, unlessAborted } from "./failures";
import { readPrompt, type LanguageModelMessageContent, type LanguageModelPrompt } from "./prompt-messages";
import { LanguageModelToolCall } from "./tool-values";

/** An answer is a string; with calls of tools that the page runs itself, a list of text and calls. */
export type LanguageModelAnswer = string | LanguageModelMessageContent[];
export type LanguageModelPiece = string | LanguageModelMessageContent;

export interface SessionSettings {
  generator: AdaptedGenerator;
  sampling: SessionSampling;
  tools: readonly LanguageModelTool[];
  /** Types of content that the session was created for, beside text. */
  expected: ReadonlySet<string>;
}

interface SessionState {
  /** Never removed: the initial prompts, and a system prompt that came first later. */
  kept: readonly ChatMessage[];
  /** A prompt with its response, or what was appended; the oldest goes first. */
  turns: readonly (readonly ChatMessage[])[];
  usage: number;
}

/** A model that always calls a tool again must end somewhere. */
const MAX_ROUNDS = 16;

type OverflowHandler = ((event: Event) => unknown) | null;

export class Session extends EventTarget {
  readonly #settings: SessionSettings;
  readonly #destroyed = new AbortController();
  #state: SessionState;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #handlers = new Map<string, OverflowHandler>();

  /** @param state what the session begins with; its prompts fit */
  constructor(settings: SessionSettings, state: SessionState) {
    super();
    this.#settings = settings;
    this.#state = state;
  }

  /** Tokens of the conversation so far, and how many there may be. */
  get contextUsage(): number {
    return this.#state.usage;
  }
  get contextWindow(): number {
    return this.#settings.generator.info.contextLength ?? Infinity;
  }
  /** The older names of the same. */
  get inputUsage(): number {
    return this.contextUsage;
  }
  get inputQuota(): number {
    return this.contextWindow;
  }

  get topK(): number {
    return this.#settings.sampling.topK;
  }
  get temperature(): number {
    return this.#settings.sampling.temperature;
  }
  get samplingMode(): LanguageModelSamplingMode | null {
    return this.#settings.sampling.samplingMode;
  }

  get oncontextoverflow(): OverflowHandler {
    return this.#handlers.get("contextoverflow") ?? null;
  }
  set oncontextoverflow(handler: OverflowHandler) {
    this.#handle("contextoverflow", handler);
  }
  get onquotaoverflow(): OverflowHandler {
    return this.#handlers.get("quotaoverflow") ?? null;
  }
  set onquotaoverflow(handler: OverflowHandler) {
    this.#handle("quotaoverflow", handler);
  }

  /** The model's answer once it is whole. */
  async prompt(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<LanguageModelAnswer> {
    const pieces: LanguageModelPiece[] = [];
    await this.#enqueue(options.signal, (signal) =>
      this.#answer(input, options, signal, (piece) => pieces.push(piece)),
    );
    const text = pieces.filter((piece) => typeof piece === "string").join("");
    const calls = pieces.filter((piece) => typeof piece !== "string");
    if (calls.length === 0) return text;
    return text === "" ? calls : [{ type: "text", value: text }, ...calls];
  }

  /** The same in pieces: strings, each the continuation of the one before. Cancelling it stops the model. */
  promptStreaming(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions = {},
  ): ReadableStream<LanguageModelPiece> {
    const cancelled = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, cancelled.signal]) : cancelled.signal;
    return new ReadableStream<LanguageModelPiece>({
      start: (controller) => {
        this.#enqueue(signal, (both) => this.#answer(input, options, both, (piece) => controller.enqueue(piece))).then(
          () => {
            if (!cancelled.signal.aborted) controller.close();
          },
          (error: unknown) => {
            if (!cancelled.signal.aborted) controller.error(error);
          },
        );
      },
      cancel: (reason) => cancelled.abort(reason ?? new DOMException("the stream was cancelled", "AbortError")),
    });
  }

  /** Adds to the conversation without an answer. */
  async append(input: LanguageModelPrompt, { signal }: { signal?: AbortSignal } = {}): Promise<undefined> {
    await this.#enqueue(signal, async (both) => {
      const { messages } = this.#read(input);
      const { state, usage } = await this.#fit(messages, {}, both);
      this.#commit({ ...state, usage }, messages);
    });
  }

  /** Tokens that `input` would take, the template's own included. */
  async measureContextUsage(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<number> {
    return this.#failing(options.signal, async (signal) => {
      this.#constraintOf(options);
      const { messages, hasPrefix } = this.#read(input);
      const all = [...this.#history(this.#state), ...messages];
      return Math.max(0, (await this.#count(all, { continueFinalMessage: hasPrefix }, signal)) - this.#state.usage);
    });
  }

  measureInputUsage(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<number> {
    return this.measureContextUsage(input, options);
  }

  /** What both sessions need; each goes on by itself. */
  protected copy<T extends Session>(
    Type: new (settings: SessionSettings, state: SessionState) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.#failing(signal, async () => new Type(this.#settings, this.#state));
  }

  /** Rejects what is under way or comes later; the model stays loaded, as others may use it. */
  destroy(): void {
    this.destroyFor(new DOMException("the session was destroyed", "AbortError"));
  }

  protected destroyFor(reason: unknown): void {
    this.#destroyed.abort(reason);
  }

  #read(input: LanguageModelPrompt) {
    const { kept, turns } = this.#state;
    return readPrompt(input, this.#settings.expected, kept.length === 0 && turns.length === 0);
  }

  async #answer(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions,
    signal: AbortSignal,
    tell: (piece: LanguageModelPiece) => void,
  ): Promise<void> {
    const constraint = this.#constraintOf(options);
    const { messages, hasPrefix } = this.#read(input);
    const said = [...messages];
    let { state } = await this.#fit(said, { continueFinalMessage: hasPrefix }, signal);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const continues = round === 0 && hasPrefix;
      const { parts, usage } = await this.#generate(
        [...this.#history(state), ...said],
        continues,
        constraint,
        signal,
        tell,
      );
      const answer = withoutThoughts(parts);
      if (continues) answer.content = begunText(said.pop()) + answer.content;
      said.push(answer);
      const calls = parts.filter((part): part is ToolCallPart => part.type === "tool-call");
      const runs = calls.length > 0 && this.#settings.tools.some(({ execute }) => execute !== undefined);
      if (!runs) {
        for (const { id: callId, name, arguments: given } of calls) {
          tell({ type: "tool-call", value: new LanguageModelToolCall({ callId, name, arguments: given }) });
        }
        this.#commit({ ...state, usage }, said);
        return;
      }
      said.push(...(await unlessAborted(Promise.all(calls.map((call) => this.#execute(call))), signal)));
      ({ state } = await this.#fit(said, {}, signal));
    }
    throw new DOMException(`the model has called tools ${MAX_ROUNDS} times without an answer`, "OperationError");
  }

  #constraintOf(options: LanguageModelPromptOptions): GenerateOptions {
    return constraintOf(options, this.#settings.tools.length > 0);
  }

  async #generate(
    messages: readonly ChatMessage[],
    continueFinalMessage: boolean,
    constraint: GenerateOptions,
    signal: AbortSignal,
    tell: (piece: string) => void,
  ): Promise<{ parts: AnswerPart[]; usage: number }> {
    const { generator, sampling } = this.#settings;
    const run = generator.generate(messages, {
      ...sampling.options,
      ...constraint,
      ...this.#chatOptions({ continueFinalMessage }),
      maxNewTokens: roomOf(generator),
      signal,
    });
    const parts: AnswerPart[] = [];
    try {
      for await (const chunk of run) {
        for (const part of partsOf(chunk)) {
          parts.push(part);
          if (part.type === "text") tell(part.text);
        }
      }
    } catch (error) {
      if (constraint.constraint) throw constraintFailure(error);
      throw error;
    }
    const { usage, constraint: held } = await run.end;
    if (held === "cut") {
      const message = "the context is full before the answer is what responseConstraint asks for";
      throw new DOMException(message, "OperationError");
    }
    return { parts, usage: usage.promptTokens + usage.completionTokens };
  }

  /** A tool that fails tells the model so. */
  async #execute({ id, name, arguments: given }: ToolCallPart): Promise<ChatMessage> {
    const tool = this.#settings.tools.find((one) => one.name === name);
    let content: string;
    try {
      if (!tool?.execute) throw new Error(`there is no tool ${name}`);
      const result = await tool.execute(given);
      content = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
    } catch (error) {
      content = `Error: ${error instanceof Error ? error.message : String(error)}`;
    }
    return { role: "tool", tool_call_id: id, name, content };
  }

  /**
   * Takes the oldest turns out until `messages` have room, and says so by an event. Where they never have, nothing is
   * taken out.
   */
  async #fit(
    messages: readonly ChatMessage[],
    options: TokenizeOptions,
    signal: AbortSignal,
  ): Promise<{ state: SessionState; usage: number }> {
    let state = this.#state;
    for (;;) {
      const usage = await this.#count([...this.#history(state), ...messages], options, signal);
      if (usage < this.contextWindow) {
        if (state === this.#state) return { state, usage };
        this.#state = { ...state, usage: await this.#count(this.#history(state), {}, signal) };
        for (const name of ["contextoverflow", "quotaoverflow"]) this.dispatchEvent(new Event(name));
        return { state, usage };
      }
      if (state.turns.length === 0) throw quotaExceeded(usage, this.contextWindow - this.#state.usage);
      state = { ...state, turns: state.turns.slice(1) };
    }
  }

  #commit(state: SessionState, messages: readonly ChatMessage[]): void {
    const [first, ...rest] = messages;
    const isSystem = state.kept.length === 0 && state.turns.length === 0 && first?.role === "system";
    const turn = isSystem ? rest : messages;
    this.#state = {
      kept: isSystem ? [first] : state.kept,
      turns: turn.length === 0 ? state.turns : [...state.turns, turn],
      usage: state.usage,
    };
  }

  #history({ kept, turns }: SessionState): ChatMessage[] {
    return [...kept, ...turns.flat()];
  }

  #chatOptions({ continueFinalMessage }: TokenizeOptions): TokenizeOptions {
    const { tools } = this.#settings;
    return {
      ...(tools.length === 0 ? {} : { tools: toolDefinitions(tools) }),
      ...(continueFinalMessage === true ? { continueFinalMessage } : {}),
    };
  }

  async #count(messages: readonly ChatMessage[], options: TokenizeOptions, signal: AbortSignal): Promise<number> {
    if (messages.length === 0) return 0;
    const ids = this.#settings.generator.tokenize(messages, this.#chatOptions(options));
    return (await unlessAborted(ids, signal)).length;
  }

  /** One operation after the other; one that is aborted while it waits is never begun. */
  #enqueue(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const before = this.#queue;
    const done = this.#failing(signal, async (both) => {
      await unlessAborted(before, both);
      await work(both);
    });
    this.#queue = Promise.allSettled([before, done]);
    return done;
  }

  async #failing<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const both = signal ? AbortSignal.any([signal, this.#destroyed.signal]) : this.#destroyed.signal;
    both.throwIfAborted();
    try {
      return await work(both);
    } catch (error) {
      if (both.aborted) throw both.reason;
      throw domFailure(error, "UnknownError");
    }
  }

  #handle(name: string, handler: OverflowHandler): void {
    const before = this.#handlers.get(name);
    if (before) this.removeEventListener(name, before);
    const taken = typeof handler === "function" ? handler : null;
    this.#handlers.set(name, taken);
    if (taken) this.addEventListener(name, taken);
  }
}

/** What the model thought does not stay in the conversation. */
function withoutThoughts(parts: readonly AnswerPart[]) {
  return messageOf(parts.filter(({ type }) => type !== "reasoning"));
}

/** Of a message with a prefix, whose content `readPrompt` has made a string. */
function begunText(message: ChatMessage | undefined): string {
  return typeof message?.content === "string" ? message.content : "";
}
