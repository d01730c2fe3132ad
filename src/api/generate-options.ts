/**
 * What a caller may ask of one answer, checked once: each option is honoured or refused by its name.
 *
 * Pure: the same options, seed and vocabulary give the same request.
 */
import type { AnswerSettings } from "../engine/engine";
import { WordloomError } from "../errors";
import { flag, given, invalid, real, refuseUnknown, whole } from "./option-checks";

/**
 * Options of one `generate`. Left out, undefined and null all mean "not set"; an unknown name or a value out of range is
 * refused with option-invalid.
 *
 * They act in this order: logitBias, the penalties, temperature, topK, topP, minP, and then one draw. Each cut leaves at
 * least one token; without a cut the whole vocabulary takes part.
 */
export interface GenerateOptions {
  /** Tokens to write at most, 1 or more; default 256. The context may end the answer sooner. */
  maxNewTokens?: number;
  /**
   * Logits are divided by it before the draw; 0 or more. 0 always takes the likeliest token (of equal ones the lowest id).
   * Default: 0; but 1 where topK, topP, minP or seed is given, since those ask for a draw. Below 1e-6 it is taken as 0:
   * in float32 the two are the same.
   */
  temperature?: number;
  /** Only the k most likely take part. 0, or the vocabulary's size or more, is no cut-off. */
  topK?: number;
  /** Only the fewest of the most likely that together have at least this probability, in (0, 1]. 1 is no cut-off. */
  topP?: number;
  /** Only those with at least this fraction of the most likely one's probability, in [0, 1]. 0 is no cut-off. */
  minP?: number;
  /**
   * Above 0; 1 (default) is none. For each token of prompt and answer, once: a positive logit is divided by it, a
   * negative one multiplied (as in Hugging Face transformers).
   */
  repetitionPenalty?: number;
  /** Taken from a logit for each time the answer has the token; default 0, negative values favour repeating. */
  frequencyPenalty?: number;
  /** Taken from a logit once if the answer has the token at all; default 0. */
  presencePenalty?: number;
  /** Token id → what is added to its logit, a finite number; -Infinity bans it. Not all tokens may be banned. */
  logitBias?: Readonly<Record<number, number>> | ReadonlyMap<number, number>;
  /** A whole number from 0 to 2^53 - 1; default: a random one, which `end.seed` tells. */
  seed?: number;
  /**
   * Strings that end the answer, none of them empty; neither they nor any part of them is emitted. Their tokens count in
   * `usage`, and leave the KV cache.
   */
  stop?: string | readonly string[];
  /** The n likeliest tokens, by the model itself, beside each token; 0 to 20, default 0. */
  topLogprobs?: number;
  /**
   * Go on after the model's end tokens; default false. These are `eos_token_id` of generation_config.json where it lists
   * any, else of config.json.
   */
  ignoreEos?: boolean;
  /** Do not compute again what the KV cache already holds of this prompt's beginning; default true. */
  reusePrefix?: boolean;
  /** Stops the answer, also while it waits for its turn: reading it rejects with `signal.reason`. */
  signal?: AbortSignal;
}

const DEFAULT_MAX_NEW_TOKENS = 256;
const MAX_TOP_LOGPROBS = 20;
/** Colder than this, float32 cannot tell a draw from the most likely token (and 1 / temperature overflows at 1e-38). */
const LOWEST_TEMPERATURE = 1e-6;

/** Giving one of these asks for a draw, so that `temperature` is 1 unless said otherwise. */
const OPTIONS_OF_THE_DRAW = ["topK", "topP", "minP", "seed"] as const;

const KNOWN: Record<keyof GenerateOptions, true> = {
  maxNewTokens: true,
  temperature: true,
  topK: true,
  topP: true,
  minP: true,
  repetitionPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  logitBias: true,
  seed: true,
  stop: true,
  topLogprobs: true,
  ignoreEos: true,
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
  const wantsDraw = OPTIONS_OF_THE_DRAW.some((name) => given(options[name]));
  const temperature = real(options, "temperature", wantsDraw ? 1 : 0, { min: 0 });
  const topK = whole(options, "topK", 0, { min: 0, max: Number.MAX_SAFE_INTEGER });
  const seed = given(options.seed) ? whole(options, "seed", 0, { min: 0, max: Number.MAX_SAFE_INTEGER }) : drawSeed();
  if (given(options.signal) && !(options.signal instanceof AbortSignal)) {
    throw invalid("signal", options.signal, "an AbortSignal");
  }
  return {
    sampling: {
      temperature: temperature < LOWEST_TEMPERATURE ? 0 : temperature,
      topK: topK >= vocabSize ? 0 : topK,
      topP: real(options, "topP", 1, { above: 0, max: 1 }),
      minP: real(options, "minP", 0, { min: 0, max: 1 }),
      repetitionPenalty: real(options, "repetitionPenalty", 1, { above: 0 }),
      frequencyPenalty: real(options, "frequencyPenalty", 0, {}),
      presencePenalty: real(options, "presencePenalty", 0, {}),
      logitBias: resolveLogitBias(options.logitBias, vocabSize),
      seed: [seed >>> 0, Math.floor(seed / 2 ** 32)],
      topLogprobs: whole(options, "topLogprobs", 0, { min: 0, max: MAX_TOP_LOGPROBS }),
    },
    seed,
    maxNewTokens: whole(options, "maxNewTokens", DEFAULT_MAX_NEW_TOKENS, { min: 1, max: Number.MAX_SAFE_INTEGER }),
    stop: resolveStop(options.stop),
    ignoreEos: flag(options, "ignoreEos", false),
    reusePrefix: flag(options, "reusePrefix", true),
  };
}

/** 53 random bits: every seed a caller can write down. */
export function randomSeed(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high >>> 11) * 2 ** 32 + low;
}

function resolveStop(stop: GenerateOptions["stop"]): readonly string[] {
  if (!given(stop)) return [];
  const strings: readonly unknown[] = typeof stop === "string" ? [stop] : Array.isArray(stop) ? stop : [undefined];
  return strings.map((one) => {
    if (typeof one !== "string" || one === "") throw invalid("stop", one ?? stop, "a string, or strings, not empty");
    return one;
  });
}

function resolveLogitBias(bias: GenerateOptions["logitBias"], vocabSize: number): ReadonlyMap<number, number> {
  if (!given(bias)) return new Map();
  if (typeof bias !== "object" || Array.isArray(bias))
    throw invalid("logitBias", bias, "an object or Map from token id to number");
  const entries: Iterable<[unknown, unknown]> = bias instanceof Map ? bias.entries() : Object.entries(bias);
  const resolved = new Map<number, number>();
  let banned = 0;
  for (const [key, value] of entries) {
    const id = typeof key === "string" && key.trim() !== "" ? Number(key) : key;
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= vocabSize) {
      throw invalid("logitBias", key, `keyed by token ids from 0 to ${vocabSize - 1}`);
    }
    if (typeof value !== "number" || Number.isNaN(value) || value === Infinity) {
      throw invalid(`logitBias[${id}]`, value, "a finite number, or -Infinity to ban the token");
    }
    if (value === -Infinity) banned++;
    resolved.set(id, value);
  }
  if (banned >= vocabSize) {
    throw new WordloomError("option-invalid", `logitBias bans all ${vocabSize} tokens; at least one must be left`);
  }
  return resolved;
}
