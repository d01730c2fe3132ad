/**
 * The reference backend: the decoder's operations in plain TypeScript, float64 sums, no GPU.
 *
 * It defines what the GPU backend must compute, tests model files in Node, and, only when asked for, runs small models
 * where a browser has no WebGPU.
 */
import { WordloomError } from "../../errors";
import { weightMatrices } from "../../models/decoder";
import type { DecoderSpec } from "../../models/decoder-spec";
import type { DecoderProgram, Operation } from "../../models/operations";
import type {
  Backend,
  BackendFacts,
  BeginOptions,
  BeginRowsOptions,
  KvDtype,
  Pooling,
  StepResult,
  ScoredRows,
  WeightDtype,
} from "../backend";
import { NOTHING_CHOSEN } from "../backend";
import { bytesPerPosition, cacheLayout, type CacheLayout } from "../cache-layout";
import { copyFromCache, copyToCache } from "./cache-copy";
import { Interpreter } from "./interpreter";
import { ReferenceRows } from "./reference-rows";
import { chooseToken, logSoftmaxAt, tokenStatistics } from "./sampling";
import { ReferenceWeights, type RoundRows, type UnpackRows } from "./weights";

export interface ReferenceOptions {
  spec: DecoderSpec;
  program: DecoderProgram;
  dtype: WeightDtype;
  kvDtype: KvDtype;
  /** Positions that the KV cache holds. */
  contextLength: number;
  /** Needed unless dtype and kvDtype are both f32; memory stays that of float32. */
  round?: RoundRows;
  /** Where rows that are in the format already are to be taken without rounding. */
  unpack?: UnpackRows;
}

const MAX_PREFILL_TOKENS = 64;
/** Longest time without giving the thread's other tasks (an abort message, say) a turn. */
const MAX_BUSY_MS = 16;

/** @throws internal for a contextLength beyond the learned positions, and for a missing `round` */
export function createReferenceBackend(options: ReferenceOptions): Backend {
  return new ReferenceBackend(options);
}

/** What `begin` starts and the sampled tokens extend. */
interface Run extends BeginOptions {
  answerTokens: number[];
  last: StepResult | undefined;
}

class ReferenceBackend implements Backend {
  readonly facts: BackendFacts;
  readonly maxPrefillTokens = MAX_PREFILL_TOKENS;
  readonly runAhead = 0;
  readonly lost = new Promise<Error>(() => {});
  /** Whatever the numbers were rounded to, they are held as float32. */
  readonly cacheLayout: CacheLayout;
  readonly weights: ReferenceWeights;
  private readonly interpreter: Interpreter;
  private readonly spec: DecoderSpec;
  private readonly program: DecoderProgram;
  private readonly contextLength: number;
  private state: "loading" | "ready" | "disposed" = "loading";
  private run: Run | undefined;
  private rows: ReferenceRows | undefined;
  /** Positions 0 … filled − 1 hold valid keys and values. */
  private filled = 0;
  /** x [hiddenSize] of the last token that was run. */
  private lastRow: Float64Array | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private pendingCalls = 0;
  private lastTurnMs = performance.now();

  constructor({ spec, program, dtype, kvDtype, contextLength, round, unpack }: ReferenceOptions) {
    if (spec.learnedPositions !== undefined && contextLength > spec.learnedPositions.length) {
      const { length } = spec.learnedPositions;
      throw new WordloomError("internal", `contextLength is ${contextLength}; the model has ${length} positions`);
    }
    if (round === undefined && (dtype !== "f32" || kvDtype !== "f32")) {
      throw new WordloomError("internal", `dtype ${dtype} with kvDtype ${kvDtype} needs a rounding function`);
    }
    const roundWeights = dtype === "f32" ? undefined : round?.bind(undefined, dtype);
    const taken = dtype === "f32" || unpack === undefined ? undefined : { format: dtype, unpack };
    const roundRow = kvDtype === "f32" ? undefined : (row: Float32Array) => round?.(kvDtype, row, 1, row.length) ?? row;
    this.spec = spec;
    this.cacheLayout = cacheLayout(spec, "f32");
    this.program = program;
    this.contextLength = contextLength;
    this.weights = new ReferenceWeights(spec, weightMatrices(program), roundWeights, taken);
    this.interpreter = new Interpreter(spec, contextLength, (name) => this.weights.get(name), roundRow);
    this.facts = {
      backend: "reference",
      adapter: "",
      isFallbackAdapter: false,
      tier: "reference",
      dtype,
      kvDtype,
      reason: "plain TypeScript, without a GPU; weights keep the memory of float32",
      contextLength,
      bytes: {
        weights: this.weights.sizeBytes,
        kvCache: this.interpreter.kvCacheBytes,
        activations: activationBytes(program),
      },
    };
  }

  ready(): Promise<void> {
    return Promise.resolve().then(() => {
      this.assertNotDisposed();
      this.weights.assertComplete();
      this.state = "ready";
    });
  }

  begin(options: BeginOptions): void {
    this.assertIdle();
    this.rows = undefined;
    const { promptTokens, answeredTokens = [] } = options;
    this.run = { ...options, promptTokens: promptTokens.slice(), answerTokens: [...answeredTokens], last: undefined };
  }

  beginRows(options: BeginRowsOptions): Promise<void> {
    this.assertIdle();
    const own = { ...options, promptTokens: options.promptTokens.slice() };
    this.rows = new ReferenceRows(this.interpreter, this.program, own, this.contextLength);
    return Promise.resolve();
  }

  prefillRows(tokens: Uint32Array, start: number): Promise<readonly StepResult[]> {
    const own = tokens.slice();
    return this.enqueue(() => {
      const x = this.runTokens(own, start);
      return this.currentRows().first(x.slice(-this.spec.hiddenSize));
    });
  }

  stepRows(): Promise<readonly StepResult[]> {
    return this.enqueue(() => this.currentRows().step());
  }

  endRow(row: number): void {
    this.currentRows().end(row);
  }

  prefill(tokens: Uint32Array, start: number, sample: false): Promise<void>;
  prefill(tokens: Uint32Array, start: number, sample: true): Promise<StepResult>;
  prefill(tokens: Uint32Array, start: number, sample: boolean): Promise<StepResult | void> {
    const ownTokens = tokens.slice();
    return this.enqueue(() => {
      this.runTokens(ownTokens, start);
      return sample ? this.sample() : undefined;
    });
  }

  step(): Promise<StepResult> {
    return this.enqueue(() => {
      const last = this.currentRun().last;
      if (last === undefined) throw new WordloomError("internal", "step before a prefill with sample");
      if (last.done) return last;
      this.runTokens(Uint32Array.of(last.id), this.filled);
      return this.sample();
    });
  }

  append(previous: number, tokens: Uint32Array, start: number): Promise<ScoredRows> {
    const own = tokens.slice();
    return this.enqueue(() => {
      const run = this.currentRun();
      const rows = this.scored(Uint32Array.from([previous, ...own.subarray(0, -1)]), start, own);
      run.answerTokens.push(...own);
      const id = own.at(-1);
      if (id === undefined) throw new WordloomError("internal", "no tokens to append");
      run.last = { ...NOTHING_CHOSEN, count: run.answerTokens.length, id, done: false };
      return rows;
    });
  }

  verify(previous: number, drafts: Uint32Array, start: number): Promise<readonly StepResult[]> {
    const own = drafts.slice();
    return this.enqueue(async () => {
      if (this.currentRun().last?.done) return [];
      const x = this.runTokens(Uint32Array.from([previous, ...own]), start);
      const results: StepResult[] = [];
      for (let row = 0; row <= own.length; row++) {
        this.filled = start + row + 1;
        this.lastRow = x.slice(row * this.spec.hiddenSize, (row + 1) * this.spec.hiddenSize);
        const result = await this.sample();
        results.push(result);
        if (result.done || result.id !== own[row]) break;
      }
      return results;
    });
  }

  hiddenState(tokens: Uint32Array, start: number, pooling: Pooling): Promise<Float32Array> {
    const ownTokens = tokens.slice();
    return this.enqueue(() => {
      const states = this.interpreter.finalStates(this.program.head, this.runTokens(ownTokens, start));
      const { hiddenSize } = this.spec;
      if (pooling === "last") return Float32Array.from(states.subarray(-hiddenSize));
      const sum = new Float64Array(hiddenSize);
      states.forEach((state, at) => (sum[at % hiddenSize] = (sum[at % hiddenSize] as number) + state)); // inside by %
      return Float32Array.from(sum);
    });
  }

  score(tokens: Uint32Array, start: number, targets: Uint32Array): Promise<ScoredRows> {
    const [ownTokens, ownTargets] = [tokens.slice(), targets.slice()];
    return this.enqueue(() => this.scored(ownTokens, start, ownTargets));
  }

  private scored(tokens: Uint32Array, start: number, targets: Uint32Array): ScoredRows {
    if (targets.length !== tokens.length) {
      throw new WordloomError("internal", `${targets.length} targets for ${tokens.length} tokens`);
    }
    this.assertTokens(targets);
    const x = this.runTokens(tokens, start);
    const logits = Float32Array.from(this.interpreter.runHead(this.program.head, x));
    const { vocabSize } = this.spec;
    const rows = Array.from(targets, (target, row) => {
      const own = logits.subarray(row * vocabSize, (row + 1) * vocabSize);
      return { logprob: logSoftmaxAt(own, target), ...tokenStatistics(own, target) };
    });
    return {
      logprobs: Float32Array.from(rows, ({ logprob }) => logprob),
      entropies: Float32Array.from(rows, ({ entropy }) => entropy),
      ranks: Uint32Array.from(rows, ({ rank }) => rank),
    };
  }

  readLogits(): Promise<Float32Array> {
    return this.enqueue(() => this.lastLogits());
  }

  exportCache(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.enqueue(() => {
      this.assertPositions(start, end, this.filled);
      return copyFromCache(this.interpreter.cacheArrays, this.cacheLayout, start, end);
    });
  }

  importCache(start: number, bytes: Uint8Array): Promise<void> {
    return this.enqueue(() => {
      const end = start + bytes.length / bytesPerPosition(this.cacheLayout);
      this.assertPositions(start, end, this.contextLength);
      if (start > this.filled) throw new WordloomError("internal", `position ${start}; ${this.filled} are filled`);
      copyToCache(this.interpreter.cacheArrays, this.cacheLayout, start, bytes);
      this.filled = end;
    });
  }

  private assertPositions(start: number, end: number, limit: number): void {
    if (Number.isInteger(end) && start >= 0 && start < end && end <= limit) return;
    throw new WordloomError("internal", `positions ${start} to ${end} of a cache with ${limit}`);
  }

  async dispose(): Promise<void> {
    this.state = "disposed";
    await this.queue;
  }

  /** Runs tokens through the body, filling the cache. @returns x [T, hiddenSize] */
  private runTokens(tokens: Uint32Array, start: number): Float64Array {
    const { length } = tokens;
    if (length === 0 || length > MAX_PREFILL_TOKENS || start > this.filled || start + length > this.contextLength) {
      throw new WordloomError(
        "internal",
        `${length} tokens at position ${start}; 1 to ${MAX_PREFILL_TOKENS} are taken at once, ` +
          `${this.filled} positions of ${this.contextLength} are filled`,
      );
    }
    this.assertTokens(tokens);
    const x = this.interpreter.runBody(this.program.body, tokens, start);
    this.filled = start + length;
    this.lastRow = x.slice(-this.spec.hiddenSize);
    return x;
  }

  /** Chooses the token for the first position that is not filled. */
  private async sample(): Promise<StepResult> {
    const run = this.currentRun();
    const { promptTokens, answerTokens, endTokenIds } = run;
    const logits = this.lastLogits();
    const changed = (await run.processLogits?.(logits.slice())) ?? logits;
    const allowed = run.allowedTokens?.();
    if (run.allowedTokens && !allowed) return (run.last = { ...(run.last ?? NOTHING_CHOSEN), done: true });
    const context = { endTokenIds, allowed, changed };
    const choice = chooseToken(logits, run.sampling, promptTokens, answerTokens, this.filled, context);
    const { id } = choice;
    run.answerTokens.push(id);
    const count = run.answerTokens.length;
    const done = run.endTokenIds.includes(id) || count >= run.maxNewTokens || this.filled >= this.contextLength;
    return (run.last = { ...choice, count, done });
  }

  private lastLogits(): Float32Array {
    if (this.lastRow === undefined) throw new WordloomError("internal", "no token has been run yet");
    return Float32Array.from(this.interpreter.runHead(this.program.head, this.lastRow));
  }

  private currentRun(): Run {
    if (this.run === undefined) throw new WordloomError("internal", "sampling before begin");
    return this.run;
  }

  private currentRows(): ReferenceRows {
    if (this.rows === undefined) throw new WordloomError("internal", "several answers before beginRows");
    return this.rows;
  }

  private assertIdle(): void {
    this.assertNotDisposed();
    if (this.pendingCalls > 0) throw new WordloomError("internal", `begin with ${this.pendingCalls} calls in flight`);
  }

  private assertTokens(tokens: Uint32Array): void {
    const beyond = tokens.find((token) => token >= this.spec.vocabSize);
    if (beyond !== undefined) {
      throw new WordloomError("internal", `token id ${beyond}; the vocabulary has ${this.spec.vocabSize}`);
    }
  }

  private assertNotDisposed(): void {
    if (this.state === "disposed") throw new WordloomError("disposed", "the reference backend was disposed of");
  }

  /** Calls act one after the other, in call order; one that fails does not fail the next. */
  private enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    this.pendingCalls++;
    const result = this.queue.then(async () => {
      try {
        await this.giveWay();
        this.assertNotDisposed();
        if (this.state === "loading") throw new WordloomError("internal", "a call before ready()");
        return await work();
      } finally {
        this.pendingCalls--;
      }
    });
    this.queue = result.catch(() => undefined); // the caller has `result`
    return result;
  }

  private async giveWay(): Promise<void> {
    if (performance.now() - this.lastTurnMs < MAX_BUSY_MS) return;
    await new Promise((resolve) => setTimeout(resolve));
    this.lastTurnMs = performance.now();
  }
}

/** Float64 values of one full prefill chunk; the interpreter keeps all of them until the chunk is done. */
function activationBytes({ body, head }: DecoderProgram): number {
  const widthOf = (operation: Operation): number => {
    if (operation.op === "linear") return operation.outputs;
    if (operation.op === "head_norm") return operation.headCount * operation.headDim;
    return operation.op === "attention" ? operation.spec.headCount * operation.spec.headDim : operation.width;
  };
  const width = [...body, ...head].reduce((sum, operation) => sum + widthOf(operation), 0);
  return width * MAX_PREFILL_TOKENS * Float64Array.BYTES_PER_ELEMENT;
}
