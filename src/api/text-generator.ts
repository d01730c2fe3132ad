import type { Chunk } from "../engine/answer-stream";
import type { Choice } from "../engine/choice";
import type { EngineInfo, Engine, Score } from "../engine/engine";
import type { ModelSource } from "../engine/load-model";
import type { ModelPlan } from "../engine/plan-model";
import { WordloomError } from "../errors";
import { ownModule } from "../own-module";
import type { RemoteChunk, RemoteInfo } from "../remote/remote-types";
import type { ChatMessage } from "../tokenizer/tokenizer";
import { askToPersist } from "../storage/persist";
import { connectEngine, planHere } from "../worker/client";
import { resolveChatOptions, type ChatPromptOptions } from "./chat-options";
import type { ConnectOptions, FallbackOptions } from "./connect-options";
import type { EmbedOptions } from "./embed-options";
import { randomSeed, resolveGenerateOptions, type GenerateOptions } from "./generate-options";
import { GenerationRun } from "./generation-run";
import { Conversation, type CheckedAnswer, type ConversationHost } from "./conversation";
import { resolveConversationOptions, type ConversationOptions } from "./conversation-options";
import { checkedProcessor } from "./logits-processor";
import { checkIds, tagInput, type ModelInput } from "./model-input";
import { flag, given, invalid, refuseUnknown } from "./option-checks";
import type { RestoreOptions } from "./saved-conversation";
import { currentBaseUrl, resolveLoadOptions, resolvePlanOptions, type LoadOptions, type PlanOptions } from "./options";

export interface TokenizeOptions extends ChatPromptOptions {
  addSpecialTokens?: boolean;
}

/** Of a model on this device, or on a server: `info.backend` tells which. */
export type GeneratorInfo = EngineInfo | RemoteInfo;

/** What it writes: of a server's tokens less may be known. */
type PieceOf<Info> = [Info] extends [EngineInfo] ? Chunk : RemoteChunk;

/** One that may be on this device or on a server. */
export type AnyTextGenerator = TextGenerator<GeneratorInfo>;

/** Where this device cannot run a model: then, and only then, a server named as the fallback does. */
const NOT_HERE: ReadonlySet<string> = new Set(["webgpu-unavailable", "device-limit", "out-of-memory"]);

/**
 * A loaded model that writes text. One model, one KV cache: answers and scores that overlap wait their turn. (On a
 * server they do not: it decides itself.)
 *
 * Every refusal and failure is a WordloomError; an abort by the caller's own signal rejects with `signal.reason`.
 */
export class TextGenerator<Info extends GeneratorInfo = EngineInfo> {
  readonly #engine: Engine<Info, PieceOf<Info>>;
  #disposed = false;

  private constructor(engine: Engine<Info, PieceOf<Info>>) {
    this.#engine = engine;
  }

  /**
   * As below; where this device cannot run the model (webgpu-unavailable, device-limit, out-of-memory) the server that
   * `fallback` names writes in its place: `info.backend` is then "remote", and `info.backendReason` says why.
   */
  static async load(
    source: ModelSource,
    options: LoadOptions & { fallback: FallbackOptions },
  ): Promise<AnyTextGenerator>;
  /**
   * Reads config.json, chooses the backend and how the model is held, reads the tokenizer, streams the weights, and warms
   * the kernels up.
   *
   * @param source a model folder with config.json, tokenizer.json and safetensors, or a .gguf file: its URL (relative to
   *   the page), "hf:org/name[@revision][/file.gguf]" on the Hugging Face hub, File objects of one folder or of one GGUF
   *   model, or a directory handle that may be read; in Node also a local path
   * @throws WordloomError option-invalid, source-unsupported; model-not-found, network-failed, cors-refused,
   *   server-failed, rate-limited, access-denied; config-invalid, config-unsupported, model-unsupported,
   *   tokenizer-unsupported, file-invalid, tensor-missing, tensor-mismatch; webgpu-unavailable, device-limit,
   *   out-of-memory, device-lost, kernel-failed; worker-failed.
   *   `signal.reason` on abort
   */
  static async load(source: ModelSource, options?: LoadOptions): Promise<TextGenerator>;
  static async load(
    source: ModelSource,
    { fallback, ...options }: LoadOptions & { fallback?: FallbackOptions } = {},
  ): Promise<AnyTextGenerator> {
    const there = given(fallback)
      ? (await ownModule(import("./connect-options"))).resolveFallback(fallback)
      : undefined;
    const { request, connect } = resolveLoadOptions(source, options, currentBaseUrl());
    connect.signal.throwIfAborted();
    try {
      const engine = await connectEngine(request, connect);
      if (engine.info.stored) void askToPersist(); // whatever the answer, the model is loaded
      return new TextGenerator(engine);
    } catch (error) {
      if (!there || !(error instanceof WordloomError) || !NOT_HERE.has(error.code)) throw error;
      const { endpoint, ...rest } = there;
      const reason = `this device cannot run the model (${error.code}: ${error.message})`;
      return TextGenerator.#connect(endpoint, { ...rest, signal: connect.signal }, reason);
    }
  }

  /**
   * A model on a server whose API has OpenAI's shape (vLLM, llama.cpp's server, Ollama, and others). The server is asked
   * what it is and which models it has; what is to be continued is sent to it with `generate`, and to nobody else.
   *
   * Each option of `generate` is sent in the server's own words, or refused by its name: README, "A server instead of the
   * device". There is no time limit: pass a `signal`.
   *
   * @param url address of the API, "http://localhost:8080/v1" say; without a path its /v1 is meant. Relative to the page
   * @throws WordloomError option-invalid; access-denied, model-not-found, network-failed, cors-refused, rate-limited,
   *   server-failed; `signal.reason` on abort
   */
  static async connect(url: string, options: ConnectOptions = {}): Promise<TextGenerator<RemoteInfo>> {
    return TextGenerator.#connect(url, options, "a server was asked for");
  }

  static async #connect(url: string, options: ConnectOptions, reason: string): Promise<TextGenerator<RemoteInfo>> {
    const { resolveConnectOptions } = await ownModule(import("./connect-options"));
    const { request, signal } = resolveConnectOptions(url, options, currentBaseUrl(), reason);
    signal.throwIfAborted();
    const { connectServer } = await ownModule(import("../remote/connect-server"));
    return new TextGenerator(await connectServer(request, signal));
  }

  /**
   * What `load` with the same options would take: a few kB are read (config and the headers of the weights), nothing is
   * loaded. The bytes are those that `info.bytes` tells after loading. On WebGPU, on the caller's thread.
   *
   * @throws WordloomError as `load`, but for device-limit and out-of-memory: those are the verdict "exceeds"
   */
  static async plan(source: ModelSource, options: PlanOptions = {}): Promise<ModelPlan> {
    const { request, connect } = resolvePlanOptions(source, options, currentBaseUrl());
    connect.signal.throwIfAborted();
    return planHere(request, connect);
  }

  /** What was loaded, how it is held, where it runs, and why; does not change once loaded. Sizes are in bytes. */
  get info(): Info {
    return this.#engine.info;
  }

  /** Ids are below it; without a limit where a server does not tell. */
  get #vocabSize(): number {
    return this.info.vocabSize ?? Number.MAX_SAFE_INTEGER;
  }

  /**
   * Starts to write at once, or when everything asked for before has ended; nothing need be read for it to go on. Never
   * throws: what is wrong with the input or an option is thrown by the run's iteration, `text()` and `end`.
   *
   * @param input a string, token ids or chat messages; at most `info.contextLength` tokens (prompt-too-long)
   */
  generate(input: ModelInput, options: GenerateOptions = {}): GenerationRun<PieceOf<Info>> {
    return new GenerationRun(given(options.signal) ? options.signal : undefined, (onChunk, signal) => {
      const { settings, process, holds } = this.#check(options);
      const request = { ...settings, input: tagInput(input, this.#vocabSize, resolveChatOptions(options)) };
      return {
        seed: settings.seed,
        n: settings.n,
        holds,
        end: this.#engine.generate(request, onChunk, signal, process),
      };
    });
  }

  #check(options: GenerateOptions): CheckedAnswer {
    this.#assertAlive();
    const onServer = this.info.backend === "remote";
    // Not every server takes a seed of more than 31 bits.
    const drawSeed = onServer ? () => randomSeed() % 2 ** 31 : randomSeed;
    const settings = resolveGenerateOptions(options, this.#vocabSize, drawSeed);
    if (onServer && settings.slide) {
      throw invalid("fullContext", options.fullContext, `"error" for a model on a server, whose context is its own`);
    }
    const process = given(options.logitsProcessor) ? checkedProcessor(options.logitsProcessor) : undefined;
    const { constraint } = settings;
    return { settings, process, holds: constraint && (constraint.kind === "json-schema" ? "json" : "text") };
  }

  /**
   * Begins a conversation: messages that the model answers one after the other, whose keys and values stay in the cache.
   *
   * @throws WordloomError option-invalid, disposed
   */
  conversation(options: ConversationOptions = {}): Conversation<PieceOf<Info>> {
    this.#assertAlive();
    const { settings, history } = resolveConversationOptions(options, this.info.backend === "remote");
    return new Conversation(this.#conversationHost(), settings, history);
  }

  /**
   * A conversation as it was saved: on the same model it goes on without running anything again. (Where something else is
   * run meanwhile, some of it is run again with the next message.)
   *
   * @param saved the name it was saved by, or what `toBlob` gave
   * @param options.withoutCache takes its settings and messages alone, which any model may go on with; default false
   * @throws WordloomError conversation-mismatch if another model, dtype or kvDtype computed it; file-invalid if it is
   *   damaged; option-invalid where nothing has that name; storage-failed, disposed; `signal.reason` on abort
   */
  async restore(saved: string | Blob, options: RestoreOptions = {}): Promise<Conversation<PieceOf<Info>>> {
    this.#assertAlive();
    refuseUnknown(options, { withoutCache: true, signal: true }, "restore");
    const signal = signalOf(options);
    const withoutCache = flag(options, "withoutCache", false);
    const { cache } = this.#engine;
    if (!cache && !withoutCache) {
      throw invalid("withoutCache", withoutCache, "true for a model on a server, whose cache is its own");
    }
    const { readSaved, savedFile } = await ownModule(import("./saved-conversation"));
    const file = await savedFile(saved);
    signal.throwIfAborted();
    const sizes = { contextLength: this.info.contextLength ?? Infinity, vocabSize: this.#vocabSize };
    const { settings, history } = await readSaved(file, withoutCache ? undefined : cache, sizes, signal);
    if (!cache && settings.fullContext !== "error") {
      throw invalid("fullContext", settings.fullContext, `"error" for a model on a server`);
    }
    return new Conversation(this.#conversationHost(), settings, history);
  }

  #conversationHost(): ConversationHost<PieceOf<Info>> {
    return { engine: this.#engine, check: (options) => this.#check(options) };
  }

  /**
   * The model's own log-probability (natural log; temperature 1, no processors) of each token of `input` after those
   * before it, with its rank and the entropy it was drawn from; the first one has null. Read in chunks, in parallel.
   *
   * @param input as for `generate`; at most `info.contextLength` tokens
   * @throws WordloomError prompt-too-long, option-invalid, disposed; `signal.reason` on abort
   */
  async score(input: ModelInput, options: { signal?: AbortSignal } = {}): Promise<Score> {
    this.#assertAlive();
    refuseUnknown(options, { signal: true }, "score");
    const signal = signalOf(options);
    return answered(await this.#engine.score(tagInput(input, this.#vocabSize), signal), signal);
  }

  /**
   * Which of several continuations the model finds likeliest. The prompt is read once.
   *
   * @param input as for `generate`; it stays as it is, and each candidate follows it directly (a blank between them, too,
   *   is the candidate's)
   * @param candidates at least one; of a text and a candidate together at most `info.contextLength` tokens
   * @throws WordloomError prompt-too-long, option-invalid, disposed; `signal.reason` on abort
   */
  async choose(
    input: ModelInput,
    candidates: readonly string[],
    options: { signal?: AbortSignal } = {},
  ): Promise<Choice> {
    this.#assertAlive();
    refuseUnknown(options, { signal: true }, "choose");
    if (!Array.isArray(candidates) || candidates.length === 0) {
      throw invalid("candidates", candidates, "a list of strings, not empty");
    }
    const texts = candidates.map((candidate: unknown) => {
      if (typeof candidate !== "string" || candidate === "")
        throw invalid("candidates", candidate, "strings, not empty");
      return candidate;
    });
    const signal = signalOf(options);
    return answered(await this.#engine.choose(tagInput(input, this.#vocabSize), texts, signal), signal);
  }

  /**
   * One vector for a text: the model's hidden states after its last norm, pooled. Means something with models that were
   * trained for it, and with the pooling they were trained with; their card says which.
   *
   * @param input as for `generate`, with the special tokens the tokenizer adds; at most `info.contextLength` tokens
   * @param options.pooling "mean" of all tokens, or the "last" one's state; there is no default that would not be wrong
   *   for some model
   * @param options.normalize to length 1 (default), so that a dot product is the cosine
   * @param options.dimensions keeps the first so many numbers (before normalizing), for models trained for that
   * @returns [hidden size], or [dimensions]
   * @throws WordloomError prompt-too-long, option-invalid, kernel-failed, disposed; `signal.reason` on abort
   */
  async embed(input: ModelInput, options: EmbedOptions): Promise<Float32Array> {
    this.#assertAlive();
    const { embeddingOf, resolveEmbedOptions } = await ownModule(import("./embed-options"));
    const { pooling, normalize, dimensions } = resolveEmbedOptions(options);
    const signal = signalOf(options);
    const state = answered(await this.#engine.embed(tagInput(input, this.#vocabSize), pooling, signal), signal);
    return embeddingOf(state, { normalize, dimensions });
  }

  /**
   * Text → ids, as the Hugging Face tokenizer of the same tokenizer.json gives them; or messages → the ids of the whole
   * prompt, so that its length is known before it is sent.
   *
   * @param options.addSpecialTokens of a text: also those the tokenizer itself adds, as for a prompt; default true
   * @throws WordloomError option-invalid, disposed; of messages also template-missing, template-failed, tools-unsupported
   */
  async tokenize(input: string | readonly ChatMessage[], options: TokenizeOptions = {}): Promise<number[]> {
    this.#assertAlive();
    const known: Record<keyof TokenizeOptions, true> = {
      ...{ addSpecialTokens: true, tools: true, templateOptions: true, continueFinalMessage: true },
    };
    refuseUnknown(options, known, "tokenize");
    if (typeof input !== "string" && typeof input[0] !== "object") throw invalid("text", input, "a string or messages");
    const tagged = tagInput(input, this.#vocabSize, resolveChatOptions(options));
    const addSpecialTokens = flag(options, "addSpecialTokens", true);
    if (tagged.kind === "chat" && given(options.addSpecialTokens)) {
      throw invalid("addSpecialTokens", addSpecialTokens, "left out for messages, whose template writes its own");
    }
    if (tagged.kind === "ids") throw invalid("text", input, "a string or messages");
    return this.#engine.tokenize(tagged.kind === "chat" ? tagged : tagged.text, { addSpecialTokens });
  }

  /**
   * Ids → text; special tokens give none, bytes that are no character U+FFFD.
   *
   * @throws WordloomError option-invalid for an id beyond the vocabulary; disposed
   */
  async detokenize(ids: readonly number[] | Uint32Array): Promise<string> {
    this.#assertAlive();
    return ids.length === 0 ? "" : this.#engine.detokenize(checkIds(ids, this.#vocabSize));
  }

  /** Frees the GPU's buffers and the worker; what is pending or comes later is refused with `disposed`. Twice is once. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#engine.dispose();
  }

  #assertAlive(): void {
    if (this.#disposed) throw new WordloomError("disposed", "this generator was disposed of");
  }
}

function signalOf({ signal }: { signal?: AbortSignal }): AbortSignal {
  if (given(signal) && !(signal instanceof AbortSignal)) throw invalid("signal", signal, "an AbortSignal");
  return signal ?? new AbortController().signal;
}

/** What an engine gives is undefined where the caller stopped it. */
function answered<T>(value: T | undefined, signal: AbortSignal): T {
  signal.throwIfAborted();
  if (value === undefined) throw new WordloomError("internal", "it was stopped without a stop");
  return value;
}
