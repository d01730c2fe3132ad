/**
 * What a caller may ask of one answer, checked once: each option is honoured or refused by its name.
 *
 * Pure: the same options, seed and vocabulary give the same request.
 */
import type { AnswerSettings } from "../engine/engine";
import type { ChatPromptOptions } from "./chat-options";
import { resolveAnswerCount } from "./answer-count";
import { resolveConstraint, type AnswerConstraint } from "./constraint-option";
import type { LogitsProcessor } from "./logits-processor";
import { flag, given, invalid, oneOf, real, refuseUnknown, whole } from "./option-checks";
import { resolveSpeculative, type SpeculativeOptions } from "./speculative-option";
import { conflict, idsOf, resolveLogitBias, stringsOf } from "./token-options";

/**
 * Options of one `generate`. Left out, undefined and null all mean "not set"; an unknown name, a value out of range, and
 * options that contradict each other are refused with option-invalid.
 *
 * They act in this order, which is llama.cpp's but for the temperature (there it comes last, here, as in transformers,
 * before the cuts); bias, bans and the caller's own processor come first, as in vLLM:
 *
 * 1. `logitsProcessor`
 * 2. bias and bans: `logitBias`, `bannedTokens`, `constraint`; `noRepeatNgramSize`; end tokens before `minNewTokens`. What is banned
 *    stays so, whatever follows
 * 3. penalties: `repetitionPenalty`, `frequencyPenalty`, `presencePenalty` within `penaltyLastN`; then DRY
 * 4. `temperature`
 * 5. cuts: `topNSigma`, `topK`, `typicalP`, `topP`, `minP`, XTC. Each works on what the one before left, and leaves at
 *    least one token; without a cut the whole vocabulary takes part
 * 6. one draw
 *
 * `forcedTokens` go before all of that. Where the bans have left no token at all, the lowest id is taken.
 *
 * Everything but `logitsProcessor` is computed where the logits are, so that the loop never waits for it.
 */
export interface GenerateOptions extends ChatPromptOptions {
  /** Tokens to write at most, 1 or more; default 256. The context may end the answer sooner. */
  maxNewTokens?: number;
  /**
   * Tokens before which nothing ends the answer but its limits: end tokens (`stopTokenIds` included) are banned, and stop
   * strings are not looked for in them. 0 (default) to `maxNewTokens`.
   */
  minNewTokens?: number;
  /**
   * Milliseconds from the answer's turn after which no further token is written; above 0. `end.finishReason` is then
   * "time". The steps under way are finished; a prompt that takes longer to read gives an empty answer.
   */
  maxTimeMs?: number;

  /**
   * Logits are divided by it before the draw; 0 or more. 0 always takes the likeliest token (of equal ones the lowest id).
   * Default: 0; but 1 where a cut or `seed` is given, since those ask for a draw. Below 1e-6 it is taken as 0: in float32
   * the two are the same.
   */
  temperature?: number;
  /**
   * Only those whose logit is within so many standard deviations of the largest; above 0. 0 is no cut-off (Tang et al.
   * 2024). The temperature changes nothing about it.
   */
  topNSigma?: number;
  /** Only the k most likely take part. 0, or the vocabulary's size or more, is no cut-off. */
  topK?: number;
  /**
   * Only those whose surprise, -ln p, is nearest to the expected one, as many as have together at least this probability,
   * in (0, 1]; equally near ones stay (Meister et al. 2022). 1 is no cut-off. Refused at temperature 0: the likeliest may
   * not be among them.
   */
  typicalP?: number;
  /** Only the fewest of the most likely that together have at least this probability, in (0, 1]. 1 is no cut-off. */
  topP?: number;
  /** Only those with at least this fraction of the most likely one's probability, in [0, 1]. 0 is no cut-off. */
  minP?: number;
  /**
   * XTC, "exclude top choices": with this probability, in [0, 1], a token is chosen without those that have at least
   * `xtcThreshold`, but for the least likely of them. 0 (default) is never. Refused at temperature 0.
   */
  xtcProbability?: number;
  /** Above 0 and at most 0.5 (no two tokens can have more); default 0.1. Needs `xtcProbability`. */
  xtcThreshold?: number;

  /**
   * Above 0; 1 (default) is none. For each token of prompt and answer, once: a positive logit is divided by it, a
   * negative one multiplied (as in Hugging Face transformers).
   */
  repetitionPenalty?: number;
  /** Taken from a logit for each time the answer has the token; default 0, negative values favour repeating. */
  frequencyPenalty?: number;
  /** Taken from a logit once if the answer has the token at all; default 0. */
  presencePenalty?: number;
  /** The three penalties look at so many of the last tokens only; -1 (default) is all, 0 none. Needs one of them. */
  penaltyLastN?: number;
  /**
   * DRY, "don't repeat yourself": a token that would go on repeating the last L tokens loses multiplier · base^(L -
   * allowed length), if L is at least the allowed length; 0 (default) is none. L counts up to 64 tokens more than that.
   */
  dryMultiplier?: number;
  /** 1 or more; default 1.75. The options of DRY need `dryMultiplier`. */
  dryBase?: number;
  /** 1 or more; default 2. */
  dryAllowedLength?: number;
  /**
   * No repetition reaches across these; default newline, ":", "\"" and "*". A string stands for all tokens whose text
   * contains it; where there are none, for the last token of its own ids. An empty list is none.
   */
  drySequenceBreakers?: string | readonly string[];
  /** DRY looks for repetitions in so many of the last tokens; -1 (default) is all, 0 none. */
  dryPenaltyLastN?: number;
  /** No n tokens in a row occur twice in prompt and answer together (as in transformers); 0 (default) is none. */
  noRepeatNgramSize?: number;

  /** Token id → what is added to its logit, a finite number; -Infinity bans it. Not all tokens may be banned. */
  logitBias?: Readonly<Record<number, number>> | ReadonlyMap<number, number>;
  /** Ids that are never chosen: a bias of -Infinity. */
  bannedTokens?: readonly number[] | Uint32Array;
  /**
   * Ids that the answer begins with, whatever the model says, at most `maxNewTokens`; they count as written by it. None
   * may be banned, or end the answer before `minNewTokens`.
   */
  forcedTokens?: readonly number[] | Uint32Array;
  /**
   * Changes the model's logits before anything else does. It runs on the caller's thread, so every step waits for it:
   * the logits are read back, no further step is under way, and writing is as slow as that.
   */
  logitsProcessor?: LogitsProcessor;

  /**
   * Holds the answer to a JSON schema, a regular expression, a grammar or a choice; see AnswerConstraint. It acts with the
   * bans: what cannot follow is never chosen, and end tokens only where the form is whole. `end.constraint` then says
   * "complete" or "cut", and the run's `value()` gives what is complete. The host finds out what may follow while the GPU
   * computes the logits, so that there is one step under way, not several. Needs WebAssembly.
   */
  constraint?: AnswerConstraint;

  /**
   * Guesses the next tokens, and checks the guesses in one pass of the model, which chooses just what it would choose
   * without them: the same ids for the same seed. Faster where guesses are often right (texts that repeat themselves, a
   * draft model that knows them); else slower, as nothing else is under way meanwhile. `end.speculation` counts. Default:
   * none. Not with a `constraint` or a `logitsProcessor`. docs/speculative-decoding.md says where it pays.
   */
  speculative?: SpeculativeOptions;

  /**
   * Where the context is full. "error" (default): a longer prompt is refused with prompt-too-long, and an answer ends with
   * "length". "slide": the model sees the first `sinks` tokens and the last ones, and goes on; the last ones, half of the
   * context, are run again each time the other half is full. What it no longer sees, penalties do not see either; the
   * answer's before a slide counts as the prompt's. Not with a `constraint`.
   */
  fullContext?: "error" | "slide";
  /** Of "slide": first tokens that stay in sight; 0 or more, at most the context less 2; default 4. */
  sinks?: number;

  /** A whole number from 0 to 2^53 - 1; default: a random one, which `end.seed` tells. */
  seed?: number;
  /**
   * Answers to write from one reading of the prompt, 1 (default) to 16. Answer i is the one that `seed + i` alone gives;
   * chunks say by their `index` whose they are, and `end.answers` how each has ended. All of them take each step
   * together, which reads every weight once. Prompt and answers share the context: n · (`maxNewTokens` - 1) positions
   * after the prompt. Not with `logitsProcessor`, `constraint`, `speculative`, `fullContext: "slide"`, in a
   * conversation, or on a server.
   */
  n?: number;
  /**
   * Strings that end the answer, none of them empty; neither they nor any part of them is emitted. Their tokens count in
   * `usage`, and leave the KV cache.
   */
  stop?: string | readonly string[];
  /** Ids that end the answer beside the model's end tokens, also with `ignoreEos`; like those they are no part of it. */
  stopTokenIds?: readonly number[] | Uint32Array;
  /**
   * In place of the model's own end tokens. Those are `eos_token_id` of generation_config.json where it lists any, else of
   * config.json. With `stopTokenIds` at most 32.
   */
  endTokenIds?: readonly number[] | Uint32Array;
  /** Go on after the model's end tokens; default false. Cannot be true where `endTokenIds` lists some. */
  ignoreEos?: boolean;
  /** The n likeliest tokens, by the model itself, beside each token; 0 to 20, default 0. */
  topLogprobs?: number;
  /** `probability`, `rank` and `entropy` beside each token's `logprob`; default false, as it costs a pass over the logits. */
  tokenStatistics?: boolean;
  /** Do not compute again what the KV cache already holds of this prompt's beginning; default true. */
  reusePrefix?: boolean;
  /** Stops the answer, also while it waits for its turn: reading it rejects with `signal.reason`. */
  signal?: AbortSignal;
}

const DEFAULT_MAX_NEW_TOKENS = 256;
const MAX_TOP_LOGPROBS = 20;
/** Colder than this, float32 cannot tell a draw from the most likely token (and 1 / temperature overflows at 1e-38). */
const LOWEST_TEMPERATURE = 1e-6;
/** As llama.cpp and text-generation-webui have them. */
const DRY_BREAKERS = ["\n", ":", '"', "*"];

/** Giving one of these asks for a draw, so that `temperature` is 1 unless said otherwise. */
const OPTIONS_OF_THE_DRAW = ["topNSigma", "topK", "typicalP", "topP", "minP", "xtcProbability", "seed"] as const;

/** Options that mean nothing without one of others. */
const NEEDS = [
  ["xtcThreshold", ["xtcProbability"]],
  ["penaltyLastN", ["repetitionPenalty", "frequencyPenalty", "presencePenalty"]],
  ["dryBase", ["dryMultiplier"]],
  ["dryAllowedLength", ["dryMultiplier"]],
  ["drySequenceBreakers", ["dryMultiplier"]],
  ["dryPenaltyLastN", ["dryMultiplier"]],
] as const satisfies readonly [keyof GenerateOptions, readonly (keyof GenerateOptions)[]][];

const KNOWN: Record<keyof GenerateOptions, true> = {
  tools: true,
  templateOptions: true,
  continueFinalMessage: true,
  maxNewTokens: true,
  minNewTokens: true,
  maxTimeMs: true,
  temperature: true,
  topNSigma: true,
  topK: true,
  typicalP: true,
  topP: true,
  minP: true,
  xtcProbability: true,
  xtcThreshold: true,
  repetitionPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  penaltyLastN: true,
  dryMultiplier: true,
  dryBase: true,
  dryAllowedLength: true,
  drySequenceBreakers: true,
  dryPenaltyLastN: true,
  noRepeatNgramSize: true,
  logitBias: true,
  bannedTokens: true,
  forcedTokens: true,
  logitsProcessor: true,
  constraint: true,
  speculative: true,
  fullContext: true,
  sinks: true,
  seed: true,
  n: true,
  stop: true,
  stopTokenIds: true,
  endTokenIds: true,
  ignoreEos: true,
  topLogprobs: true,
  tokenStatistics: true,
  reusePrefix: true,
  signal: true,
};

/**
 * @param vocabSize ids the model knows: 0 … vocabSize - 1
 * @param drawSeed gives the seed where the caller gave none
 * @throws WordloomError option-invalid, with the option's name
 */
export function resolveGenerateOptions(
  options: GenerateOptions,
  vocabSize: number,
  drawSeed: () => number = randomSeed,
): AnswerSettings {
  refuseUnknown(options, KNOWN, "generate");
  for (const [name, needed] of NEEDS) {
    if (given(options[name]) && !needed.some((other) => given(options[other]))) {
      throw conflict(`${name} is given without ${needed.join(", ")}, and means nothing alone`);
    }
  }
  if (given(options.signal) && !(options.signal instanceof AbortSignal)) {
    throw invalid("signal", options.signal, "an AbortSignal");
  }
  if (given(options.logitsProcessor) && typeof options.logitsProcessor !== "function") {
    throw invalid("logitsProcessor", options.logitsProcessor, "a function");
  }
  const { n, seed } = resolveAnswerCount(options, drawSeed);
  const maxNewTokens = whole(options, "maxNewTokens", DEFAULT_MAX_NEW_TOKENS, { min: 1, max: Number.MAX_SAFE_INTEGER });
  const sampling = { ...resolveDraw(options, vocabSize, seed), ...resolvePenalties(options) };
  const minNewTokens = whole(options, "minNewTokens", 0, { min: 0, max: Number.MAX_SAFE_INTEGER });
  if (minNewTokens > maxNewTokens) throw conflict(`minNewTokens is ${minNewTokens}, maxNewTokens only ${maxNewTokens}`);
  const bannedTokens = idsOf("bannedTokens", options.bannedTokens, vocabSize) ?? [];
  const logitBias = resolveLogitBias(options.logitBias, bannedTokens, vocabSize);
  const forcedTokens = idsOf("forcedTokens", options.forcedTokens, vocabSize) ?? [];
  if (forcedTokens.length > maxNewTokens) {
    throw conflict(`forcedTokens has ${forcedTokens.length} ids, maxNewTokens is only ${maxNewTokens}`);
  }
  const contradicted = forcedTokens.find((id) => logitBias.get(id) === -Infinity);
  if (contradicted !== undefined) throw conflict(`forcedTokens has ${contradicted}, which is banned`);
  const endTokenIds = idsOf("endTokenIds", options.endTokenIds, vocabSize);
  const ignoreEos = flag(options, "ignoreEos", false);
  if (ignoreEos && endTokenIds !== undefined && endTokenIds.length > 0) {
    throw conflict("endTokenIds lists end tokens, and ignoreEos says that there are none");
  }
  return {
    sampling: { ...sampling, logitBias, forcedTokens, minNewTokens },
    seed,
    n,
    maxNewTokens,
    maxTimeMs: given(options.maxTimeMs) ? real(options, "maxTimeMs", 0, { above: 0 }) : undefined,
    stop: stringsOf("stop", options.stop),
    stopTokenIds: idsOf("stopTokenIds", options.stopTokenIds, vocabSize) ?? [],
    endTokenIds,
    ignoreEos,
    constraint: resolveConstraint(options),
    speculative: resolveSpeculative(options),
    drySequenceBreakers: given(options.drySequenceBreakers)
      ? stringsOf("drySequenceBreakers", options.drySequenceBreakers)
      : DRY_BREAKERS,
    reusePrefix: flag(options, "reusePrefix", true),
    ...resolveSlide(options),
  };
}

/** As in Xiao et al. 2024, whose models did well with four. */
export const DEFAULT_SINKS = 4;

function resolveSlide(options: GenerateOptions): Pick<AnswerSettings, "slide"> {
  if (oneOf(options, "fullContext", ["error", "slide"], "error") === "slide") {
    return { slide: { sinks: whole(options, "sinks", DEFAULT_SINKS, { min: 0, max: Number.MAX_SAFE_INTEGER }) } };
  }
  if (given(options.sinks)) throw conflict('sinks is given without fullContext: "slide", and means nothing alone');
  return {};
}

/** 53 random bits: every seed a caller can write down. */
export function randomSeed(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high >>> 11) * 2 ** 32 + low;
}

type SamplingSettings = AnswerSettings["sampling"];

type DrawSettings = Pick<
  SamplingSettings,
  | (Exclude<(typeof OPTIONS_OF_THE_DRAW)[number], "seed"> | "temperature" | "xtcThreshold" | "seed")
  | ("topLogprobs" | "tokenStatistics")
>;

function resolveDraw(options: GenerateOptions, vocabSize: number, seed: number): DrawSettings {
  const wantsDraw = OPTIONS_OF_THE_DRAW.some((name) => given(options[name]));
  const warmth = real(options, "temperature", wantsDraw ? 1 : 0, { min: 0 });
  const temperature = warmth < LOWEST_TEMPERATURE ? 0 : warmth;
  const topK = whole(options, "topK", 0, { min: 0, max: Number.MAX_SAFE_INTEGER });
  const typicalP = real(options, "typicalP", 1, { above: 0, max: 1 });
  const xtcProbability = real(options, "xtcProbability", 0, { min: 0, max: 1 });
  // The other cuts keep the likeliest, so that a greedy answer is the same with them.
  if (temperature === 0 && typicalP < 1) throw conflict("typicalP may cut off what temperature 0 always takes");
  if (temperature === 0 && xtcProbability > 0) {
    throw conflict("xtcProbability takes out what temperature 0 always takes");
  }
  return {
    temperature,
    topNSigma: real(options, "topNSigma", 0, { min: 0 }),
    topK: topK >= vocabSize ? 0 : topK,
    typicalP,
    topP: real(options, "topP", 1, { above: 0, max: 1 }),
    minP: real(options, "minP", 0, { min: 0, max: 1 }),
    xtcProbability,
    xtcThreshold: real(options, "xtcThreshold", 0.1, { above: 0, max: 0.5 }),
    seed: [seed >>> 0, Math.floor(seed / 2 ** 32)],
    topLogprobs: whole(options, "topLogprobs", 0, { min: 0, max: MAX_TOP_LOGPROBS }),
    tokenStatistics: flag(options, "tokenStatistics", false),
  };
}

type PenaltySettings = Omit<SamplingSettings, keyof DrawSettings | "logitBias" | "forcedTokens" | "minNewTokens">;

function resolvePenalties(options: GenerateOptions): PenaltySettings {
  const size = { min: 0, max: Number.MAX_SAFE_INTEGER };
  return {
    repetitionPenalty: real(options, "repetitionPenalty", 1, { above: 0 }),
    frequencyPenalty: real(options, "frequencyPenalty", 0, {}),
    presencePenalty: real(options, "presencePenalty", 0, {}),
    penaltyLastN: lastN(options, "penaltyLastN"),
    dryMultiplier: real(options, "dryMultiplier", 0, { min: 0 }),
    dryBase: real(options, "dryBase", 1.75, { min: 1 }),
    dryAllowedLength: whole(options, "dryAllowedLength", 2, { ...size, min: 1 }),
    dryPenaltyLastN: lastN(options, "dryPenaltyLastN"),
    dryBreakers: new Set(), // the engine, which has the tokenizer, makes ids of `drySequenceBreakers`
    noRepeatNgramSize: whole(options, "noRepeatNgramSize", 0, size),
  };
}

/** How many of the last tokens count: -1 is all of them. */
function lastN(options: GenerateOptions, name: "penaltyLastN" | "dryPenaltyLastN"): number {
  const count = whole(options, name, -1, { min: -1, max: Number.MAX_SAFE_INTEGER });
  return count === -1 ? Infinity : count;
}
