/**
 * What the engine asks of a backend. `gpu` and `reference` both implement it; the engine knows no more than this.
 */
import type { HeldDtype, PackedRows, WeightDtype } from "../formats/quantization";
import type { TensorName } from "../models/decoder-spec";
import type { CacheLayout } from "./cache-layout";

export type { HeldDtype, WeightDtype };
export type KvDtype = "f32" | "f16";

export interface BackendFacts {
  backend: "webgpu" | "reference";
  /** Adapter as the browser names it; "" for the reference. */
  adapter: string;
  /** The browser's own word for an adapter that is software: "webgpu" then means the processor. */
  isFallbackAdapter: boolean;
  /** Kernel tier, e.g. "subgroups+f16", "workgroup", "cpu"; "reference". */
  tier: string;
  /** How most of the weights are held. */
  dtype: HeldDtype;
  /** All formats that matrices are held in, that of most weights first; undefined: there is that one. */
  formats?: readonly HeldDtype[];
  kvDtype: KvDtype;
  /** Why these were chosen, in words. */
  reason: string;
  contextLength: number;
  bytes: { weights: number; kvCache: number; activations: number };
}

/** Takes the decoder's tensors in pieces of whole rows, in any order of tensors, rows ascending within one. */
export interface WeightSink {
  /** Where rows can be taken as they are held; undefined: f32 only. */
  readonly kept?: KeptSink | undefined;
  /**
   * @param name a decoder tensor (spec.tensors)
   * @param firstRow index of the first row in `values`
   * @param values [rows, columns] f32; may be reused by the caller after the call returns
   */
  write(name: TensorName, firstRow: number, values: Float32Array): void;
  /** Resolves when everything written so far has been taken up (bounds memory; await it every few pieces). */
  drained(): Promise<void>;
}

/** Takes rows whose file holds them in just the format that is used here: no detour over f32, nothing is rounded. */
export interface KeptSink {
  /** Of a matrix; undefined for what is wanted as f32. */
  formatOf(name: TensorName): HeldDtype | undefined;
  /**
   * Instead of the sink's own `write`, for the same rows.
   *
   * @param packed [rows] in `formatOf(name)`; may be reused by the caller after the call returns
   */
  write(name: TensorName, firstRow: number, rows: number, packed: PackedRows): void;
}

/** End tokens that one run can have, the caller's own included. */
export const MAX_END_TOKENS = 32;
/** Tokens that one `verify` takes at most: its rows are one tile of a matrix product. */
export const MAX_DRAFT_TOKENS = 15;
/** Repeated tokens beyond the allowed length that DRY counts at most; 1.75 to this power is as good as a ban. */
export const DRY_LONGEST_REPEAT = 64;

/**
 * How the next tokens are chosen; fixed from `begin` until the next `begin`. What each means, and in which order, is said
 * by `backends/reference/sampling.ts`.
 */
export interface SamplingSettings {
  /** 0 = greedy. */
  temperature: number;
  /** 0 = no cut-off. */
  topNSigma: number;
  /** 0 = no cut-off. */
  topK: number;
  /** 1 = no cut-off. */
  typicalP: number;
  /** 1 = no cut-off. */
  topP: number;
  /** 0 = no cut-off. */
  minP: number;
  /** How often XTC acts; 0 = never. */
  xtcProbability: number;
  /** In (0, 0.5]. */
  xtcThreshold: number;
  /** 1 = none; over prompt and answer. */
  repetitionPenalty: number;
  /** 0 = none; over the answer. */
  frequencyPenalty: number;
  presencePenalty: number;
  /** The three penalties see so many of the last tokens; Infinity = all. */
  penaltyLastN: number;
  /** 0 = no DRY. */
  dryMultiplier: number;
  /** At least 1. */
  dryBase: number;
  /** Repeated tokens that cost nothing yet; at least 1. */
  dryAllowedLength: number;
  /** DRY sees so many of the last tokens; Infinity = all. */
  dryPenaltyLastN: number;
  /** Ids that no repetition reaches across. */
  dryBreakers: ReadonlySet<number>;
  /** 0 = none. */
  noRepeatNgramSize: number;
  /** End tokens are banned before so many tokens. */
  minNewTokens: number;
  /** Ids the answer begins with, whatever the rest says. */
  forcedTokens: readonly number[];
  /** Added to the logits of these ids; -Infinity bans. */
  logitBias: ReadonlyMap<number, number>;
  /** Two 32-bit halves. The draw at a position depends on (seed, position) only. */
  seed: readonly [low: number, high: number];
  /** 0 to 20. */
  topLogprobs: number;
  /** Whether a step reports rank and entropy. */
  tokenStatistics: boolean;
}

/** The likeliest token, with nothing else switched on. */
export const GREEDY: SamplingSettings = {
  temperature: 0,
  topNSigma: 0,
  topK: 0,
  typicalP: 1,
  topP: 1,
  minP: 0,
  xtcProbability: 0,
  xtcThreshold: 0.1,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  penaltyLastN: Infinity,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
  dryPenaltyLastN: Infinity,
  dryBreakers: new Set(),
  noRepeatNgramSize: 0,
  minNewTokens: 0,
  forcedTokens: [],
  logitBias: new Map(),
  seed: [0, 0],
  topLogprobs: 0,
  tokenStatistics: false,
};

export interface BeginOptions {
  sampling: SamplingSettings;
  /** The whole prompt (for penalties, and to know where the answer starts). */
  promptTokens: Uint32Array;
  /** A sampled id in this list sets `done` (the id itself is still reported). At most MAX_END_TOKENS. */
  endTokenIds: readonly number[];
  /** The step that samples token number `maxNewTokens` sets `done`. */
  maxNewTokens: number;
  /**
   * What of the answer was chosen before, by a run that a lost device ended: the tokens that follow count after these.
   * They are no part of `promptTokens`, and go through `prefill` behind it.
   */
  answeredTokens?: Uint32Array | undefined;
  /**
   * The caller's own processor: from the model's logits [V] those that the settings then work on. Each step waits for it,
   * so that with it no second one may be in flight.
   */
  processLogits?: ((logits: Float32Array) => Promise<Float32Array>) | undefined;
  /**
   * Bans everything but what it gives, [ceil(V / 32)] bit i of word w for id 32 w + i. Asked once for each token, while the
   * model computes the logits; no second step may be in flight. Undefined: nothing can follow, and the step chooses none:
   * it is as a step past the end.
   */
  allowedTokens?: (() => Uint32Array | undefined) | undefined;
}

/** Of several answers to one prompt, each of which is chosen as if it were alone. */
export interface BeginRowsOptions extends Omit<BeginOptions, "processLogits" | "allowedTokens"> {
  /** One for each answer, 2 or more, in place of the settings' own. */
  seeds: readonly SamplingSettings["seed"][];
}

export interface StepResult {
  /** Tokens sampled so far in this run, this one included. A step past the end repeats the count: nothing happened. */
  count: number;
  id: number;
  /** Natural log of the model's own probability of `id` (temperature 1, before any processor). */
  logprob: number;
  /** The n most likely, likeliest first (equal ones: lower id first). */
  top: readonly { id: number; logprob: number }[];
  /** With `tokenStatistics`. */
  statistics: TokenStatistics | undefined;
  /** No step after this one does anything: end token, limit, or the KV cache is full. */
  done: boolean;
  /** A logit was NaN or +∞ (or none was finite): the model is broken on this device. */
  invalid: boolean;
}

/** What a step gives that chooses no token where there was none before. */
export const NOTHING_CHOSEN: StepResult = {
  count: 0,
  id: 0,
  logprob: 0,
  top: [],
  statistics: undefined,
  done: true,
  invalid: false,
};

/** What the model itself says of a token's place (temperature 1, before any processor). */
export interface TokenStatistics {
  /** Of the token among all, likeliest first, equal ones by ascending id; from 1. */
  rank: number;
  /** Of the whole distribution that it was chosen from, in nats. */
  entropy: number;
}

/** What the model itself (temperature 1, no processors) says of one given token a row; [rows] each. */
export interface ScoredRows {
  /** Natural log of its probability. */
  logprobs: Float32Array;
  /** As in TokenStatistics. */
  entropies: Float32Array;
  ranks: Uint32Array;
}

/** How the hidden states of a text become one vector: their mean, or that of the last token. */
export type Pooling = "mean" | "last";

/**
 * One sequence on one model. Calls act in call order; none waits for the GPU, only the returned promises do.
 *
 * Use: `begin` (nothing in flight), `prefill` the prompt in chunks, the last with `sample: true` (it gives the first
 * token), then `step` as often as wanted, several in flight. The token of a step feeds the next inside the backend.
 */
export interface SequenceRunner {
  /**
   * Sets the state for a run. Must not be called with steps in flight; where it gives a promise (kernels for these
   * settings are still to be compiled), the run may go on once that resolves.
   */
  begin(options: BeginOptions): Promise<void> | void;
  /**
   * Runs `tokens` at positions `start`… through the model, filling the KV cache, at most `maxPrefillTokens` at once.
   * Positions ≥ start hold nothing valid before the call. With `sample`, the next token is chosen from the last row.
   */
  prefill(tokens: Uint32Array, start: number, sample: false): Promise<void>;
  prefill(tokens: Uint32Array, start: number, sample: true): Promise<StepResult>;
  /**
   * Takes `tokens` as the next ones of the answer, without a choice: the one before them (the last sampled, or the
   * prompt's last, which has not been run) at position `start`, and all of them but the last go through the model. The
   * next step goes on after them.
   *
   * @param tokens at most `maxPrefillTokens`; the answer's limit and the context have room for them
   * @returns what the model itself says of each
   */
  append(previous: number, tokens: Uint32Array, start: number): Promise<ScoredRows>;
  /** One decode step: the last sampled token through the model, and the next one chosen. */
  step(): Promise<StepResult>;
  /**
   * Several steps at once, where a guess of what they give is at hand: the last sampled token and the drafts behind it run
   * as one chunk, and then the next token is chosen row by row, just as `step` does, as long as it is the draft that the
   * next row was computed with. Positions of the cache behind the last token given hold nothing valid afterwards.
   *
   * Nothing else in flight; not with `processLogits` or `allowedTokens`.
   *
   * @param previous the last sampled token, at position `start`
   * @param drafts 1 to MAX_DRAFT_TOKENS, fewer than `maxPrefillTokens`; the context has room for all of them
   * @returns what these steps gave, in order: one more than there were right drafts, or fewer where the run ended
   */
  verify(previous: number, drafts: Uint32Array, start: number): Promise<readonly StepResult[]>;
  /**
   * Several answers to one prompt, whose steps are one. In place of `begin`; `prefillRows` then takes the prompt's last
   * chunk, and `stepRows` is `step` of all of them. What they have in common is in the cache once: position p of answer r
   * lies where `row-slots.ts` says. Afterwards the cache holds the prompt's positions, and nothing valid behind them.
   *
   * @throws out-of-memory, device-limit where there is no room for so many
   */
  beginRows(options: BeginRowsOptions): Promise<void>;
  /** As `prefill` with `sample`; the first token of each answer. */
  prefillRows(tokens: Uint32Array, start: number): Promise<readonly StepResult[]>;
  /** One step of every answer; of one that is over, its last result again. */
  stepRows(): Promise<readonly StepResult[]>;
  /** That answer is over for another reason than the backend knows of: steps from now on leave it alone. */
  endRow(row: number): void;
  /**
   * What the model says of given tokens: like `prefill(tokens, start, false)`, and for each row t the statistics of
   * `targets[t]` after it. At most `maxPrefillTokens` at once; `targets.length === tokens.length`.
   */
  score(tokens: Uint32Array, start: number, targets: Uint32Array): Promise<ScoredRows>;
  /**
   * Hidden states after the final norm, which the head would read: like `prefill(tokens, start, false)`, and their sum
   * over these tokens ("mean": the caller divides) or the last one's. At most `maxPrefillTokens` at once.
   *
   * @returns [hidden size]
   */
  hiddenState(tokens: Uint32Array, start: number, pooling: Pooling): Promise<Float32Array>;
  /** Logits [V] after the last token that was run (for tests and for callers that choose on the host). */
  readLogits(): Promise<Float32Array>;
  /**
   * A copy of what the KV cache holds of positions `start` … `end`, all of them filled; nothing in flight.
   *
   * @returns bytes as `cacheLayout` says
   */
  exportCache(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Puts it back, at the same positions; those before `start` are filled, those after hold nothing valid. Nothing in flight. */
  importCache(start: number, bytes: Uint8Array): Promise<void>;
}

export interface Backend extends SequenceRunner {
  readonly facts: BackendFacts;
  readonly maxPrefillTokens: number;
  readonly cacheLayout: CacheLayout;
  readonly weights: WeightSink;
  /** Steps worth keeping in flight (0: the reference; 1 or 2: a GPU). */
  readonly runAhead: number;
  /** Resolves once every weight is in place and a dummy step has warmed the pipelines up. */
  ready(): Promise<void>;
  /** Rejects pending and later calls; frees everything it made (a device that was passed in stays alive). */
  dispose(): Promise<void>;
  /** Resolves with the reason if the device is lost (never for the reference). */
  readonly lost: Promise<Error>;
}
