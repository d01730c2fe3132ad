/**
 * The events of a streamed answer → chunks, and how it ended.
 *
 * Sources: OpenAI's API reference (chunk objects of completions and chat); llama.cpp, tools/server/README.md; vLLM,
 * vllm/entrypoints/openai (token_ids); Ollama, openai/openai.go (`reasoning`). Both shapes of log-probabilities are read
 * wherever they come: llama.cpp's server gives those of chat for completions, too.
 */
import { WordloomError } from "../errors";
import { isRecord, listOf, numberOf, stringOf } from "./json-values";
import type { RemoteToken } from "./remote-types";

export interface Usage {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/** A piece of a call that the model makes; pieces of one index belong together. */
export interface CallPiece {
  index: number;
  id: string | undefined;
  name: string | undefined;
  /** A part of the JSON text. */
  arguments: string;
}

/** What one event tells. */
export interface AnswerEvent {
  text: string;
  reasoning: string;
  calls: readonly CallPiece[];
  /** Undefined where the server tells no log-probabilities. */
  tokens: RemoteToken[] | undefined;
  /** As the server calls it: "stop", "length", "tool_calls", "content_filter". */
  finishReason: string | undefined;
  usage: Usage | undefined;
}

/**
 * One chunk object, or a whole answer in one, as servers give that do not stream.
 *
 * @param top how many alternatives were asked for
 */
export function readEvent(value: Record<string, unknown>, top: number): AnswerEvent {
  const first = listOf(value["choices"])[0];
  const choice = isRecord(first) ? first : {};
  const delta = choice["delta"] ?? choice["message"];
  const part = isRecord(delta) ? delta : {};
  return {
    text: stringOf(choice["text"]) ?? stringOf(part["content"]) ?? "",
    // "reasoning_content": DeepSeek's word, of llama.cpp and older vLLM; "reasoning": vLLM, Ollama, OpenRouter.
    reasoning: stringOf(part["reasoning_content"]) ?? stringOf(part["reasoning"]) ?? "",
    calls: readCalls(part["tool_calls"]),
    tokens: readTokens(choice["logprobs"], choice["token_ids"], top),
    finishReason: stringOf(choice["finish_reason"]),
    usage: readUsage(value["usage"]),
  };
}

function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined;
  const details = value["prompt_tokens_details"];
  return {
    promptTokens: numberOf(value["prompt_tokens"]) ?? NaN,
    cachedTokens: (isRecord(details) ? numberOf(details["cached_tokens"]) : undefined) ?? 0,
    completionTokens: numberOf(value["completion_tokens"]) ?? NaN,
  };
}

function readCalls(value: unknown): CallPiece[] {
  return listOf(value)
    .filter(isRecord)
    .map((call, at) => {
      const made = isRecord(call["function"]) ? call["function"] : {};
      return {
        index: numberOf(call["index"]) ?? at,
        id: stringOf(call["id"]),
        name: stringOf(made["name"]),
        arguments: stringOf(made["arguments"]) ?? "",
      };
    });
}

/** @returns undefined where the server tells no log-probabilities */
function readTokens(logprobs: unknown, tokenIds: unknown, top: number): RemoteToken[] | undefined {
  if (!isRecord(logprobs)) return undefined;
  const ids: readonly unknown[] = Array.isArray(tokenIds) ? tokenIds : [];
  const { content, tokens } = logprobs;
  if (Array.isArray(content)) {
    const entries = (content as readonly unknown[]).filter(isRecord);
    return entries.map((entry, at) => chatToken(entry, ids.length === entries.length ? ids[at] : undefined, top));
  }
  if (!Array.isArray(tokens)) return undefined;
  const names = tokens as readonly unknown[];
  const values = listOf(logprobs["token_logprobs"]);
  const tops = listOf(logprobs["top_logprobs"]);
  return names.map((name, at) => {
    const text = stringOf(name) ?? "";
    const alternatives = isRecord(tops[at]) ? Object.entries(tops[at]) : [];
    return {
      ...tokenOf(text, undefined, ids.length === names.length ? ids[at] : undefined, values[at]),
      ...(top === 0
        ? {}
        : {
            top: alternatives
              .map(([other, logprob]) => ({ id: null, text: other, logprob: numberOf(logprob) ?? -Infinity }))
              .sort((a, b) => b.logprob - a.logprob)
              .slice(0, top),
          }),
    };
  });
}

function chatToken(entry: Record<string, unknown>, id: unknown, top: number): RemoteToken {
  const alternatives = listOf(entry["top_logprobs"]).filter(isRecord);
  return {
    ...tokenOf(stringOf(entry["token"]) ?? "", entry["bytes"], entry["id"] ?? id, entry["logprob"]),
    ...(top === 0
      ? {}
      : {
          top: alternatives.slice(0, top).map((other) => ({
            id: numberOf(other["id"]) ?? null,
            text: stringOf(other["token"]) ?? "",
            logprob: numberOf(other["logprob"]) ?? -Infinity,
          })),
        }),
  };
}

function tokenOf(text: string, bytes: unknown, id: unknown, logprob: unknown): RemoteToken {
  const isWhole = !text.includes("\ufffd"); // a piece of a character, or the character itself: nobody can tell
  const known = Array.isArray(bytes) && bytes.every((byte) => typeof byte === "number");
  return {
    id: numberOf(id) ?? null,
    text: isWhole ? text : "",
    bytes: known ? Uint8Array.from(bytes) : isWhole ? new TextEncoder().encode(text) : null,
    logprob: numberOf(logprob) ?? -Infinity, // JSON has no infinity: null
  };
}

/**
 * @throws WordloomError server-failed where the server has cut the answer for a reason of its own
 */
export function ownFinishReason(url: string, said: string): "stop" | "length" {
  if (said === "length") return "length";
  if (said === "stop" || said === "tool_calls" || said === "function_call") return "stop";
  throw new WordloomError("server-failed", `${url} ended the answer for its own reason, "${said}"`, {
    remedy: "Ask in other words, or use another server.",
  });
}
