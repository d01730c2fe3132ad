/**
 * The token-by-token loop: prefills what the KV cache does not hold yet, then decodes with steps in flight.
 *
 * Nothing is made per token here and nothing waits but for the oldest step; the token of a step feeds the next one
 * inside the backend. Text is unknown here: `accept` looks at each token and says when a stop string is complete.
 */
import {
  GREEDY,
  type Backend,
  type BeginOptions,
  type Pooling,
  type ScoredRows,
  type StepResult,
} from "../backends/backend";
import { WordloomError } from "../errors";
import { ownModule } from "../own-module";
import type { DraftModel, SpeculationSettings } from "./speculation";
import type { TokenConstraint } from "../structured/constrain";
import type { RowsLoop, RowsOutcome, RowsReader, RowsRequest } from "./parallel-answers";
import { commonPrefix, prefillChunks, reusablePrefix, tokensInCache } from "./prefix";
import { chunkAfterLoss, isLoss, type Recover } from "./recovery";
import { placeOf } from "./stopping";
import { TurnQueue } from "./turn-queue";
import { NOTHING_RUN, Written, type RunOutcome } from "./written";

export type { RunOutcome } from "./written";

/** `promptTokens`: at least one; no more than the context holds. */
export interface RunRequest extends Omit<BeginOptions, "allowedTokens"> {
  /** What the answer is held to; disposed of by whoever made it. */
  constraint?: TokenConstraint | undefined;
  /** From its turn on; undefined: as long as it takes. */
  maxTimeMs: number | undefined;
  reusePrefix: boolean;
  /** Not with a constraint, nor with `processLogits`: each needs the token before the next is thought of. */
  speculative?: SpeculationSettings | undefined;
}

/** Depth and sizes of the loop. For tests and measurements: the answers do not depend on them. */
export interface SchedulerOptions {
  /** Steps in flight besides the one that is awaited; default: the backend's. */
  runAhead?: number;
  /** Prompt tokens run at once; default and limit: the backend's maxPrefillTokens. */
  prefillChunk?: number;
}

/** Longest time in which nothing else on this thread (a message, a repaint) gets its turn, beyond one step. */
const LONGEST_SILENCE_MS = 15;

export class Scheduler {
  #backend: Backend;
  readonly #draftModel: DraftModel | undefined;
  readonly #runAhead: number;
  #prefillChunk: number;
  readonly #turns = new TurnQueue();
  /** What the KV cache holds. */
  #cached: Uint32Array = new Uint32Array(0);
  /** Set for good by `dispose`, and by a lost device that nothing comes in place of. */
  #failure: WordloomError | undefined;
  readonly #recover: Recover | undefined;
  /** The device is lost; another one is asked for when it is next needed. */
  #loss: WordloomError | undefined;
  /** Another backend on its way. */
  #replacing: Promise<void> | undefined;
  readonly #closing = new AbortController();
  /** Since when the chunk under way is waited for. */
  #chunkSinceMs: number | undefined;
  /** Rejects the one wait that is going on. */
  #interrupt: ((error: WordloomError) => void) | undefined;
  #lastPauseMs = 0;
  /** Rejects with the failure, once. */
  readonly #failed: Promise<never>;
  #reject!: (failure: WordloomError) => void; // set by the promise's executor, which runs at once

  /** @param recover undefined: a lost device is the end; so it is with a draft model, whose device may be the one */
  constructor(backend: Backend, options: SchedulerOptions = {}, draftModel?: DraftModel, recover?: Recover) {
    this.#backend = backend;
    this.#draftModel = draftModel;
    this.#runAhead = options.runAhead ?? backend.runAhead;
    this.#prefillChunk = Math.min(options.prefillChunk ?? Infinity, backend.maxPrefillTokens);
    this.#recover = draftModel ? undefined : recover;
    this.#failed = new Promise((_, reject) => (this.#reject = reject));
    this.#failed.catch(() => undefined); // whoever waits for something is told
    this.#watch(backend);
    void draftModel?.lost.then((reason) => this.#lose(lossFor(reason)));
  }

  /**
   * One answer. Waits its turn; ends within runAhead + 1 steps of an abort.
   *
   * @param accept is given each token of the answer in order; a number returned means that a stop string is complete,
   *   and how many of the answer's tokens lie wholly before it
   * @throws WordloomError kernel-failed, device-lost, disposed
   */
  generate(
    request: RunRequest,
    accept: (result: StepResult) => number | undefined,
    signal: AbortSignal,
  ): Promise<RunOutcome> {
    const written = new Written();
    return this.#turn(
      () => this.#generate(request, accept, signal, written),
      signal,
      () => written.outcome("abort"),
    );
  }

  /**
   * Several answers to one prompt, which is read once; each as if it were alone. The cache then holds the prompt.
   *
   * @throws WordloomError as `generate`; option-invalid, out-of-memory, device-limit where there is no room for so many
   */
  async generateRows(request: RowsRequest, reader: RowsReader, signal: AbortSignal): Promise<RowsOutcome> {
    const askedMs = performance.now();
    const { parallelAnswers, withRoom } = await ownModule(import("./parallel-answers"));
    const fitting = withRoom(request, this.#backend.facts.contextLength);
    return this.#turn(
      () => this.#alongside(fitting, (loop, reused) => parallelAnswers(loop, fitting, reused, reader, signal, askedMs)),
      signal,
      () => ({
        ...NOTHING_RUN,
        rows: request.seeds.map(() => ({ finishReason: "abort", completionTokens: 0 }) as const),
      }),
      false,
    );
  }

  /** Lends the backend to a loop of its own. */
  async #alongside(
    { promptTokens, reusePrefix }: RowsRequest,
    run: (loop: RowsLoop, reused: number) => Promise<RowsOutcome & { filled: number }>,
  ): Promise<RowsOutcome> {
    if (this.#failure) throw this.#failure; // it came between this run's turn and its start
    const reused = reusablePrefix(this.#cached, promptTokens, reusePrefix);
    this.#cached = new Uint32Array(0); // until it has ended well
    const loop: RowsLoop = {
      backend: this.#backend,
      runAhead: this.#runAhead,
      prefillChunk: this.#prefillChunk,
      settled: <T>(result: Promise<T>) => this.#settled(result),
      pause: () => this.#pause(),
    };
    const { filled, ...outcome } = await run(loop, reused);
    this.#cached = promptTokens.slice(0, filled);
    return outcome;
  }

  /**
   * What the model itself says of the tokens from number `from` on, each after those before it.
   *
   * @param tokens at least one; no more than the context holds
   * @param from 1 or more; what the KV cache holds of the tokens before is not run again
   * @returns [tokens.length - from] each; undefined if it was stopped
   */
  score(tokens: Uint32Array, from: number, signal: AbortSignal): Promise<ScoredRows | undefined> {
    return this.#turn(
      () => this.#score(tokens, from, signal),
      signal,
      () => undefined,
    );
  }

  /**
   * The hidden states of a text after the final norm, as one vector.
   *
   * @param tokens at least one; no more than the context holds
   * @returns [hidden size]; undefined if it was stopped
   */
  hiddenState(tokens: Uint32Array, pooling: Pooling, signal: AbortSignal): Promise<Float64Array | undefined> {
    return this.#turn(
      () => this.#hiddenState(tokens, pooling, signal),
      signal,
      () => undefined,
    );
  }

  /**
   * What the cache holds of positions `start` … `end` of these tokens; those that it does not hold are run first.
   *
   * @returns undefined if it was stopped
   */
  exportCache(
    tokens: Uint32Array,
    { start, end }: { start: number; end: number },
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#turn(
      async () => {
        const held = commonPrefix(this.#cached, tokens);
        if (held < end) {
          await this.#alone(tokens, prefillChunks(held, end, this.#prefillChunk), signal, (chunk) =>
            this.#backend.prefill(tokens.subarray(chunk.start, chunk.end), chunk.start, false),
          );
        }
        return signal.aborted ? undefined : this.#settled(this.#backend.exportCache(start, end));
      },
      signal,
      () => undefined,
    );
  }

  /**
   * Puts positions `start` … `end` of these tokens into the cache.
   *
   * @returns whether it holds them now; not where something else has been run since the tokens before `start` were put in
   */
  importCache(
    tokens: Uint32Array,
    { start, end, bytes }: { start: number; end: number; bytes: Uint8Array },
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#turn(
      async () => {
        const held = commonPrefix(this.#cached, tokens);
        if (held >= end) return true;
        if (held < start) return false;
        this.#cached = tokens.slice(0, start);
        await this.#settled(this.#backend.importCache(start, bytes));
        this.#cached = tokens.slice(0, end);
        return true;
      },
      signal,
      () => false,
    );
  }

  /** Refuses everything pending and later with `disposed`, and frees the backend. */
  async dispose(): Promise<void> {
    this.#fail(new WordloomError("disposed", "this generator was disposed of"));
    await Promise.all([this.#backend.dispose(), this.#draftModel?.dispose()]);
    await this.#replacing?.catch(() => undefined); // it ends with the failure above, and frees what it made
  }

  /**
   * `work` at its turn; after a lost device once more, on another one. What it had done before is its own affair.
   *
   * @param whenAborted the result where it is stopped before its turn, or while there is no device
   * @param goesOn false: what a lost device interrupts has failed; what comes after it finds another device
   */
  #turn<T>(work: () => Promise<T>, signal: AbortSignal, whenAborted: () => T, goesOn = true): Promise<T> {
    const whole = async () => {
      for (;;) {
        try {
          if (this.#loss) await this.#replaced(signal);
          if (this.#loss) return whenAborted();
          return await work();
        } catch (error) {
          // The loss may show in a step before it is told.
          if (isLoss(error) && !this.#loss) this.#lose(error);
          if (this.#failure || !isLoss(error) || !goesOn) throw this.#failure ?? error;
        }
      }
    };
    return this.#turns.run(whole, signal, whenAborted);
  }

  #watch(backend: Backend): void {
    void backend.lost.then((reason) => {
      if (this.#backend !== backend || this.#loss) return;
      this.#lose(lossFor(reason));
    });
  }

  #lose(loss: WordloomError): void {
    if (this.#failure) return;
    if (!this.#recover) {
      this.#fail(loss);
      return;
    }
    this.#loss = loss;
    this.#cached = new Uint32Array(0);
    const waited = this.#chunkSinceMs === undefined ? undefined : performance.now() - this.#chunkSinceMs;
    this.#prefillChunk = chunkAfterLoss(this.#prefillChunk, loss, waited);
    this.#interrupt?.(loss);
    void this.#backend.dispose();
  }

  /** Resolves when there is a device again, or the signal aborts; other turns then find it under way or done. */
  async #replaced(signal: AbortSignal): Promise<void> {
    this.#replacing ??= this.#replace().finally(() => (this.#replacing = undefined));
    const replacing = this.#replacing;
    replacing.catch(() => undefined); // after an abort nobody waits for it, and #fail has told
    if (signal.aborted) return;
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => (stop = resolve));
    signal.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([stopped, replacing, this.#failed]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async #replace(): Promise<void> {
    const [recover, loss] = [this.#recover, this.#loss];
    if (!recover || !loss) return;
    try {
      await this.#backend.dispose();
      const backend = await recover(loss, this.#closing.signal);
      if (this.#failure) {
        await backend.dispose();
        throw this.#failure;
      }
      this.#backend = backend;
      this.#loss = undefined;
      this.#watch(backend);
    } catch (error) {
      this.#fail(WordloomError.from(error));
      throw this.#failure ?? error;
    }
  }

  async #generate(
    request: RunRequest,
    accept: (result: StepResult) => number | undefined,
    signal: AbortSignal,
    written: Written,
  ): Promise<RunOutcome> {
    if (this.#failure) throw this.#failure; // it came between this run's turn and its start
    const { promptTokens, endTokenIds, processLogits, constraint } = request;
    const { sampled } = written;
    written.start(request.constraint);
    const deadlineMs = written.startMs + (request.maxTimeMs ?? Infinity);
    if (request.speculative && !written.guesses) {
      const { Speculator } = await ownModule(import("./speculation"));
      written.guesses = new Speculator(request.speculative, promptTokens, this.#draftModel);
    }
    // What the caller's processor, or a constraint, has to say of the next token depends on this one; so do guesses.
    const runAhead = processLogits || constraint || written.guesses ? 0 : this.#runAhead;
    // After a lost device what was written goes in with the prompt.
    const answeredTokens = Uint32Array.from(sampled);
    const tokens = sampled.length === 0 ? promptTokens : Uint32Array.from([...promptTokens, ...sampled]);
    const reused = reusablePrefix(this.#cached, tokens, request.reusePrefix);
    written.reused ??= reused;
    // From here on the rest of the cache is written over, so it counts as gone until the run has ended well.
    this.#cached = new Uint32Array(0);
    await this.#settled(
      Promise.resolve(
        this.#backend.begin({
          sampling: request.sampling,
          promptTokens,
          endTokenIds,
          maxNewTokens: request.maxNewTokens,
          processLogits,
          allowedTokens: constraint && (() => constraint.allowed()),
          ...(sampled.length > 0 && { answeredTokens }),
        }),
      ),
    );

    const submissions = this.#submissions(request, tokens, reused, written);
    const flight: Flight[] = [];
    let filled = reused;
    try {
      for (;;) {
        while (!written.finishReason && !signal.aborted && flight.length <= runAhead) {
          const submitted = submissions.next();
          if (submitted.done) break;
          flight.push(submitted.value);
        }
        const oldest = flight.shift();
        if (!oldest) break;
        const results = await this.#settled(oldest.results, oldest.isChunk);
        filled = Math.max(filled, oldest.filled);
        if (oldest.isForced) written.forced = [];
        for (const result of results) {
          if (result.count <= sampled.length) {
            // A step that chose nothing: the constraint has ended, and the model has no token to say so.
            if (constraint?.isOver()) written.finishReason ??= "stop";
            continue;
          }
          if (result.invalid) {
            throw new WordloomError(
              "kernel-failed",
              `the logits of token ${result.count} of the answer are not numbers`,
            );
          }
          sampled.push(result.id);
          if (!written.finishReason && !signal.aborted) {
            written.lastTokenMs = performance.now();
            written.firstTokenMs ??= written.lastTokenMs;
            const place = placeOf(result, endTokenIds);
            if (!oldest.isForced) constraint?.accept(result.id);
            if (place === "end") written.finishReason = "stop";
            else {
              written.accepted++;
              written.kept = accept(result);
              if (written.kept !== undefined) written.finishReason = "stop";
              else if (place === "last") written.finishReason = constraint?.isOver() ? "stop" : "length";
            }
          }
        }
        if (!signal.aborted && performance.now() >= deadlineMs) written.finishReason ??= "time";
        await this.#pause();
      }
    } catch (error) {
      // The next run may only begin when nothing is in flight; what those steps give is of no more use.
      const isOver = this.#failure ?? this.#loss;
      if (!isOver) await this.#settled(Promise.allSettled(flight.map((one) => one.results)));
      const reason = this.#failure ?? this.#loss ?? error;
      // What was under way besides an answer that has ended is not missed.
      const ended = written.finishReason ?? (signal.aborted ? "abort" : undefined);
      if (isLoss(reason) && ended) return written.outcome(ended);
      throw reason;
    }
    const finishReason = (written.finishReason ??= signal.aborted ? "abort" : "length");
    const { kept = sampled.length } = written;
    const answered = answeredTokens.length;
    this.#cached = tokensInCache(tokens, filled, sampled.slice(answered), kept - answered).slice(
      0,
      promptTokens.length + kept,
    );
    return written.outcome(finishReason);
  }

  /**
   * Everything a run submits, in order: the prompt's chunks, then as many steps as may give a token. What a constraint
   * forces goes between the steps, and its first tokens directly after the prompt.
   *
   * @param known prompt, and what of the answer was written before
   */
  *#submissions(request: RunRequest, known: Uint32Array, start: number, written: Written): Generator<Flight, void> {
    const { maxNewTokens } = request;
    let given = written.sampled.length;
    // What a lost device was given and did not answer is forced still.
    if (written.forced.length === 0) written.forced = this.#forced(request, given);
    let isFirst = written.forced.length > 0;
    // The last known token runs with what is forced after it.
    const end = known.length - (isFirst ? 1 : 0);
    for (const chunk of prefillChunks(start, end, this.#prefillChunk)) {
      const tokens = known.subarray(chunk.start, chunk.end);
      const isLast = chunk.end === known.length;
      const results = isLast
        ? this.#backend.prefill(tokens, chunk.start, true).then((result) => [result])
        : this.#backend.prefill(tokens, chunk.start, false).then(() => []);
      yield { ...inFlight(results, chunk.end), isChunk: true };
    }
    const { guesses, sampled } = written;
    if (guesses) {
      const room = { tokens: maxNewTokens, chunk: this.#prefillChunk };
      while (sampled.length < maxNewTokens) {
        yield inFlight(guesses.step(this.#backend, sampled, room), known.length);
      }
      return;
    }
    if (!isFirst) given++;
    while (given < maxNewTokens) {
      if (!isFirst) written.forced = this.#forced(request, given);
      isFirst = false;
      const { length } = written.forced;
      if (length > 0) yield this.#append(request, written.forced, written.sampled, known.length);
      else
        yield inFlight(
          this.#backend.step().then((result) => [result]),
          known.length,
        );
      given += Math.max(1, length);
    }
  }

  /** What comes next whatever the model says, as far as one chunk, the answer's limit and the context have room for it. */
  #forced({ constraint, sampling, promptTokens, maxNewTokens }: RunRequest, written: number): readonly number[] {
    // What else was likely is only told by a choice.
    if (!constraint || sampling.topLogprobs > 0) return [];
    const room = this.#backend.facts.contextLength + 1 - promptTokens.length - written;
    return constraint.takeForced(Math.min(room, maxNewTokens - written, this.#prefillChunk));
  }

  #append(
    { promptTokens, maxNewTokens, sampling }: RunRequest,
    forced: readonly number[],
    sampled: readonly number[],
    filled: number,
  ): Flight {
    const tokens = Uint32Array.from(forced);
    const previous = sampled.at(-1) ?? promptTokens[promptTokens.length - 1] ?? 0; // a prompt is never empty
    const before = sampled.length;
    const start = promptTokens.length - 1 + before;
    const capacity = this.#backend.facts.contextLength + 1 - promptTokens.length;
    const results = this.#backend.append(previous, tokens, start).then(({ logprobs, ranks, entropies }) =>
      forced.map((id, at): StepResult => {
        const count = before + at + 1;
        const logprob = logprobs[at] ?? NaN;
        const statistics = sampling.tokenStatistics ? { rank: ranks[at] ?? 0, entropy: entropies[at] ?? 0 } : undefined;
        const done = count >= Math.min(maxNewTokens, capacity);
        return { count, id, logprob, top: [], statistics, done, invalid: Number.isNaN(logprob) };
      }),
    );
    return { ...inFlight(results, filled), isForced: true, isChunk: true };
  }

  async #score(tokens: Uint32Array, from: number, signal: AbortSignal): Promise<ScoredRows | undefined> {
    const count = Math.max(0, tokens.length - from);
    const logprobs = new Float32Array(count);
    const entropies = new Float32Array(count);
    const ranks = new Uint32Array(count);
    // Token `from` is told by the row before it, which has to be run, whatever the cache holds.
    const start = reusablePrefix(this.#cached, tokens.subarray(0, from), true);
    const chunks = [
      ...prefillChunks(start, from - 1, this.#prefillChunk).map((chunk) => ({ ...chunk, scored: false })),
      ...prefillChunks(from - 1, tokens.length - 1, this.#prefillChunk).map((chunk) => ({ ...chunk, scored: true })),
    ];
    await this.#alone(tokens, chunks, signal, async ({ start, end, scored }) => {
      const chunk = tokens.subarray(start, end);
      if (!scored) return this.#backend.prefill(chunk, start, false);
      const said = await this.#backend.score(chunk, start, tokens.subarray(start + 1, end + 1));
      const at = start - (from - 1);
      logprobs.set(said.logprobs, at);
      entropies.set(said.entropies, at);
      ranks.set(said.ranks, at);
    });
    if (signal.aborted) return undefined;
    this.#assertNumbers(logprobs);
    return { logprobs, entropies, ranks };
  }

  async #hiddenState(tokens: Uint32Array, pooling: Pooling, signal: AbortSignal): Promise<Float64Array | undefined> {
    let state = new Float64Array(0);
    await this.#alone(tokens, prefillChunks(0, tokens.length, this.#prefillChunk), signal, async ({ start, end }) => {
      const part = await this.#backend.hiddenState(tokens.subarray(start, end), start, pooling);
      const before = pooling === "mean" && state.length > 0 ? state : undefined;
      state = Float64Array.from(part, (value, i) => value + (before?.[i] ?? 0));
    });
    if (signal.aborted) return undefined;
    this.#assertNumbers(state);
    return pooling === "mean" ? state.map((value) => value / tokens.length) : state;
  }

  /** Chunks of a text through the model, nothing else of it in flight: with several, an abort would wait for long ones. */
  async #alone<C extends { start: number; end: number }>(
    tokens: Uint32Array,
    chunks: readonly C[],
    signal: AbortSignal,
    run: (chunk: C) => Promise<void>,
  ): Promise<void> {
    this.#cached = tokens.slice(0, chunks[0]?.start ?? 0);
    await this.#backend.begin({ sampling: GREEDY, promptTokens: tokens, endTokenIds: [], maxNewTokens: 1 });
    for (const chunk of chunks) {
      if (signal.aborted) return;
      await this.#settled(run(chunk), true);
      this.#cached = tokens.slice(0, chunk.end);
      await this.#pause();
    }
  }

  #assertNumbers(values: Float32Array | Float64Array): void {
    if (!values.some((value) => Number.isNaN(value))) return;
    this.#cached = new Uint32Array(0);
    throw new WordloomError("kernel-failed", "what the model says of this text is not numbers");
  }

  /**
   * `result`, or what befalls the whole scheduler, whichever comes first.
   *
   * @param isChunk of a prompt, whose time counts where the device is lost meanwhile
   */
  async #settled<T>(result: Promise<T>, isChunk = false): Promise<T> {
    if (isChunk) this.#chunkSinceMs = performance.now();
    try {
      return await new Promise((resolve, reject) => {
        const isOver = this.#failure ?? this.#loss;
        if (isOver) {
          result.catch(() => undefined); // it fails for that very reason
          reject(isOver);
          return;
        }
        this.#interrupt = reject;
        // A lost device may show first as a step that fails: then the loss is what there is to say.
        result.then(resolve, (error: unknown) => reject(this.#failure ?? this.#loss ?? WordloomError.from(error)));
      });
    } finally {
      this.#chunkSinceMs = undefined;
    }
  }

  #fail(failure: WordloomError): void {
    if (this.#failure) return; // the first reason stays: a device that is lost by disposing of it is no news
    this.#failure = failure;
    this.#turns.close(failure);
    this.#interrupt?.(failure);
    this.#reject(failure);
    this.#closing.abort(failure);
  }

  /** Lets the thread's other tasks run now and then: a backend that computes at once never gives way by itself. */
  async #pause(): Promise<void> {
    if (performance.now() - this.#lastPauseMs < LONGEST_SILENCE_MS) return;
    await nextTask();
    this.#lastPauseMs = performance.now();
  }
}

function lossFor(reason: Error): WordloomError {
  if (isLoss(reason)) return reason;
  return new WordloomError("device-lost", `the GPU device was lost: ${reason.message}`, { cause: reason });
}

/** A submitted chunk or step, with the tokens it gives, and how many known positions are filled once it is through. */
interface Flight {
  results: Promise<readonly StepResult[]>;
  filled: number;
  /** The constraint has taken these tokens already. */
  isForced: boolean;
  isChunk: boolean;
}

function inFlight(results: Promise<readonly StepResult[]>, filled: number): Flight {
  results.catch(() => {}); // it is awaited later, in its turn; until then its failure is not unhandled
  return { results, filled, isForced: false, isChunk: false };
}

/** A task of its own, so that messages and timers come in between; setTimeout alone would wait 4 ms in a page. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
