/** Each option in each server's words, or refused by its name. */
import { describe, expect, test } from "vitest";
import { resolveGenerateOptions, type GenerateOptions } from "../api/generate-options";
import type { TaggedInput } from "../engine/engine";
import type { ServerKind } from "./remote-types";
import { requestBody } from "./request-body";

const KINDS: readonly ServerKind[] = ["openai", "ollama", "vllm", "llama.cpp"];
const TEXT: TaggedInput = { kind: "text", text: "Once" };
const CHAT: TaggedInput = { kind: "chat", messages: [{ role: "user", content: "Hi" }] };

const ask = (server: ServerKind, options: GenerateOptions, input: TaggedInput = TEXT) =>
  requestBody({ ...resolveGenerateOptions(options, 1000, () => 7), input }, server, "m");
const bodyOf = (server: ServerKind, options: GenerateOptions, input?: TaggedInput) => ask(server, options, input).body;

const ALWAYS = { model: "m", prompt: "Once", max_tokens: 256, stream: true, stream_options: { include_usage: true } };

describe("without options", () => {
  test("an answer is greedy, and nothing of a server's own settings has a part in it", () => {
    expect(bodyOf("openai", {})).toEqual({ ...ALWAYS, temperature: 0 });
    expect(bodyOf("ollama", {})).toEqual({ ...ALWAYS, temperature: 0 });
    expect(bodyOf("vllm", {})).toEqual({
      ...ALWAYS,
      ...{ temperature: 0, top_k: -1, top_p: 1, min_p: 0, repetition_penalty: 1, frequency_penalty: 0 },
      ...{ presence_penalty: 0, min_tokens: 0, logit_bias: {}, ignore_eos: false },
      ...{ logprobs: 0, return_token_ids: true },
    });
    expect(bodyOf("llama.cpp", {})).toEqual({
      ...ALWAYS,
      ...{ temperature: 0, top_n_sigma: -1, top_k: 0, typical_p: 1, top_p: 1, min_p: 0 },
      ...{ xtc_probability: 0, xtc_threshold: 0.1, repeat_penalty: 1, repeat_last_n: -1 },
      ...{ frequency_penalty: 0, presence_penalty: 0, logit_bias: [], ignore_eos: false, cache_prompt: true },
      ...{ dry_multiplier: 0, dry_base: 1.75, dry_allowed_length: 2, dry_penalty_last_n: -1 },
      ...{ dry_sequence_breakers: ["\n", ":", '"', "*"], logprobs: 1 },
      samplers: ["penalties", "dry", "temperature", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc"],
    });
  });

  test("messages go to the chat endpoint, all else to completions", () => {
    for (const server of KINDS) {
      expect(ask(server, {}).path).toBe("/completions");
      expect(ask(server, {}, CHAT)).toMatchObject({ path: "/chat/completions", body: { messages: CHAT.messages } });
    }
  });
});

type Words = Record<string, unknown> | "refused";
/** [options, openai, ollama, vllm, llama.cpp] */
const TABLE: [GenerateOptions, ...Words[]][] = [
  [{ maxNewTokens: 5 }, { max_tokens: 5 }, { max_tokens: 5 }, { max_tokens: 5 }, { max_tokens: 5 }],
  [{ stop: ["a", "b"] }, { stop: ["a", "b"] }, { stop: ["a", "b"] }, { stop: ["a", "b"] }, { stop: ["a", "b"] }],
  [{ temperature: 0.5 }, { temperature: 0.5 }, { temperature: 0.5 }, { temperature: 0.5 }, { temperature: 0.5 }],
  [{ temperature: 1 }, { seed: 7 }, { seed: 7 }, { seed: 7 }, { seed: 7 }],
  [{ seed: 3 }, ...repeat4({ seed: 3, temperature: 1 })],
  [{ seed: 2 ** 40 }, { seed: 2 ** 40 }, "refused", { seed: 2 ** 40 }, "refused"],
  [{ topP: 0.9 }, ...repeat4({ top_p: 0.9, temperature: 1 })],
  [{ topK: 40 }, "refused", "refused", { top_k: 40 }, { top_k: 40 }],
  [{ minP: 0.1 }, "refused", "refused", { min_p: 0.1 }, { min_p: 0.1 }],
  [{ typicalP: 0.9 }, "refused", "refused", "refused", { typical_p: 0.9 }],
  [{ topNSigma: 1.5 }, "refused", "refused", "refused", { top_n_sigma: 1.5 }],
  [
    { xtcProbability: 0.5, xtcThreshold: 0.2 },
    ...["refused" as const, "refused" as const, "refused" as const],
    { xtc_probability: 0.5, xtc_threshold: 0.2 },
  ],
  [{ repetitionPenalty: 1.1 }, "refused", "refused", { repetition_penalty: 1.1 }, { repeat_penalty: 1.1 }],
  [{ frequencyPenalty: 0.5 }, ...repeat4({ frequency_penalty: 0.5 })],
  [{ presencePenalty: 0.5 }, ...repeat4({ presence_penalty: 0.5 })],
  [{ presencePenalty: 0.5, penaltyLastN: 64 }, "refused", "refused", "refused", { repeat_last_n: 64 }],
  [
    { dryMultiplier: 0.8, dryBase: 2, dryAllowedLength: 3, dryPenaltyLastN: 99, drySequenceBreakers: [] },
    ...["refused" as const, "refused" as const, "refused" as const],
    {
      ...{ dry_multiplier: 0.8, dry_base: 2, dry_allowed_length: 3, dry_penalty_last_n: 99 },
      dry_sequence_breakers: ["\u0000"],
    },
  ],
  [{ noRepeatNgramSize: 3 }, ...repeat4("refused")],
  [{ minNewTokens: 4 }, "refused", "refused", { min_tokens: 4 }, "refused"],
  [{ forcedTokens: [5] }, ...repeat4("refused")],
  [
    { logitBias: { 5: -Infinity, 6: 1.5 } },
    ...[{ logit_bias: { 5: -100, 6: 1.5 } }, "refused" as const, { logit_bias: { 5: -100, 6: 1.5 } }],
    {
      logit_bias: [
        [5, false],
        [6, 1.5],
      ],
    },
  ],
  [{ logitBias: { 5: 200 } }, "refused", "refused", "refused", { logit_bias: [[5, 200]] }],
  [
    { bannedTokens: [5] },
    { logit_bias: { 5: -100 } },
    "refused",
    { logit_bias: { 5: -100 } },
    { logit_bias: [[5, false]] },
  ],
  [{ topLogprobs: 3 }, { logprobs: 3 }, "refused", { logprobs: 3 }, { logprobs: 3 }],
  [{ tokenStatistics: true }, ...repeat4("refused")],
  [{ ignoreEos: true }, "refused", "refused", { ignore_eos: true }, { ignore_eos: true }],
  [{ stopTokenIds: [5] }, "refused", "refused", { stop_token_ids: [5], ignore_eos: false }, "refused"],
  [{ endTokenIds: [5] }, "refused", "refused", { stop_token_ids: [5], ignore_eos: true }, "refused"],
  [{ reusePrefix: false }, "refused", "refused", "refused", { cache_prompt: false }],
];

function repeat4<W extends Words>(words: W): [W, W, W, W] {
  return [words, words, words, words];
}

describe.each(KINDS.map((server, at) => [server, at] as const))("%s", (server, at) => {
  test.each(TABLE.map(([options, ...words]) => [options, words[at] ?? "refused"] as const))(
    "%j is %j",
    (options, words) => {
      const asked = () => bodyOf(server, options);
      if (words === "refused") {
        const names = Object.keys(options).join("|");
        expect(asked).toThrow(
          expect.objectContaining({ code: "option-invalid", message: expect.stringMatching(names) }),
        );
      } else expect(asked()).toMatchObject(words);
    },
  );
});

test("each setting of a request has a row in the table of words", () => {
  // A setting that is added to the engine's must be put into words here, or refused: requestBody throws for unknown ones.
  for (const server of KINDS) expect(() => bodyOf(server, {})).not.toThrow();
  const request = { ...resolveGenerateOptions({}, 1000), input: TEXT };
  const unknown = { ...request, sampling: { ...request.sampling, novelty: 1 } };
  expect(() => requestBody(unknown, "vllm", "m")).toThrow(/nothing is known of the setting novelty/);
  expect(() => requestBody({ ...request, ...{ beams: 4 } }, "vllm", "m")).toThrow(/vLLM does not take beams/);
});

test("log-probabilities of a chat are asked for in its own words, and not beside tools on llama.cpp's server", () => {
  expect(bodyOf("openai", { topLogprobs: 2 }, CHAT)).toMatchObject({ logprobs: true, top_logprobs: 2 });
  expect(bodyOf("vllm", {}, CHAT)).toMatchObject({ logprobs: true, top_logprobs: 0, return_token_ids: true });
  expect(bodyOf("llama.cpp", {}, CHAT)).toMatchObject({ logprobs: true, top_logprobs: 1 });
  const withTools: TaggedInput = { ...CHAT, tools: [{ name: "now" }] };
  expect(bodyOf("llama.cpp", {}, withTools)).not.toHaveProperty("logprobs");
  expect(() => bodyOf("llama.cpp", { topLogprobs: 2 }, withTools)).toThrow(/does not take topLogprobs beside tools/);
});

test("what a chat has beside its messages is sent, or refused by name", () => {
  const call = { id: "c1", type: "function", function: { name: "now", arguments: { zone: "UTC" } } };
  const chat: TaggedInput = {
    kind: "chat",
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "", tool_calls: [call] },
    ],
    templateOptions: { enable_thinking: false },
    continueFinalMessage: true,
  };
  expect(bodyOf("vllm", {}, chat)).toMatchObject({
    ...{ chat_template_kwargs: { enable_thinking: false }, continue_final_message: true, add_generation_prompt: false },
    messages: [{}, { tool_calls: [{ ...call, function: { name: "now", arguments: '{"zone":"UTC"}' } }] }],
  });
  expect(() => bodyOf("ollama", {}, chat)).toThrow(/does not take templateOptions/);
  expect(() => bodyOf("openai", {}, { ...CHAT, continueFinalMessage: true })).toThrow(/continueFinalMessage/);
});
