/** The choices of one request, written one after the other, and what both endpoints have in common. */
import type { GenerateOptions } from "../../api/generate-options";
import type { ModelInput } from "../../api/model-input";
import type { GenerationEnd } from "../../engine/engine";
import { roomOf, type AdaptedChunk, type AdaptedGenerator } from "../generator";
import { ApiError } from "./api-error";
import type { RequestFields } from "./request-fields";

/** One of the answers that a request asks for; its place in the list is its index. */
export interface ChoicePlan {
  input: ModelInput;
  options: GenerateOptions;
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

/** Leaving the loop stops the answer that is being written. */
export async function* writeChoices(
  generator: AdaptedGenerator,
  choices: readonly ChoicePlan[],
  signal: AbortSignal,
): AsyncGenerator<ChoiceEvent, undefined> {
  for (const [index, { input, options }] of choices.entries()) {
    const run = generator.generate(input, { ...options, signal });
    for await (const chunk of run) yield { index, chunk };
    yield { index, end: await run.end };
  }
}

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
