/**
 * What servers say over the wire, in the formats their sources document:
 *
 * - llama.cpp: tools/server/README.md (/v1/models, /props, timings, usage, tokenize), tools/server/tests/unit/
 *   test_chat_completion.py and test_completion.py (order of events, logprobs with ids), server-task.cpp
 *   (`probs_vector_to_json`; failures as { error: { code, message, type } }; SSE comments while a prompt is read)
 * - vLLM: vllm/entrypoints/openai/{completion,chat_completion,models}/protocol.py (logprobs, token_ids, stop_reason,
 *   prompt_logprobs), vllm/entrypoints/serve/tokenize
 * - Ollama: docs/api/openai-compatibility.mdx, openai/openai.go (chunks, `reasoning`, system_fingerprint "fp_ollama")
 */
import { events, json, type Replay } from "./replaying-server";

const llama = (choice: object | undefined, more: object = {}) => ({
  choices: choice ? [{ index: 0, finish_reason: null, ...choice }] : [],
  created: 1757141666,
  id: "chatcmpl-ecQULm0WqPrftUqjPZO1CFYeDjGZNbDu",
  model: "stories",
  system_fingerprint: "b6376-c0b45097",
  object: "chat.completion.chunk",
  ...more,
});
const probability = (id: number, token: string, logprob: number, bytes = [...Buffer.from(token)]) => ({
  id,
  token,
  bytes,
  logprob,
  top_logprobs: [
    { id, token, bytes, logprob },
    { id: id + 1, token: "?", bytes: [63], logprob: logprob - 1 },
  ],
});
const TIMINGS = { cache_n: 2, prompt_n: 3, prompt_ms: 30.958, predicted_n: 3, predicted_ms: 61.06 };

export const LLAMA_CPP: Record<string, Replay> = {
  "GET /v1/models": json({
    object: "list",
    data: [
      {
        id: "../models/stories-Q4_K_M.gguf",
        object: "model",
        created: 1735142223,
        owned_by: "llamacpp",
        meta: { vocab_type: 2, n_vocab: 512, n_ctx_train: 2048, n_embd: 64, n_params: 263_872, size: 1_048_576 },
      },
    ],
  }),
  "GET /props": json({ default_generation_settings: { id: 0, n_ctx: 1024 }, total_slots: 1, chat_template: "…" }),
  "POST /tokenize": json({ tokens: [1, 403, 407] }),
  "POST /detokenize": json({ content: " Once upon" }),
  "POST /apply-template": json({ prompt: "<|user|>Hi<|assistant|>" }),
  "POST /v1/completions": {
    headers: { "Content-Type": "text/event-stream" },
    body:
      ":\n\n" + // while the prompt is read
      events(
        llama({ text: " é", logprobs: { content: [probability(7, " é", -0.25)] } }),
        // The first half of a character sends nothing; the whole comes with its last token, which alone has a probability.
        llama({ text: "😀", logprobs: { content: [probability(9, "😀", -1.5)] } }),
        llama({ text: "", finish_reason: "length" }),
        llama(undefined, {
          usage: {
            completion_tokens: 3,
            prompt_tokens: 5,
            total_tokens: 8,
            prompt_tokens_details: { cached_tokens: 2 },
          },
          timings: TIMINGS,
        }),
        "[DONE]",
      ).body,
  },
  "POST /v1/chat/completions": events(
    llama({ delta: { role: "assistant", content: null } }),
    llama({ delta: { reasoning_content: "The user greets." }, logprobs: { content: [probability(3, "The", -0.1)] } }),
    llama({ delta: { content: "Hel" }, logprobs: { content: [probability(4, "Hel", -0.2)] } }),
    llama({ delta: { content: "lo" }, logprobs: { content: [probability(5, "lo", -0.3)] } }),
    llama({ delta: {}, finish_reason: "stop" }),
    llama(undefined, { usage: { completion_tokens: 4, prompt_tokens: 12, total_tokens: 16 }, timings: TIMINGS }),
    "[DONE]",
  ),
};

const vllm = (choice: object | undefined, more: object = {}) => ({
  id: "cmpl-3f2a9d",
  object: "text_completion",
  created: 1757141666,
  model: "HuggingFaceTB/SmolLM2-135M",
  choices: choice ? [{ index: 0, logprobs: null, finish_reason: null, stop_reason: null, ...choice }] : [],
  usage: null,
  ...more,
});
const VLLM_USAGE = { prompt_tokens: 4, total_tokens: 7, completion_tokens: 3, prompt_tokens_details: null };

export const VLLM: Record<string, Replay> = {
  "GET /v1/models": json({
    object: "list",
    data: [
      {
        id: "HuggingFaceTB/SmolLM2-135M",
        object: "model",
        created: 1757141000,
        owned_by: "vllm",
        root: "HuggingFaceTB/SmolLM2-135M",
        parent: null,
        max_model_len: 8192,
      },
    ],
  }),
  "POST /tokenize": json({ count: 3, max_model_len: 8192, tokens: [10, 20, 30], token_strs: null }),
  "POST /detokenize": json({ prompt: "Once" }),
  "POST /v1/completions": events(
    vllm({
      text: " a b",
      token_ids: [21, 22],
      prompt_token_ids: [10, 20, 30, 40],
      logprobs: {
        text_offset: [0, 2],
        token_logprobs: [-0.5, -0.75],
        tokens: [" a", " b"],
        top_logprobs: [
          { " a": -0.5, " the": -1.25 },
          { " x": -0.5, " b": -0.75 },
        ],
      },
    }),
    vllm({
      text: "",
      token_ids: [23],
      logprobs: { text_offset: [4], token_logprobs: [-9999], tokens: ["\ufffd"], top_logprobs: [{ "\ufffd": -9999 }] },
    }),
    vllm({
      text: ".",
      token_ids: [24],
      logprobs: { text_offset: [5], token_logprobs: [-0.1], tokens: ["."], top_logprobs: [{ ".": -0.1 }] },
      finish_reason: "stop",
    }),
    vllm(undefined, { usage: VLLM_USAGE }),
    "[DONE]",
  ),
  "POST /v1/chat/completions": events(
    vllm({ delta: { role: "assistant", content: "" } }, { object: "chat.completion.chunk" }),
    vllm({ delta: { reasoning: "Look it up." } }),
    vllm({
      delta: {
        tool_calls: [{ index: 0, id: "call-1", type: "function", function: { name: "weather", arguments: "" } }],
      },
    }),
    vllm({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"city": "O' } }] } }),
    vllm({ delta: { tool_calls: [{ index: 0, function: { arguments: 'slo"}' } }] } }),
    vllm({
      delta: {
        tool_calls: [{ index: 1, id: "call-2", type: "function", function: { name: "time", arguments: "{]" } }],
      },
    }),
    vllm({ delta: { content: "" }, finish_reason: "tool_calls" }),
    vllm(undefined, { usage: VLLM_USAGE }),
    "[DONE]",
  ),
};

/** The answer to `prompt_logprobs: 0`: the prompt's own tokens, and nothing before the first. */
export const VLLM_SCORE: Replay = json({
  id: "cmpl-9",
  object: "text_completion",
  created: 1757141666,
  model: "HuggingFaceTB/SmolLM2-135M",
  choices: [
    {
      index: 0,
      text: " time",
      logprobs: null,
      finish_reason: "length",
      stop_reason: null,
      prompt_logprobs: [
        null,
        { "20": { logprob: -1.5, rank: 3, decoded_token: " upon" } },
        { "30": { logprob: -0.5, rank: 1, decoded_token: " a" } },
      ],
    },
  ],
  usage: { prompt_tokens: 3, total_tokens: 4, completion_tokens: 1, prompt_tokens_details: null },
});

const ollama = (choice: object | undefined, more: object = {}) => ({
  id: "chatcmpl-512",
  object: "chat.completion.chunk",
  created: 1757141666,
  model: "llama3.2",
  system_fingerprint: "fp_ollama",
  choices: choice ? [{ index: 0, finish_reason: null, ...choice }] : [],
  ...more,
});
const OLLAMA_USAGE = { prompt_tokens: 26, completion_tokens: 3, total_tokens: 29 };

export const OLLAMA: Record<string, Replay> = {
  "GET /v1/models": json({
    object: "list",
    data: [
      { id: "llama3.2:latest", object: "model", created: 1757141000, owned_by: "library" },
      { id: "qwen3:0.6b", object: "model", created: 1757141001, owned_by: "library" },
    ],
  }),
  "GET /api/version": json({ version: "0.13.3" }),
  "POST /v1/completions": events(
    ollama({ text: "One" }, { object: "text_completion" }),
    ollama({ text: " day" }, { object: "text_completion" }),
    ollama({ text: "", finish_reason: "stop" }, { object: "text_completion" }),
    ollama(undefined, { object: "text_completion", usage: OLLAMA_USAGE }),
    "[DONE]",
  ),
  "POST /v1/chat/completions": events(
    ollama({ delta: { role: "assistant", content: "", reasoning: "Hm." } }),
    ollama({ delta: { role: "assistant", content: "Yes" } }),
    ollama({ delta: { role: "assistant", content: "" }, finish_reason: "stop" }),
    ollama(undefined, { usage: OLLAMA_USAGE }),
    "[DONE]",
  ),
};
