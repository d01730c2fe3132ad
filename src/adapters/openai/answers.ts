/** The choices of one request, those of one prompt together where that can be, and what both endpoints have in common. */
import type { GenerateOptions } from "../../api/generate-options";
import type { ModelInput } from "../../api/model-input";
import type { GenerationEnd } from "../../engine/engine";
import type { ChatMessage } from "../../tokenizer/tokenizer";
import { roomOf, type AdaptedChunk, type AdaptedGenerator } from "../generator";
import { ApiError } from "./api-error";
import type { RequestFields } from "./request-fields";

/** One of the answers that a request asks for; its place in the list is its index. */
export interface ChoicePlan {
  input: ModelInput;
  options: GenerateOptions;
  /** Without a limit of the request's own: as long as the context has room. */
  isUnlimited: boolean;
  /** Its prompt was counted with an earlier choice. */
  repeatsPrompt: boolean;
}

export type ChoiceEvent = { index: number; chunk: AdaptedChunk } | { index: number; end: GenerationEnd };

/** What is told about every answer to one request. */
export interface AnswerHead {
  id: string;
  created: number;
  model: string;
  system_fingerprint: string;
}

export interface StreamPlan {
  stream: boolean;
  includeUsage: boolean;
}

const MAX_CHOICES = 128;

/** The sampling of both endpoints. OpenAI's temperature is 1 unless said otherwise. */
export function samplingOf(fields: RequestFields): GenerateOptions {
  const set = <K extends keyof GenerateOptions>(name: K, value: GenerateOptions[K] | undefined) =>
    value === undefined ? {} : { [name]: value };
  return {
    temperature: fields.number("temperature") ?? 1,
    ...set("topP", fields.number("top_p")),
    ...set("frequencyPenalty", fields.number("frequency_penalty")),
    ...set("presencePenalty", fields.number("presence_penalty")),
    ...set("logitBias", fields.record("logit_bias") as GenerateOptions["logitBias"]), // `generate` checks what is in it
    ...set("seed", fields.whole("seed", -(2 ** 53), 2 ** 53 - 1)),
    ...set("stop", stopOf(fields)),
    // Not OpenAI's; the names are those of vLLM and llama.cpp's server.
    ...set("topK", fields.number("top_k")),
    ...set("minP", fields.number("min_p")),
    ...set("repetitionPenalty", fields.number("repetition_penalty")),
  };
}

function stopOf(fields: RequestFields): string[] | undefined {
  const stop = fields.take("stop");
  if (stop === undefined) return undefined;
  const strings = Array.isArray(stop) ? (stop as unknown[]) : [stop];
  if (strings.every((one) => typeof one === "string")) return strings;
  throw new ApiError(400, "stop must be a string, or a list of them", null, "stop");
}

export function streamOf(fields: RequestFields): StreamPlan {
  const stream = fields.flag("stream");
  const options = fields.record("stream_options");
  if (options && !stream) {
    throw new ApiError(400, "stream_options is only allowed with stream", null, "stream_options");
  }
  for (const [name, value] of Object.entries(options ?? {})) {
    const known = name === "include_usage" || name === "include_obfuscation";
    const fits = typeof value === "boolean" && !(name === "include_obfuscation" && value);
    if (!known || !fits) {
      throw new ApiError(400, `stream_options.${name} is not supported here`, "unsupported", `stream_options.${name}`);
    }
  }
  return { stream, includeUsage: options?.["include_usage"] === true };
}

/**
 * `n` answers to each input. Answer i is drawn with seed + i, and is what a request for it alone would have given.
 *
 * @param maxTokens undefined: as long as the context has room
 */
export function choicesOf(
  inputs: readonly ModelInput[],
  options: GenerateOptions,
  fields: RequestFields,
  generator: AdaptedGenerator,
  maxTokens: number | undefined,
): ChoicePlan[] {
  const n = fields.whole("n", 1, MAX_CHOICES) ?? 1;
  const maxNewTokens = maxTokens ?? roomOf(generator);
  const { seed } = options;
  return inputs.flatMap((input) =>
    Array.from({ length: n }, (_, at) => ({
      input,
      isUnlimited: maxTokens === undefined,
      options: { ...options, maxNewTokens, ...(seed === undefined ? {} : { seed: seedOf(seed, at) }) },
      repeatsPrompt: at > 0,
    })),
  );
}

/** OpenAI's seeds may be negative; Wordloom's are 0 to 2^53 - 1. */
function seedOf(seed: number, at: number): number {
  const shifted = seed + at;
  return shifted < 0 ? shifted + 2 ** 53 : shifted % 2 ** 53;
}

/** Leaving the loop stops what is being written. */
export async function* writeChoices(
  generator: AdaptedGenerator,
  choices: readonly ChoicePlan[],
  signal: AbortSignal,
): AsyncGenerator<ChoiceEvent, undefined> {
  let first = 0;
  while (first < choices.length) {
    const others = choices.slice(first + 1).findIndex(({ repeatsPrompt }) => !repeatsPrompt);
    const ofPrompt = choices.slice(first, others === -1 ? undefined : first + 1 + others);
    const together = await togetherOf(generator, ofPrompt);
    if (together) yield* writeTogether(generator, together, first, signal);
    else yield* writeAlone(generator, ofPrompt, first, signal);
    first += ofPrompt.length;
  }
}

async function* writeAlone(
  generator: AdaptedGenerator,
  choices: readonly ChoicePlan[],
  first: number,
  signal: AbortSignal,
): AsyncGenerator<ChoiceEvent, undefined> {
  for (const [at, { input, options }] of choices.entries()) {
    const run = generator.generate(input, { ...options, signal });
    for await (const chunk of run) yield { index: first + at, chunk };
    yield { index: first + at, end: await run.end };
  }
}

async function* writeTogether(
  generator: AdaptedGenerator,
  { input, options }: Pick<ChoicePlan, "input" | "options">,
  first: number,
  signal: AbortSignal,
): AsyncGenerator<ChoiceEvent, undefined> {
  const run = generator.generate(input, { ...options, signal });
  for await (const chunk of run) yield { index: first + (chunk.index ?? 0), chunk };
  const end = await run.end;
  for (const [at, { finishReason, completionTokens, seed }] of (end.answers ?? []).entries()) {
    yield { index: first + at, end: { ...end, finishReason, seed, usage: { ...end.usage, completionTokens } } };
  }
}

/** Answers that `generate` writes at once. */
const MOST_TOGETHER = 16;

/**
 * All answers to one prompt as one `generate`; undefined where they cannot be: too many of them, more than the context
 * holds beside each other, a form to keep to, another's server. An answer without a limit gets its share of the context.
 */
async function togetherOf(
  generator: AdaptedGenerator,
  choices: readonly ChoicePlan[],
): Promise<Pick<ChoicePlan, "input" | "options"> | undefined> {
  const [first] = choices;
  const n = choices.length;
  const { backend, contextLength } = generator.info;
  if (!first || n === 1 || n > MOST_TOGETHER || backend === "remote" || contextLength === undefined) return undefined;
  const { input, options, isUnlimited } = first;
  const { constraint, seed = 0, maxNewTokens = 1 } = options;
  if (constraint || seed > Number.MAX_SAFE_INTEGER - n) return undefined;
  const room = contextLength - (await promptLength(generator, input, options));
  if (room < 0) return undefined; // `generate` refuses the prompt
  const share = Math.floor(room / n) + 1;
  const wanted = Math.min(maxNewTokens, room + 1);
  if (!isUnlimited && wanted > share) return undefined;
  return { input, options: { ...options, n, maxNewTokens: Math.min(wanted, share) } };
}

async function promptLength(
  generator: AdaptedGenerator,
  input: ModelInput,
  { tools, templateOptions }: GenerateOptions,
): Promise<number> {
  if (typeof input === "string") return (await generator.tokenize(input)).length;
  if (input instanceof Uint32Array || !isMessages(input)) return input.length;
  const chat = { ...(tools && { tools }), ...(templateOptions && { templateOptions }) };
  return (await generator.tokenize(input, chat)).length;
}

const isMessages = (list: readonly number[] | readonly ChatMessage[]): list is readonly ChatMessage[] =>
  typeof list[0] === "object";

export class UsageCount {
  #prompt = 0;
  #cached = 0;
  #completion = 0;

  add({ usage }: GenerationEnd, repeatsPrompt: boolean): void {
    if (!repeatsPrompt) {
      this.#prompt += usage.promptTokens;
      this.#cached += usage.cachedTokens;
    }
    this.#completion += usage.completionTokens;
  }

  get usage() {
    return {
      prompt_tokens: this.#prompt,
      completion_tokens: this.#completion,
      total_tokens: this.#prompt + this.#completion,
      prompt_tokens_details: { cached_tokens: this.#cached },
    };
  }
}

export function finishReasonOf({ finishReason }: GenerationEnd): "stop" | "length" {
  return finishReason === "stop" ? "stop" : "length";
}
