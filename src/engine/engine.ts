/**
 * A loaded model that answers: tokenizer, loop and text stream around one backend. The worker's host drives it, or the
 * caller's own thread; `worker/client` gives the same interface for an engine that is elsewhere.
 */
import type { Backend, BackendFacts, Pooling, SamplingSettings, StepResult } from "../backends/backend";
import { WordloomError } from "../errors";
import { ownModule } from "../own-module";
import type { SuggestedSampling } from "../models/registry";
import { TextStream } from "../tokenizer/text-stream";
import type { Tokenizer } from "../tokenizer/tokenizer";
import { withKnownIds } from "../chat/known-ids";
import type { Constrainer, TokenConstraint } from "../structured/constrain";
import type { Constraint } from "../structured/constraint";
import { AnswerStream, type Chunk, type ChunkContent } from "./answer-stream";
import { ChunkParts } from "./chunk-parts";
import type { Choice } from "./choice";
import type { Recover } from "./recovery";
import type { ChatInput, GenerateRequest, TaggedInput } from "./request";
import { Scheduler, type RunOutcome, type RunRequest, type SchedulerOptions } from "./scheduler";
import { CacheTransfer, type CacheAccess } from "./cache-transfer";
import type { KvShape } from "./kv-shape";
import { SequenceBreakers } from "./sequence-breakers";
import type { DraftModelInfo } from "./draft-model";
import type { DraftModel, Speculation } from "./speculation";
import type { SlidingOutcome } from "./sliding-answer";
import { endTokensOf, type FinishReason } from "./stopping";

export type { Pooling } from "../backends/backend";
export type { AnswerSettings, ChatInput, GenerateRequest, TaggedInput } from "./request";

/**
 * The caller's own processor of logits; each step waits for it. It gets copies, and what it gives is checked.
 *
 * @param logits [vocabSize] the model's own
 * @param tokens prompt and answer so far
 */
export type ProcessLogits = (logits: Float32Array, tokens: Uint32Array, promptLength: number) => Promise<Float32Array>;

/** Of one answer out of several. */
export interface AnswerEnd {
  finishReason: FinishReason;
  /** Tokens of this answer, as in `usage`. */
  completionTokens: number;
  /** The first one's plus its index: with it, the same prompt alone gives this answer again. */
  seed: number;
}

export interface GenerationEnd {
  /** With `n`: of the first answer. */
  finishReason: FinishReason;
  /** With `n` of 2 or more: of each answer. */
  answers?: AnswerEnd[];
  /**
   * With a `constraint`: "complete" if the answer is whole, and so is what was asked for; "cut" if a limit, or the caller,
   * ended it before.
   */
  constraint?: "complete" | "cut";
  /** Of the draws; giving it again repeats the answer on the same device and kernels. */
  seed: number;
  usage: {
    /** Special tokens included. */
    promptTokens: number;
    /** Prompt tokens that the KV cache held already. */
    cachedTokens: number;
    /** Tokens of the answer (of all answers), those of a stop string included; an end token is not counted. */
    completionTokens: number;
  };
  /**
   * Where the context was full: whole turns of a conversation that left it for good, and tokens that the model no longer
   * saw at the end (with `slide`: of prompt and answer, after the sinks).
   */
  dropped?: { turns: number; tokens: number };
  /** With `speculative`: how many tokens were guessed, how many of them the model chose, and in how many passes. */
  speculation?: Speculation;
  timings: {
    /** From its turn until the first token. */
    prefillMs: number;
    /** From asking (waiting for its turn included) until the first token; 0 if none came. */
    firstTokenMs: number;
    /** From the first token until the last. */
    decodeMs: number;
    /** Of the prompt tokens that were not cached; 0 if none came. */
    prefillTokensPerSecond: number;
    /** After the first token; 0 where there is no second one. */
    decodeTokensPerSecond: number;
  };
}

export interface ScoredToken {
  id: number;
  text: string;
  /** Natural log of the model's probability of this token after those before it; null for the first one, as below. */
  logprob: number | null;
  /** 1 + how many tokens the model found likelier here; null, too, where a server does not tell. */
  rank: number | null;
  /** Of the model's whole distribution here, in nats: 0 where it was sure, ln(vocabSize) where all were alike. Null as `rank`. */
  entropy: number | null;
}

export interface Score {
  tokens: ScoredToken[];
  /** Sum over the tokens that have one. */
  logprob: number;
  /** exp(-mean logprob); NaN for a single token, where nothing was predicted. */
  perplexity: number;
}

export interface EngineInfo extends BackendFacts {
  /** `model_type` of config.json. */
  modelType: string;
  /** Whether the engine runs in a worker of its own. */
  worker: boolean;
  layerCount: number;
  /** What the KV cache keeps of a position, by kinds of layers; each number takes 4 bytes as f32 and 2 as f16. */
  kvShape: KvShape[];
  /** Rows of the embedding; token ids are below it. */
  vocabSize: number;
  /** Numbers the model learned; a tied head counts once. */
  parameterCount: number;
  /** From the model's generation_config.json; never applied by itself. Empty where it suggests none. */
  suggestedSampling: SuggestedSampling;
  /** Why it is as it is, in words: this backend, and the thread. `reason` says it of the dtypes. */
  backendReason: string;
  workerReason: string;
  /** Whether all files it was read from are kept on this device, and why, or why not. */
  stored: boolean;
  storeReason: string;
  /** The model that guesses for this one, where `draftModel` was given; its bytes come beside `bytes`. */
  draftModel?: DraftModelInfo;
}

/**
 * One model. Calls may overlap: answers and scores wait their turn, in the order of asking. An abort is not an error
 * here: `generate` resolves with finishReason "abort", `score`, `choose` and `embed` with undefined. `Info` and `Piece`
 * are others where the model runs elsewhere and less of it is known (`remote/`).
 */
export interface Engine<Info = EngineInfo, Piece = Chunk> {
  readonly info: Info;
  /**
   * @throws WordloomError prompt-too-long, option-invalid (no tokens, or an option that this model contradicts),
   *   template-*, kernel-failed, device-lost, disposed, worker-failed
   */
  generate(
    request: GenerateRequest,
    onChunk: (chunk: Piece) => void,
    signal: AbortSignal,
    processLogits?: ProcessLogits,
  ): Promise<GenerationEnd>;
  score(input: TaggedInput, signal: AbortSignal): Promise<Score | undefined>;
  /** @param candidates at least one */
  choose(input: TaggedInput, candidates: readonly string[], signal: AbortSignal): Promise<Choice | undefined>;
  /** @returns [hidden size], not normalized */
  embed(input: TaggedInput, pooling: Pooling, signal: AbortSignal): Promise<Float64Array | undefined>;
  /** Of messages: the whole prompt, whatever the option says. */
  tokenize(input: string | ChatInput, options: { addSpecialTokens: boolean }): Promise<number[]>;
  detokenize(ids: Uint32Array): Promise<string>;
  /** What the KV cache holds, to be kept; a model that runs elsewhere gives nothing away. */
  readonly cache?: CacheAccess;
  /** Refuses what is pending with `disposed` and frees everything; twice is once. */
  dispose(): Promise<void>;
}

export interface EngineParts {
  backend: Backend;
  tokenizer: Tokenizer;
  endTokenIds: readonly number[];
  info: EngineInfo;
  /** Tells this model's numbers from any other's. */
  fingerprint: string;
  scheduler: SchedulerOptions;
  draftModel?: DraftModel | undefined;
  /** Another backend with the same weights after a lost device; undefined: such a loss is the end. */
  recover?: Recover | undefined;
}

/** The engine on this thread. */
export class LocalEngine implements Engine {
  readonly info: EngineInfo;
  readonly cache: CacheAccess;
  readonly #tokenizer: Tokenizer;
  readonly #endTokenIds: readonly number[];
  readonly #scheduler: Scheduler;
  readonly #breakers: SequenceBreakers;
  /** Loaded when a constraint is first asked for. */
  #constrainer: Promise<Constrainer> | undefined;
  readonly #disposed = new AbortController();
  #disposing: Promise<void> | undefined;
  #intake: Promise<unknown> = Promise.resolve();

  constructor(parts: EngineParts) {
    const { backend, tokenizer, endTokenIds, info, fingerprint, scheduler, draftModel, recover } = parts;
    this.info = info;
    this.#tokenizer = tokenizer;
    this.#endTokenIds = endTokenIds;
    this.#breakers = new SequenceBreakers(tokenizer);
    this.#scheduler = new Scheduler(backend, scheduler, draftModel, recover);
    this.cache = new CacheTransfer(this.#scheduler, backend, info, fingerprint);
  }

  async generate(
    request: GenerateRequest,
    onChunk: (chunk: Chunk) => void,
    signal: AbortSignal,
    processLogits?: ProcessLogits,
  ): Promise<GenerationEnd> {
    const endTokenIds = endTokensOf(request, this.#endTokenIds, this.info.vocabSize);
    if (request.speculative?.method === "draft-model" && !this.info.draftModel) {
      throw new WordloomError(
        "option-invalid",
        'speculative is of method "draft-model", and no draft model was loaded',
        {
          remedy: 'Give `draftModel` to load, or take the method "prompt-lookup".',
        },
      );
    }
    const { promptTokens, constraint } = await this.#inOrder(async () => ({
      promptTokens: await this.#encode(request.input, request.slide !== undefined),
      constraint: request.constraint && (await this.#constrain(request.constraint, endTokenIds)),
    }));
    try {
      return await this.#generate(request, { promptTokens, constraint, endTokenIds }, onChunk, signal, processLogits);
    } finally {
      constraint?.dispose();
    }
  }

  async #generate(
    request: GenerateRequest,
    { promptTokens, constraint, endTokenIds }: PreparedRequest,
    onChunk: (chunk: Chunk) => void,
    signal: AbortSignal,
    processLogits: ProcessLogits | undefined,
  ): Promise<GenerationEnd> {
    const { maxNewTokens, maxTimeMs, reusePrefix, speculative, n } = request;
    const written = Array.from(
      { length: n },
      (_, index) => new WrittenAnswer(this.#tokenizer, request, promptTokens, (chunk) => onChunk({ ...chunk, index })),
    );
    const [answer, ...others] = written;
    if (!answer) throw new WordloomError("internal", `${n} answers`);
    const sampling = this.#withBreakers(request);
    if (others.length > 0) {
      const seeds = written.map((_, index) => seedAfter(sampling.seed, index));
      const outcome = await this.#scheduler.generateRows(
        { promptTokens, sampling, endTokenIds, maxNewTokens, maxTimeMs, reusePrefix, seeds },
        {
          accept: (row, result) => written[row]?.push(result),
          ended: (row) => written[row]?.finish(),
        },
        signal,
      );
      const end = generationEnd(outcome, promptTokens.length, request.seed);
      return { ...end, answers: outcome.rows.map((row, index) => ({ ...row, seed: request.seed + index })) };
    }
    const answerTokens: number[] = [];
    const run = (part: RunRequest, written = 0) =>
      this.#scheduler.generate(
        part,
        (result) => {
          answerTokens.push(result.id);
          const keptTokens = answer.push(result);
          return keptTokens === undefined ? undefined : keptTokens - written;
        },
        signal,
      );
    const whole: RunRequest = {
      promptTokens,
      sampling,
      endTokenIds,
      maxNewTokens,
      maxTimeMs,
      reusePrefix,
      speculative,
      constraint,
      processLogits:
        processLogits &&
        ((logits) =>
          unlessStopped(
            processLogits(logits, Uint32Array.from([...promptTokens, ...answerTokens]), promptTokens.length),
            [signal, this.#disposed.signal],
            logits,
          )),
    };
    const { contextLength } = this.info;
    let outcome: RunOutcome & Partial<SlidingOutcome>;
    if (request.slide) {
      const { slidingAnswer } = await ownModule(import("./sliding-answer"));
      outcome = await slidingAnswer(whole, { ...request.slide, contextLength }, answerTokens, run);
    } else outcome = await run(whole);
    if (outcome.finishReason !== "abort") answer.finish();
    const { droppedTokens = 0 } = outcome;
    return {
      ...generationEnd(outcome, outcome.promptTokens ?? promptTokens.length, request.seed),
      ...(droppedTokens > 0 ? { dropped: { turns: 0, tokens: droppedTokens } } : {}),
    };
  }

  async score(input: TaggedInput, signal: AbortSignal): Promise<Score | undefined> {
    const ids = await this.#tokensOf(input);
    const said = await this.#scheduler.score(ids, 1, signal);
    if (!said) return undefined;
    const { logprobs, ranks, entropies } = said;
    const texts = this.#textsOf(ids);
    const logprob = logprobs.reduce((sum, one) => sum + one, 0);
    return {
      tokens: Array.from(ids, (id, at) => ({
        id,
        text: texts[at] ?? "",
        logprob: logprobs[at - 1] ?? null,
        rank: ranks[at - 1] ?? null,
        entropy: entropies[at - 1] ?? null,
      })),
      logprob,
      perplexity: Math.exp(-logprob / logprobs.length),
    };
  }

  async choose(input: TaggedInput, candidates: readonly string[], signal: AbortSignal): Promise<Choice | undefined> {
    const prompt = await this.#tokensOf(input);
    const wholes = candidates.map((candidate) => this.#joined(input, prompt, candidate));
    const { commonLength, rank } = await ownModule(import("./choice"));
    const from = commonLength(prompt, wholes);
    if (from === 0) {
      throw new WordloomError("option-invalid", "no token of the prompt stays the same with every candidate after it", {
        remedy: "Give a longer prompt: the model can only say how likely something is after a token.",
      });
    }
    const scored: Float32Array[] = [];
    for (const [index, whole] of wholes.entries()) {
      if (whole.length <= from) {
        const message = `candidate ${index} ("${candidates[index]}") adds no token of its own to the prompt`;
        throw new WordloomError("option-invalid", message);
      }
      this.#assertFits(whole);
      // The prompt's keys and values stay in the cache from one candidate to the next.
      const said = await this.#scheduler.score(whole, from, signal);
      if (!said) return undefined;
      scored.push(said.logprobs);
    }
    return rank(candidates, scored);
  }

  async embed(input: TaggedInput, pooling: Pooling, signal: AbortSignal): Promise<Float64Array | undefined> {
    return this.#scheduler.hiddenState(await this.#tokensOf(input), pooling, signal);
  }

  async tokenize(input: string | ChatInput, options: { addSpecialTokens: boolean }): Promise<number[]> {
    this.#assertAlive();
    const isText = typeof input === "string";
    return Array.from(isText ? this.#tokenizer.encode(input, options) : await this.#encodeChat(input));
  }

  async detokenize(ids: Uint32Array): Promise<string> {
    this.#assertAlive();
    return this.#tokenizer.decode(ids);
  }

  dispose(): Promise<void> {
    this.#disposed.abort();
    this.#disposing ??= this.#scheduler.dispose();
    return this.#disposing;
  }

  #withBreakers({ sampling, drySequenceBreakers }: GenerateRequest): SamplingSettings {
    if (sampling.dryMultiplier === 0) return sampling;
    return { ...sampling, dryBreakers: this.#breakers.idsOf(drySequenceBreakers) };
  }

  #tokensOf(input: TaggedInput): Promise<Uint32Array> {
    return this.#inOrder(() => this.#encode(input));
  }

  /** In the order of asking, though a chat template takes longer than plain text, and a constraint longer than both. */
  #inOrder<T>(prepare: () => Promise<T>): Promise<T> {
    const prepared = this.#intake.then(prepare);
    this.#intake = prepared.catch(() => undefined); // the one who asked hears of it
    return prepared;
  }

  async #constrain(constraint: Constraint, endTokenIds: readonly number[]): Promise<TokenConstraint> {
    this.#constrainer ??= import("../structured/constrain").then(
      ({ Constrainer }) => new Constrainer(this.#tokenizer, this.info.vocabSize),
    );
    const constrainer = await this.#constrainer.catch((error: unknown) => {
      this.#constrainer = undefined; // a file that did not come may come the next time
      throw WordloomError.from(error, "network-failed");
    });
    return constrainer.start(constraint, endTokenIds);
  }

  async #encodeChat(input: ChatInput): Promise<Uint32Array> {
    const { messages, known } = input;
    const ids = await this.#tokenizer.encodeChat(messages, input);
    if (!known) return ids;
    return withKnownIds(ids, known, (id) =>
      this.#tokenizer.isSpecial(id) ? undefined : this.#tokenizer.bytesOf(id, false),
    );
  }

  /** @param mayBeLonger than the context */
  async #encode(input: TaggedInput, mayBeLonger = false): Promise<Uint32Array> {
    this.#assertAlive();
    const tokens =
      input.kind === "text"
        ? this.#tokenizer.encode(input.text, { addSpecialTokens: true })
        : input.kind === "chat"
          ? (input.ids ?? (await this.#encodeChat(input)))
          : input.ids;
    if (tokens.length === 0) {
      throw new WordloomError("option-invalid", "the input gives no tokens, and this model adds none of its own", {
        remedy: "Give at least one character or token id.",
      });
    }
    if (!mayBeLonger) this.#assertFits(tokens);
    return tokens;
  }

  /** The tokens of prompt and candidate together: text is tokenized as one, ids and messages stay what they are. */
  #joined(input: TaggedInput, prompt: Uint32Array, candidate: string): Uint32Array {
    if (input.kind === "text") return this.#tokenizer.encode(input.text + candidate, { addSpecialTokens: true });
    return Uint32Array.of(...prompt, ...this.#tokenizer.encode(candidate, { addSpecialTokens: false }));
  }

  #assertFits(tokens: Uint32Array): void {
    const { contextLength } = this.info;
    if (tokens.length > contextLength) {
      throw new WordloomError(
        "prompt-too-long",
        `the prompt has ${tokens.length} tokens; the context holds ${contextLength}`,
      );
    }
  }

  /** Each token's part of the text; a piece of a character at the very end is given to the last token. */
  #textsOf(ids: Uint32Array): string[] {
    const stream = new TextStream(this.#tokenizer, []);
    const texts = Array.from(ids, (id) => stream.push(id).token.text);
    const rest = stream.flush();
    if (rest !== "") texts.push((texts.pop() ?? "") + rest);
    return texts;
  }

  #assertAlive(): void {
    if (this.#disposing) throw new WordloomError("disposed", "this generator was disposed of");
  }
}

/** What is known of a request before its turn. */
interface PreparedRequest {
  promptTokens: Uint32Array;
  constraint: TokenConstraint | undefined;
  endTokenIds: readonly number[];
}

/** The halves of seed + `by`. */
function seedAfter([low, high]: SamplingSettings["seed"], by: number): SamplingSettings["seed"] {
  return [(low + by) >>> 0, high + Math.floor((low + by) / 2 ** 32)];
}

/** One answer's tokens on their way to chunks. */
class WrittenAnswer {
  readonly #stream: AnswerStream;
  readonly #parts: ChunkParts | undefined;

  /** @throws WordloomError tools-unsupported */
  constructor(
    tokenizer: Tokenizer,
    { input, stop, sampling, constraint }: GenerateRequest,
    promptTokens: Uint32Array,
    private readonly onChunk: (chunk: ChunkContent) => void,
  ) {
    this.#parts = ChunkParts.for(input, promptTokens, tokenizer);
    this.#stream = new AnswerStream(tokenizer, {
      stop,
      minTokens: sampling.minNewTokens,
      wantsTop: sampling.topLogprobs > 0,
      // After a prompt that has a text, a tokenizer that drops a text's first blank must keep the answer's. A constraint is
      // about all of the answer's bytes.
      continues: constraint !== undefined || promptTokens.some((id) => tokenizer.bytesOf(id, false).length > 0),
    });
  }

  /** @returns once a stop string is complete: how many of the answer's tokens lie wholly before it */
  push(result: StepResult): number | undefined {
    const { chunk, keptTokens } = this.#stream.push(result);
    if (chunk) this.onChunk(this.#parts?.add(chunk) ?? chunk);
    return keptTokens;
  }

  /** What was kept back until the answer's end. */
  finish(): void {
    const rest = this.#stream.finish();
    if (rest) this.onChunk(this.#parts?.add(rest) ?? rest);
    const held = this.#parts?.end();
    if (held) this.onChunk(held);
  }
}

/** What was promised, or `otherwise` as soon as one of the signals aborts: who waits must not wait for ever. */
function unlessStopped<T>(promised: Promise<T>, signals: readonly AbortSignal[], otherwise: T): Promise<T> {
  return new Promise((resolve, reject) => {
    promised.then(resolve, reject);
    for (const signal of signals) {
      if (signal.aborted) resolve(otherwise);
      else signal.addEventListener("abort", () => resolve(otherwise), { once: true });
    }
  });
}

/** The usage and timings of one answer; also of one that never ran. */
export function generationEnd(outcome: RunOutcome, promptTokens: number, seed: number): GenerationEnd {
  const { finishReason, constraint, speculation, cachedTokens, completionTokens, prefillMs, firstTokenMs, decodeMs } =
    outcome;
  const prefilled = firstTokenMs === 0 ? 0 : promptTokens - cachedTokens;
  return {
    finishReason,
    ...(constraint && { constraint }),
    ...(speculation && { speculation }),
    seed,
    usage: { promptTokens, cachedTokens, completionTokens },
    timings: {
      prefillMs,
      firstTokenMs,
      decodeMs,
      prefillTokensPerSecond: perSecond(prefilled, prefillMs),
      decodeTokensPerSecond: perSecond(outcome.decodedTokens, decodeMs),
    },
  };
}

function perSecond(count: number, elapsedMs: number): number {
  return elapsedMs > 0 ? (count * 1000) / elapsedMs : 0;
}
