/** POST /v1/completions */
import type { GenerateOptions } from "../../api/generate-options";
import type { ModelInput } from "../../api/model-input";
import type { GenerationEnd } from "../../engine/engine";
import type { AdaptedGenerator, AdaptedToken } from "../generator";
import {
  choicesOf,
  finishReasonOf,
  samplingOf,
  streamOf,
  UsageCount,
  writeChoices,
  type AnswerHead,
  type ChoicePlan,
  type StreamPlan,
} from "./answers";
import { ApiError } from "./api-error";
import type { RequestFields } from "./request-fields";

export interface CompletionPlan extends StreamPlan {
  choices: ChoicePlan[];
  wantsLogprobs: boolean;
}

/** OpenAI's own. */
const DEFAULT_MAX_TOKENS = 16;
const MAX_LOGPROBS = 20;

/** @throws ApiError 400 with the name of a field that is unknown, wrong or not supported */
export function completionPlan(fields: RequestFields, generator: AdaptedGenerator): CompletionPlan {
  const inputs = promptsOf(fields.take("prompt"));
  const logprobs = fields.whole("logprobs", 0, MAX_LOGPROBS);
  const options: GenerateOptions = {
    ...samplingOf(fields),
    ...(logprobs === undefined ? {} : { topLogprobs: logprobs }),
  };
  const maxTokens = fields.whole("max_tokens", 1, Number.MAX_SAFE_INTEGER) ?? DEFAULT_MAX_TOKENS;
  const plan = {
    ...streamOf(fields),
    choices: choicesOf(inputs, options, fields, generator, maxTokens),
    wantsLogprobs: logprobs !== undefined,
  };
  fields.allow("echo", false);
  fields.allow("best_of", 1);
  fields.allow("suffix", "");
  fields.ignore("user");
  fields.refuseRest();
  return plan;
}

function promptsOf(prompt: unknown): ModelInput[] {
  if (typeof prompt === "string") return [prompt];
  if (Array.isArray(prompt) && prompt.length > 0) {
    const items = prompt as unknown[];
    if (items.every((item) => typeof item === "number")) return [items];
    if (items.every((item) => typeof item === "string")) return items;
    if (items.every(isIds)) return items;
  }
  throw new ApiError(400, "prompt must be a string, token ids, or a list of those", null, "prompt");
}

function isIds(item: unknown): item is number[] {
  return Array.isArray(item) && item.every((id) => typeof id === "number");
}

/** The whole answer at once. */
export async function completion(
  generator: AdaptedGenerator,
  { choices, wantsLogprobs }: CompletionPlan,
  head: AnswerHead,
  signal: AbortSignal,
): Promise<object> {
  const count = new UsageCount();
  const written = choices.map(() => ({
    text: "",
    tokens: [] as AdaptedToken[],
    end: undefined as GenerationEnd | undefined,
  }));
  for await (const event of writeChoices(generator, choices, signal)) {
    const choice = written[event.index];
    if (!choice) continue; // an event's index is that of a choice
    if ("end" in event) {
      choice.end = event.end;
      count.add(event.end, choices[event.index]?.repeatsPrompt ?? false);
    } else {
      choice.text += event.chunk.text;
      choice.tokens.push(...event.chunk.tokens);
    }
  }
  return {
    ...head,
    object: "text_completion",
    choices: written.map(({ text, tokens, end }, index) => ({
      index,
      text,
      logprobs: wantsLogprobs ? logprobsOf(tokens, 0) : null,
      finish_reason: end && finishReasonOf(end),
    })),
    usage: count.usage,
  };
}

/** The answer as chunk objects. */
export async function* completionChunks(
  generator: AdaptedGenerator,
  { choices, wantsLogprobs, includeUsage }: CompletionPlan,
  head: AnswerHead,
  signal: AbortSignal,
): AsyncGenerator<object, undefined> {
  const count = new UsageCount();
  const lengths = choices.map(() => 0);
  for await (const event of writeChoices(generator, choices, signal)) {
    const { index } = event;
    const tokens = "chunk" in event ? event.chunk.tokens : [];
    const choice = {
      index,
      text: "chunk" in event ? event.chunk.text : "",
      logprobs: wantsLogprobs && tokens.length > 0 ? logprobsOf(tokens, lengths[index] ?? 0) : null,
      finish_reason: "end" in event ? finishReasonOf(event.end) : null,
    };
    lengths[index] = tokens.reduce((length, { text }) => length + text.length, lengths[index] ?? 0);
    if ("end" in event) count.add(event.end, choices[index]?.repeatsPrompt ?? false);
    yield { ...head, object: "text_completion", choices: [choice], ...(includeUsage ? { usage: null } : {}) };
  }
  if (includeUsage) yield { ...head, object: "text_completion", choices: [], usage: count.usage };
}

/** @param start where the first token begins in the answer's text */
function logprobsOf(tokens: readonly AdaptedToken[], start: number) {
  let at = start;
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top = [] }) => Object.fromEntries(top.map(({ text, logprob }) => [text, logprob]))),
    text_offset: tokens.map(({ text }) => {
      const offset = at;
      at += text.length;
      return offset;
    }),
  };
}
