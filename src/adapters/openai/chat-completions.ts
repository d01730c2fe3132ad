/** POST /v1/chat/completions */
import type { GenerateOptions } from "../../api/generate-options";
import type { AnswerPart, ToolCallPart } from "../../chat/answer-parts";
import { textOf } from "../../chat/assistant-message";
import type { GenerationEnd } from "../../engine/engine";
import { partsOf, type AdaptedGenerator, type AdaptedToken } from "../generator";
import {
  choicesOf,
  finishReasonOf,
  samplingOf,
  streamOf,
  UsageCount,
  writeChoices,
  type AnswerHead,
  type ChoiceEvent,
  type ChoicePlan,
  type StreamPlan,
} from "./answers";
import { ApiError } from "./api-error";
import { chatMessages, toolsOf } from "./chat-messages";
import { callConstraint, readAsCalls } from "./forced-call";
import type { RequestFields } from "./request-fields";
import { structureOf } from "./structured";

export interface ChatPlan extends StreamPlan {
  choices: ChoicePlan[];
  wantsLogprobs: boolean;
  /** The answers are calls, whatever the model would rather write. */
  forcesCall: boolean;
}

const MAX_TOP_LOGPROBS = 20;

/** @throws ApiError 400 with the name of a field that is unknown, wrong or not supported */
export function chatPlan(fields: RequestFields, generator: AdaptedGenerator): ChatPlan {
  const messages = chatMessages(fields.take("messages"));
  const { tools, forced } = toolsOf(fields);
  const wantsLogprobs = fields.flag("logprobs");
  const topLogprobs = fields.whole("top_logprobs", 0, MAX_TOP_LOGPROBS);
  if (topLogprobs !== undefined && !wantsLogprobs) {
    throw new ApiError(400, "top_logprobs needs logprobs: true", null, "top_logprobs");
  }
  const templateOptions = fields.record("chat_template_kwargs"); // vLLM's name, and llama.cpp's
  const options: GenerateOptions = {
    ...samplingOf(fields),
    ...structureOf(fields, tools.length > 0),
    ...(forced && { constraint: callConstraint(forced) }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(topLogprobs === undefined ? {} : { topLogprobs }),
    ...(templateOptions === undefined ? {} : { templateOptions }),
  };
  const maxTokens = maxTokensOf(fields);
  const plan = {
    ...streamOf(fields),
    choices: choicesOf([messages], options, fields, generator, maxTokens),
    wantsLogprobs,
    forcesCall: forced !== undefined,
  };
  fields.allow("modalities", ["text"]);
  fields.allow("store", false);
  fields.allow("service_tier", "auto", "default");
  fields.ignore("user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention");
  fields.refuseRest();
  return plan;
}

function maxTokensOf(fields: RequestFields): number | undefined {
  const [older, newer] = ["max_tokens", "max_completion_tokens"].map((name) =>
    fields.whole(name, 1, Number.MAX_SAFE_INTEGER),
  );
  if (older === undefined || newer === undefined || older === newer) return newer ?? older;
  throw new ApiError(400, "max_tokens and max_completion_tokens differ; give one of them", null, "max_tokens");
}

function eventsOf(generator: AdaptedGenerator, { choices, forcesCall }: ChatPlan, signal: AbortSignal) {
  const events = writeChoices(generator, choices, signal);
  return forcesCall ? readAsCalls(events) : events;
}

/** The whole answer at once. */
export async function chatCompletion(
  generator: AdaptedGenerator,
  plan: ChatPlan,
  head: AnswerHead,
  signal: AbortSignal,
): Promise<object> {
  const { choices, wantsLogprobs } = plan;
  const count = new UsageCount();
  const written = choices.map(() => ({ parts: [] as AnswerPart[], tokens: [] as AdaptedToken[] }));
  const ends = new Map<number, GenerationEnd>();
  for await (const event of eventsOf(generator, plan, signal)) {
    if ("end" in event) {
      ends.set(event.index, event.end);
      count.add(event.end, choices[event.index]?.repeatsPrompt ?? false);
    } else {
      written[event.index]?.parts.push(...partsOf(event.chunk));
      written[event.index]?.tokens.push(...event.chunk.tokens);
    }
  }
  return {
    ...head,
    object: "chat.completion",
    choices: written.map(({ parts, tokens }, index) => {
      const calls = parts.filter(isCall);
      const end = ends.get(index);
      return {
        index,
        message: {
          role: "assistant",
          content: contentOf(parts),
          refusal: null,
          ...(textOf(parts, "reasoning") === "" ? {} : { reasoning_content: textOf(parts, "reasoning") }),
          ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
        },
        logprobs: wantsLogprobs ? { content: tokens.map(logprobOf), refusal: null } : null,
        finish_reason: end && reasonOf(end, calls.length > 0),
      };
    }),
    usage: count.usage,
  };
}

/** Null where there are calls and nothing else. */
function contentOf(parts: readonly AnswerPart[]): string | null {
  const content = textOf(parts, "text");
  return content === "" && parts.some(isCall) ? null : content;
}

/** The answer as chunk objects: a role, then what is written, then the reason it ended, then the usage. */
export async function* chatChunks(
  generator: AdaptedGenerator,
  plan: ChatPlan,
  head: AnswerHead,
  signal: AbortSignal,
): AsyncGenerator<object, undefined> {
  const { choices, wantsLogprobs, includeUsage } = plan;
  const count = new UsageCount();
  const calls = choices.map(() => 0);
  const begun = new Set<number>();
  const chunk = (index: number, delta: object, finish_reason: string | null, tokens?: readonly AdaptedToken[]) => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [
      {
        index,
        delta,
        logprobs: wantsLogprobs && tokens?.length ? { content: tokens.map(logprobOf), refusal: null } : null,
        finish_reason,
      },
    ],
    ...(includeUsage ? { usage: null } : {}),
  });
  for await (const event of eventsOf(generator, plan, signal)) {
    const { index } = event;
    if (!begun.has(index)) {
      begun.add(index);
      yield chunk(index, { role: "assistant", content: "", refusal: null }, null);
    }
    if ("end" in event) {
      count.add(event.end, choices[index]?.repeatsPrompt ?? false);
      yield chunk(index, {}, reasonOf(event.end, (calls[index] ?? 0) > 0));
    } else {
      yield* deltasOf(event, calls).map(({ delta, tokens }) => chunk(index, delta, null, tokens));
    }
  }
  if (includeUsage) yield { ...head, object: "chat.completion.chunk", choices: [], usage: count.usage };
}

/** One for each part; the tokens go with the first. @param calls how many each choice has made so far */
function deltasOf(
  { index, chunk }: Extract<ChoiceEvent, { chunk: unknown }>,
  calls: number[],
): { delta: object; tokens: readonly AdaptedToken[] }[] {
  const deltas = partsOf(chunk).map((part): object => {
    if (part.type === "text") return { content: part.text };
    if (part.type === "reasoning") return { reasoning_content: part.text };
    const at = calls[index] ?? 0;
    calls[index] = at + 1;
    return { tool_calls: [{ index: at, ...callOf(part) }] };
  });
  if (deltas.length === 0) deltas.push({});
  return deltas.map((delta, at) => ({ delta, tokens: at === 0 ? chunk.tokens : [] }));
}

function isCall(part: AnswerPart): part is ToolCallPart {
  return part.type === "tool-call";
}

function callOf({ id, name, arguments: given }: ToolCallPart) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
}

function reasonOf(end: GenerationEnd, hasCalls: boolean): string {
  return hasCalls && end.finishReason === "stop" ? "tool_calls" : finishReasonOf(end);
}

function logprobOf({ text, bytes, logprob, top = [] }: AdaptedToken) {
  const decoded = text === "" && bytes ? new TextDecoder().decode(bytes) : text;
  return {
    token: decoded,
    logprob,
    bytes: bytes && Array.from(bytes),
    top_logprobs: top.map((one) => ({
      token: one.text,
      logprob: one.logprob,
      // A piece of a character has no text of its own, and its bytes are not told.
      bytes: one.text.includes("\ufffd") ? null : Array.from(new TextEncoder().encode(one.text)),
    })),
  };
}
