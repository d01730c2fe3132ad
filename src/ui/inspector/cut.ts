/**
 * What the sampler did with the likeliest tokens: how the temperature changed them, which of them it cut off, and by what.
 *
 * Only the likeliest tokens' log-probabilities are known here, not the whole vocabulary's. What follows from them is told;
 * what the rest might change is told as an interval, or as not known. Order and meaning of the cuts: GenerateOptions.
 */

/** What was asked of the sampler; undefined: not set. As in GenerateOptions. */
export interface SamplerSettings {
  temperature?: number | undefined;
  topNSigma?: number | undefined;
  topK?: number | undefined;
  typicalP?: number | undefined;
  topP?: number | undefined;
  minP?: number | undefined;
  xtcProbability?: number | undefined;
  repetitionPenalty?: number | undefined;
  frequencyPenalty?: number | undefined;
  presencePenalty?: number | undefined;
  dryMultiplier?: number | undefined;
  noRepeatNgramSize?: number | undefined;
  seed?: number | undefined;
}

export type CutName = "temperature" | "topK" | "typicalP" | "topP" | "minP";
/** What acted, or may have acted, on the tokens and cannot be told from the likeliest ones alone. */
export type Untold = "penalties" | "topNSigma" | "typicalP" | "xtc";

/** Both ends included; equal where the number is exact. */
export interface Interval {
  low: number;
  high: number;
}

export interface CutAlternative {
  id: number;
  text: string;
  /** By the model itself. */
  base: number;
  /** What took it out; undefined: it stayed. */
  cutBy: CutName | undefined;
  /** Whether it stayed depends on tokens that are not known here. */
  uncertain: boolean;
  /** After temperature and cuts; 0 of what was cut off. */
  final: Interval;
}

export interface Cut {
  /** Likeliest first. */
  alternatives: CutAlternative[];
  /** Probability, by the model itself, of all tokens that are not among them. */
  restBase: number;
  /** The same after temperature and cuts. */
  restFinal: Interval;
  /** Of the draw; 0: always the likeliest. */
  temperature: number;
  untold: Untold[];
}

export interface KnownToken {
  id: number;
  text: string;
  /** Natural log of the model's own probability. */
  logprob: number;
}

interface Weighed extends KnownToken {
  weight: number;
  cutBy: CutName | undefined;
  uncertain: boolean;
}

/** As `generate` has it: a cut or a seed asks for a draw at temperature 1. */
export function drawTemperature(settings: SamplerSettings): number {
  const { temperature, topNSigma, topK, typicalP, topP, minP, xtcProbability, seed } = settings;
  const wantsDraw = [topNSigma, topK, typicalP, topP, minP, xtcProbability, seed].some((one) => one !== undefined);
  return temperature ?? (wantsDraw ? 1 : 0);
}

/**
 * @param top the likeliest tokens, likeliest first, by the model itself
 * @param vocabSize how many tokens there are in all
 */
export function cutOf(top: readonly KnownToken[], settings: SamplerSettings, vocabSize: number): Cut {
  const temperature = drawTemperature(settings);
  const restBase = Math.max(0, 1 - top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0));
  const untold = untoldOf(settings);
  const highest = top[0]?.logprob ?? 0;
  const tokens: Weighed[] = top.map((one, index) => ({
    ...one,
    weight: temperature > 0 ? Math.exp((one.logprob - highest) / temperature) : index === 0 ? 1 : 0,
    cutBy: temperature > 0 || index === 0 ? undefined : "temperature",
    uncertain: false,
  }));
  const restCount = Math.max(0, vocabSize - top.length);
  let rest: Interval = { low: 0, high: 0 };
  if (temperature > 0) {
    if (restCount > 0 && restBase > 0) {
      rest = weightOfRest(restBase, restCount, highest, top.at(-1)?.logprob ?? 0, 1 / temperature);
    }
    const { topK = 0, topP = 1, minP = 0, typicalP = 1 } = settings;
    if (topK > 0) rest = cutTopK(tokens, rest, topK, vocabSize);
    if (typicalP < 1) {
      if (rest.high === 0) cutTypical(tokens, typicalP);
      else {
        untold.push("typicalP");
        for (const token of tokens) token.uncertain = token.cutBy === undefined;
        rest = { low: 0, high: rest.high };
      }
    }
    if (topP < 1) rest = cutTopP(tokens, rest, topP);
    if (minP > 0) rest = cutMinP(tokens, rest, minP);
  }
  return { ...shares(tokens, rest), restBase, temperature, untold };
}

function untoldOf(settings: SamplerSettings): Untold[] {
  const { repetitionPenalty = 1, frequencyPenalty = 0, presencePenalty = 0, dryMultiplier = 0 } = settings;
  const penalized = frequencyPenalty !== 0 || presencePenalty !== 0 || dryMultiplier > 0 || repetitionPenalty !== 1;
  return [
    ...(penalized || (settings.noRepeatNgramSize ?? 0) > 0 ? (["penalties"] as const) : []),
    ...((settings.topNSigma ?? 0) > 0 ? (["topNSigma"] as const) : []),
    ...((settings.xtcProbability ?? 0) > 0 ? (["xtc"] as const) : []),
  ];
}

/**
 * The least and the most that the unknown tokens can weigh: they share `mass`, and none is likelier than the last known
 * one. p^e summed over them is extreme where they are all alike, and where as few as possible hold it all.
 */
function weightOfRest(mass: number, count: number, highest: number, last: number, exponent: number): Interval {
  const weigh = (probability: number) => Math.exp((Math.log(probability) - highest) * exponent);
  const limit = Math.exp(last);
  const even = count * weigh(mass / count);
  const steep = (mass / limit) * weigh(limit);
  return { low: Math.min(even, steep), high: Math.max(even, steep) };
}

const staying = (tokens: readonly Weighed[]) => tokens.filter(({ cutBy }) => cutBy === undefined);
const weightOf = (tokens: readonly Weighed[]) => tokens.reduce((sum, { weight }) => sum + weight, 0);
const certain = (tokens: readonly Weighed[]) => weightOf(staying(tokens).filter(({ uncertain }) => !uncertain));

function cutTopK(tokens: readonly Weighed[], rest: Interval, k: number, vocabSize: number): Interval {
  for (const token of tokens.slice(k)) token.cutBy = "topK";
  if (k <= tokens.length) return { low: 0, high: 0 };
  if (k >= vocabSize) return rest;
  const last = tokens.at(-1)?.weight ?? 0;
  return { low: 0, high: Math.min(rest.high, (k - tokens.length) * last) };
}

/** Of tokens that are all known. */
function cutTypical(tokens: readonly Weighed[], p: number): void {
  const left = staying(tokens);
  const total = weightOf(left);
  const mean = left.reduce((sum, { weight }) => sum + (weight / total) * Math.log(weight), 0);
  const distanceOf = ({ weight }: Weighed) => Math.abs(Math.log(weight) - mean);
  const nearest = left.toSorted((a, b) => distanceOf(a) - distanceOf(b));
  let sum = 0;
  const last = nearest.find(({ weight }) => (sum += weight) >= p * total) ?? nearest.at(-1);
  if (last === undefined) return;
  for (const token of left) if (distanceOf(token) > distanceOf(last)) token.cutBy = "typicalP";
}

function cutTopP(tokens: readonly Weighed[], rest: Interval, p: number): Interval {
  const left = staying(tokens);
  const low = certain(tokens) + rest.low;
  const high = weightOf(left) + rest.high;
  let before = 0;
  for (const token of left) {
    if (before > 0 && before >= p * high) token.cutBy = "topP";
    else if (before >= p * low && before > 0) token.uncertain = true;
    before += token.weight;
  }
  if (before >= p * high) return { low: 0, high: 0 };
  return { low: before >= p * low ? 0 : Math.max(0, p * low - before), high: rest.high };
}

function cutMinP(tokens: readonly Weighed[], rest: Interval, minP: number): Interval {
  const least = minP * (staying(tokens)[0]?.weight ?? 0);
  for (const token of staying(tokens)) if (token.weight < least) token.cutBy = "minP";
  return (tokens.at(-1)?.weight ?? 0) < least ? { low: 0, high: 0 } : { low: 0, high: rest.high };
}

/** Weights to probabilities among what stayed. */
function shares(tokens: readonly Weighed[], rest: Interval): Pick<Cut, "alternatives" | "restFinal"> {
  const least = certain(tokens) + rest.low;
  const most = weightOf(staying(tokens)) + rest.high;
  const alternatives = tokens.map(({ id, text, logprob, weight, cutBy, uncertain }): CutAlternative => {
    const own = uncertain ? weight : 0; // with it, the least sum that it can be a part of
    const final = { low: uncertain ? 0 : weight / most, high: Math.min(1, weight / (least + own)) };
    const base = Math.exp(logprob);
    return { id, text, base, cutBy, uncertain: uncertain && cutBy === undefined, final: cutBy ? NONE : final };
  });
  const known = most - rest.high;
  return {
    alternatives,
    restFinal:
      rest.high === 0 ? NONE : { low: rest.low / (known + rest.low), high: rest.high / (least - rest.low + rest.high) },
  };
}

const NONE: Interval = { low: 0, high: 0 };
