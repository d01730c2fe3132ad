/**
 * A backend without a model, for tests of the loop: the next token is a function of all tokens before it, so that a
 * wrong prefix, a lost chunk or a step too many changes the answer. It holds callers to the contract of backend.ts.
 */
import type {
  Backend,
  BackendFacts,
  BeginOptions,
  BeginRowsOptions,
  Pooling,
  StepResult,
  ScoredRows,
} from "../backends/backend";
import { NOTHING_CHOSEN } from "../backends/backend";
import type { CacheLayout } from "../backends/cache-layout";
import { WordloomError } from "../errors";

export interface FakeBackendOptions {
  /** The id that follows these tokens, drawn with this seed's lower half. */
  next?: (tokens: readonly number[], seed: number) => number;
  contextLength?: number;
  maxPrefillTokens?: number;
  runAhead?: number;
  /** False: results are there at once, in microtasks, as from a backend that never gives way. */
  takesTime?: boolean;
  /** Of all calls that give a token, counted from 1 over the backend's life. */
  invalidAt?: number;
  failsAt?: number;
  /** From this call on nothing answers any more, as a lost device. */
  hangsFrom?: number;
  /** Told of each call, with how many there have been. */
  onCall?: (count: number) => void;
}

export type FakeCall =
  | { call: "prefill" | "append" | "verify" | "score" | "hiddenState"; start: number; length: number }
  | { call: "exportCache" | "importCache"; start: number; length: number }
  | { call: "prefillRows"; start: number; length: number }
  | { call: "endRow"; row: number }
  | { call: "step" | "stepRows" };

/** Depends on every token and its place. */
export function hashNext(tokens: readonly number[]): number {
  return tokens.reduce((hash, token, at) => (hash * 31 + token * (at + 7)) % 9973, 17) % 97;
}

export class FakeBackend implements Backend {
  readonly facts: BackendFacts;
  readonly maxPrefillTokens: number;
  readonly runAhead: number;
  readonly cacheLayout: CacheLayout = { format: "f32", arrays: [{ heads: 1, width: 1 }] };
  readonly weights = { write: () => {}, drained: async () => {} };
  readonly lost: Promise<Error>;
  /** Ends the device. */
  lose!: (reason: Error) => void; // set by the promise's executor, which runs at once
  readonly calls: FakeCall[] = [];
  readonly begins: BeginOptions[] = [];
  mostInFlight = 0;
  disposed = false;
  readonly #options: FakeBackendOptions;
  #inFlight = 0;
  #tokenCalls = 0;
  /** What the KV cache holds. */
  #tokens: number[] = [];
  #sampled: number[] = [];
  #last: StepResult | undefined;
  #rowOptions: BeginRowsOptions | undefined;
  #rows: { seed: number; answer: number[]; last: StepResult | undefined; isEnded: boolean }[] = [];
  #clock: Promise<unknown> = Promise.resolve();

  constructor(options: FakeBackendOptions = {}) {
    this.#options = options;
    this.maxPrefillTokens = options.maxPrefillTokens ?? 64;
    this.runAhead = options.runAhead ?? 1;
    this.lost = new Promise((resolve) => (this.lose = resolve));
    this.facts = {
      backend: "webgpu",
      adapter: "fake",
      isFallbackAdapter: false,
      tier: "fake",
      dtype: "f32",
      kvDtype: "f32",
      reason: "fake",
      contextLength: options.contextLength ?? 1000,
      bytes: { weights: 1, kvCache: 2, activations: 3 },
    };
  }

  get steps(): number {
    return this.calls.filter(({ call }) => call === "step").length;
  }

  async ready(): Promise<void> {}

  async dispose(): Promise<void> {
    this.disposed = true;
  }

  begin(options: BeginOptions): void {
    if (this.#inFlight > 0) throw new Error(`begin with ${this.#inFlight} in flight`);
    this.begins.push(options);
    this.#sampled = [...(options.answeredTokens ?? [])];
    this.#last = undefined;
  }

  prefill(tokens: Uint32Array, start: number, sample: false): Promise<void>;
  prefill(tokens: Uint32Array, start: number, sample: true): Promise<StepResult>;
  prefill(tokens: Uint32Array, start: number, sample: boolean): Promise<StepResult | void> {
    this.#record({ call: "prefill", start, length: tokens.length });
    this.#fill(tokens, start);
    return sample ? this.#answer(this.#sample()) : this.#answer(undefined);
  }

  step(): Promise<StepResult> {
    this.#record({ call: "step" });
    const last = this.#last;
    if (!last) throw new Error("a step before a prefill with sample");
    if (last.done) return this.#answer(last);
    this.#fill(Uint32Array.of(last.id), this.#tokens.length);
    return this.#answer(this.#sample());
  }

  async beginRows(options: BeginRowsOptions): Promise<void> {
    if (this.#inFlight > 0) throw new Error(`beginRows with ${this.#inFlight} in flight`);
    this.#rowOptions = options;
    this.#rows = options.seeds.map(([seed]) => ({ seed, answer: [], last: undefined, isEnded: false }));
  }

  prefillRows(tokens: Uint32Array, start: number): Promise<readonly StepResult[]> {
    this.#record({ call: "prefillRows", start, length: tokens.length });
    this.#fill(tokens, start);
    return this.#answer(this.#sampleRows());
  }

  stepRows(): Promise<readonly StepResult[]> {
    this.#record({ call: "stepRows" });
    if (this.#rows.some(({ last }) => !last)) throw new Error("stepRows before prefillRows");
    return this.#answer(this.#sampleRows());
  }

  endRow(row: number): void {
    this.#record({ call: "endRow", row });
    const ended = this.#rows[row];
    if (!ended) throw new Error(`row ${row} of ${this.#rows.length}`);
    ended.isEnded = true;
  }

  #sampleRows(): readonly StepResult[] {
    const options = this.#rowOptions;
    if (!options) throw new Error("rows before beginRows");
    this.#tokenCalls++;
    return this.#rows.map((row) => {
      if (row.last && (row.last.done || row.isEnded)) return row.last;
      const id = (this.#options.next ?? hashNext)([...options.promptTokens, ...row.answer], row.seed);
      const count = row.answer.push(id);
      const done = options.endTokenIds.includes(id) || count >= options.maxNewTokens;
      const invalid = this.#tokenCalls === this.#options.invalidAt;
      return (row.last = { count, id, logprob: -0.5, top: [], statistics: undefined, done, invalid });
    });
  }

  /** A token's log-probability is its id, negated; its entropy the half of that, its rank the id. */
  append(previous: number, tokens: Uint32Array, start: number): Promise<ScoredRows> {
    this.#record({ call: "append", start, length: tokens.length });
    this.#fill(Uint32Array.from([previous, ...tokens.subarray(0, -1)]), start);
    this.#sampled.push(...tokens);
    this.#last = { ...NOTHING_CHOSEN, count: this.#sampled.length, id: tokens.at(-1) ?? 0, done: false };
    return this.#answer({
      logprobs: Float32Array.from(tokens, () => -0.25),
      entropies: Float32Array.from(tokens, () => 0.5),
      ranks: Uint32Array.from(tokens, () => 1),
    });
  }

  verify(previous: number, drafts: Uint32Array, start: number): Promise<readonly StepResult[]> {
    this.#record({ call: "verify", start, length: 1 + drafts.length });
    if (this.#inFlight > 0) throw new Error(`verify with ${this.#inFlight} in flight`);
    if (this.#last?.id !== previous) throw new Error(`verify after ${previous}, the last was ${this.#last?.id}`);
    if (start + 1 + drafts.length > this.facts.contextLength)
      throw new Error(`verify beyond ${this.facts.contextLength}`);
    const results: StepResult[] = [];
    const rows = [previous, ...drafts];
    for (const [row, token] of rows.entries()) {
      this.#fill(Uint32Array.of(token), start + row);
      const result = this.#sample();
      results.push(result);
      if (result.done || result.id !== rows[row + 1]) break;
    }
    return this.#answer(results);
  }

  score(tokens: Uint32Array, start: number, targets: Uint32Array): Promise<ScoredRows> {
    this.#record({ call: "score", start, length: tokens.length });
    this.#fill(tokens, start);
    return this.#answer({
      logprobs: Float32Array.from(targets, (target) => -target),
      entropies: Float32Array.from(targets, (target) => target / 2),
      ranks: targets.slice(),
    });
  }

  /** Two numbers: the last token's id, or the sum of all ids; and how many there are. */
  hiddenState(tokens: Uint32Array, start: number, pooling: Pooling): Promise<Float32Array> {
    this.#record({ call: "hiddenState", start, length: tokens.length });
    this.#fill(tokens, start);
    const sum = tokens.reduce((all, token) => all + token, 0);
    return this.#answer(Float32Array.of(pooling === "mean" ? sum : (tokens.at(-1) ?? 0), tokens.length));
  }

  /** A position's bytes are its token. */
  async exportCache(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    if (end > this.#tokens.length) throw new Error(`position ${end} of ${this.#tokens.length}`);
    this.#record({ call: "exportCache", start, length: end - start });
    return new Uint8Array(Float32Array.from(this.#tokens.slice(start, end)).buffer);
  }

  async importCache(start: number, bytes: Uint8Array): Promise<void> {
    this.#record({ call: "importCache", start, length: bytes.length / 4 });
    if (start > this.#tokens.length) throw new Error(`start ${start} after ${this.#tokens.length} tokens`);
    this.#tokens = [...this.#tokens.slice(0, start), ...new Float32Array(bytes.slice().buffer)];
  }

  async readLogits(): Promise<Float32Array> {
    throw new Error("the loop never reads logits");
  }

  #record(call: FakeCall): void {
    this.calls.push(call);
    this.#options.onCall?.(this.calls.length);
  }

  #fill(tokens: Uint32Array, start: number): void {
    const { contextLength } = this.facts;
    if (tokens.length === 0 || tokens.length > this.maxPrefillTokens)
      throw new Error(`${tokens.length} tokens at once`);
    if (start > this.#tokens.length) throw new Error(`start ${start} after ${this.#tokens.length} tokens`);
    if (start + tokens.length > contextLength) throw new Error(`position ${start + tokens.length} of ${contextLength}`);
    this.#tokens = [...this.#tokens.slice(0, start), ...tokens];
  }

  #sample(): StepResult {
    const begin = this.begins.at(-1);
    if (!begin) throw new Error("sampling before begin");
    if (begin.allowedTokens && begin.allowedTokens() === undefined) {
      return (this.#last = { ...(this.#last ?? NOTHING_CHOSEN), done: true });
    }
    const id = (this.#options.next ?? hashNext)(this.#tokens, begin.sampling.seed[0]);
    this.#sampled.push(id);
    this.#tokenCalls++;
    const count = this.#sampled.length;
    this.#last = {
      count,
      id,
      logprob: -0.5,
      top: [],
      statistics: undefined,
      done:
        begin.endTokenIds.includes(id) ||
        count >= begin.maxNewTokens ||
        this.#tokens.length >= this.facts.contextLength,
      invalid: this.#tokenCalls === this.#options.invalidAt,
    };
    return this.#last;
  }

  #answer<T>(value: T): Promise<T> {
    const { takesTime = true, failsAt, hangsFrom } = this.#options;
    const call = this.#tokenCalls;
    this.mostInFlight = Math.max(this.mostInFlight, ++this.#inFlight);
    if (hangsFrom !== undefined && call >= hangsFrom) return new Promise(() => {});
    const result = this.#clock.then(async () => {
      if (takesTime) await new Promise((resolve) => setTimeout(resolve));
      this.#inFlight--;
      if (call === failsAt) throw new WordloomError("out-of-memory", "the fake failed as it was told to");
      return value;
    });
    this.#clock = result.catch(() => undefined); // the caller has `result`
    return result;
  }
}
