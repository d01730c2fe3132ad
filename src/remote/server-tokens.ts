/**
 * Text ↔ ids, and scores, by a server's own endpoints, which are outside of OpenAI's API.
 *
 * Sources: llama.cpp, tools/server/README.md, /tokenize and /detokenize; vLLM, entrypoints/serve/tokenize/protocol.py, and
 * `prompt_logprobs` in entrypoints/openai/completion/protocol.py.
 */
import type { ChatInput, Score, TaggedInput } from "../engine/engine";
import { WordloomError } from "../errors";
import type { Endpoint } from "./endpoint";
import { isRecord, listOf, stringOf } from "./json-values";
import type { ServerKind } from "./remote-types";
import { chatFields, noEndpoint } from "./request-body";
import type { ServerClient } from "./server-client";

/** @throws WordloomError option-invalid where the server has no such endpoint; as ServerClient.postJson */
export async function tokenizeThere(
  client: ServerClient,
  { root }: Endpoint,
  wanted: { server: ServerKind; model: string; input: TaggedInput; addSpecialTokens: boolean },
  signal: AbortSignal,
): Promise<number[]> {
  const { server, model, input, addSpecialTokens } = wanted;
  if (input.kind === "ids") return Array.from(input.ids);
  const url = `${root}/tokenize`;
  if (server === "llama.cpp") {
    const content = input.kind === "text" ? input.text : await renderThere(client, root, input, signal);
    const body = { content, add_special: input.kind === "chat" || addSpecialTokens, parse_special: true };
    return idsIn(url, await client.postJson(url, body, signal));
  }
  if (server !== "vllm") throw noEndpoint("tokenize", server);
  const body =
    input.kind === "text"
      ? { model, prompt: input.text, add_special_tokens: addSpecialTokens }
      : { model, add_generation_prompt: true, ...chatFields(input, server) };
  return idsIn(url, await client.postJson(url, body, signal));
}

/** llama.cpp's server renders a chat, and then tokenizes what it has rendered, as it does for an answer. */
async function renderThere(client: ServerClient, root: string, input: ChatInput, signal: AbortSignal): Promise<string> {
  const url = `${root}/apply-template`;
  const value = await client.postJson(url, chatFields(input, "llama.cpp"), signal);
  const prompt: unknown = isRecord(value) ? value["prompt"] : undefined;
  if (typeof prompt !== "string") throw unexpected(url, "no prompt");
  return prompt;
}

/** @throws WordloomError option-invalid where the server has no such endpoint; as ServerClient.postJson */
export async function detokenizeThere(
  client: ServerClient,
  { root }: Endpoint,
  { server, model, ids }: { server: ServerKind; model: string; ids: Uint32Array },
  signal: AbortSignal,
): Promise<string> {
  if (server !== "vllm" && server !== "llama.cpp") throw noEndpoint("detokenize", server);
  const url = `${root}/detokenize`;
  const tokens = Array.from(ids);
  const value = await client.postJson(url, server === "vllm" ? { model, tokens } : { tokens }, signal);
  const text: unknown = isRecord(value) ? value[server === "vllm" ? "prompt" : "content"] : undefined;
  if (typeof text !== "string") throw unexpected(url, "no text");
  return text;
}

/** On vLLM: one token is written, since older ones refuse none, and thrown away. */
export async function scoreThere(
  client: ServerClient,
  endpoint: Endpoint,
  model: string,
  input: TaggedInput,
  signal: AbortSignal,
): Promise<Score> {
  const wanted = { server: "vllm", model, input, addSpecialTokens: true } as const;
  const ids = await tokenizeThere(client, endpoint, wanted, signal);
  const [first] = ids;
  if (first === undefined) throw new WordloomError("option-invalid", "the input gives no tokens");
  const url = `${endpoint.api}/completions`;
  const body = { model, prompt: ids, max_tokens: 1, temperature: 0, prompt_logprobs: 0 };
  const [value, firstText] = await Promise.all([
    client.postJson(url, body, signal),
    detokenizeThere(client, endpoint, { server: "vllm", model, ids: Uint32Array.of(first) }, signal),
  ]);
  const choice = isRecord(value) ? listOf(value["choices"])[0] : undefined;
  const entries = isRecord(choice) ? listOf(choice["prompt_logprobs"]) : [];
  if (entries.length !== ids.length) throw unexpected(url, "no log-probabilities of the prompt");
  const tokens = ids.map((id, at) => {
    if (at === 0) return { id, text: firstText, logprob: null, rank: null, entropy: null };
    const place = entries[at];
    const entry = isRecord(place) ? place[String(id)] : undefined;
    const logprob = isRecord(entry) ? entry["logprob"] : undefined;
    if (!isRecord(entry) || typeof logprob !== "number") throw unexpected(url, `no log-probability of token ${at}`);
    const rank = entry["rank"];
    return {
      id,
      text: stringOf(entry["decoded_token"]) ?? "",
      logprob,
      rank: typeof rank === "number" ? rank : null,
      entropy: null, // it is never told
    };
  });
  const logprob = tokens.reduce((sum, token) => sum + (token.logprob ?? 0), 0);
  return { tokens, logprob, perplexity: Math.exp(-logprob / (ids.length - 1)) };
}

function idsIn(url: string, value: unknown): number[] {
  const tokens: unknown = isRecord(value) ? value["tokens"] : undefined;
  if (!Array.isArray(tokens) || !tokens.every((id) => Number.isInteger(id))) throw unexpected(url, "no token ids");
  return tokens as number[]; // looked at just now
}

function unexpected(url: string, what: string): WordloomError {
  return new WordloomError("server-failed", `${url} answered with ${what}`, {
    remedy: "The server is of another kind or version than expected; set the option server.",
  });
}
