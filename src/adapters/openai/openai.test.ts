/** The real `openai` client against the adapter, with models whose answers are written down. */
import OpenAI, { APIError, APIUserAbortError } from "openai";
import { describe, expect, test } from "vitest";
import { WordloomError } from "../../errors";
import { TextGenerator } from "../../index";
import { anythingWriter } from "../../testing/anything-writer";
import { modelFolder } from "../../testing/model-folder";
import { loadScriptedChat, TOOL_TEMPLATE } from "../../testing/scripted-chat";
import type { AdaptedGenerator } from "../generator";
import { createOpenAIFetch, type OpenAIModels } from "./index";

const generator = await loadScriptedChat({
  template: TOOL_TEMPLATE,
  answers: {
    ">": ["Hel", "lo ", "wor", "ld."],
    "~": ["It rains", " in Oslo."],
    "!": [
      { token: "<think>", visible: true },
      "Hm.",
      { token: "</think>", visible: true },
      "I look.",
      { token: "<tool_call>", visible: true },
      '{"name": "weather", "arguments": ',
      '{"city": "Oslo"}}',
      { token: "</tool_call>", visible: true },
    ],
  },
  contextLength: 512,
});

const clientOf = (models: OpenAIModels) =>
  new OpenAI({
    apiKey: "-",
    baseURL: "http://wordloom/v1",
    fetch: createOpenAIFetch(models),
    dangerouslyAllowBrowser: true,
  });
const client = clientOf(generator);
const model = "wordloom";
const messages = [{ role: "user" as const, content: "Hi" }];
const tools = [
  {
    type: "function" as const,
    function: { name: "weather", description: "of a city", parameters: { type: "object", properties: {} } },
  },
];
/** The scripted model calls the tool where thinking is off. */
const CALLS = { model, messages, tools, chat_template_kwargs: { enable_thinking: false } };

async function refusal(promise: Promise<unknown>): Promise<APIError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof APIError) return error;
  throw new Error("no APIError", { cause: error });
}

describe("chat completions", () => {
  test("a whole answer", async () => {
    const answer = await client.chat.completions.create({ model, messages });
    expect(answer).toMatchObject({
      object: "chat.completion",
      model,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello world.", refusal: null },
          finish_reason: "stop",
          logprobs: null,
        },
      ],
      usage: { completion_tokens: 4, prompt_tokens_details: { cached_tokens: 0 } },
    });
    expect(answer.id).toMatch(/^chatcmpl-/);
    expect(answer.usage?.total_tokens).toBe((answer.usage?.prompt_tokens ?? 0) + 4);
    expect(answer.system_fingerprint).toBe("wordloom-reference-f32");
    expect(Math.abs(answer.created * 1000 - Date.now())).toBeLessThan(60_000);
  });

  test("a stream", async () => {
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "", refusal: null });
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe("Hello world.");
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter((reason) => reason !== null)).toEqual([
      "stop",
    ]);
    expect(chunks.every((chunk) => chunk.object === "chat.completion.chunk" && !("usage" in chunk))).toBe(true);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test("a stream with usage has it in a last chunk without choices", async () => {
    const stream = await client.chat.completions.create({
      ...{ model, messages, stream: true as const, stream_options: { include_usage: true } },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  });

  test("several answers, each with its index; the prompt counts once", async () => {
    const answer = await client.chat.completions.create({ model, messages, n: 3, seed: 5 });
    expect(answer.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, "Hello world."],
      [1, "Hello world."],
      [2, "Hello world."],
    ]);
    expect(answer.usage?.completion_tokens).toBe(12);
    const one = await client.chat.completions.create({ model, messages });
    expect(answer.usage?.prompt_tokens).toBe(one.usage?.prompt_tokens);
    const stream = await client.chat.completions.create({ model, messages, n: 2, stream: true });
    const texts = ["", ""];
    for await (const { choices } of stream) {
      for (const { index, delta } of choices) texts[index] += delta.content ?? "";
    }
    expect(texts).toEqual(["Hello world.", "Hello world."]);
  });

  test("answer i is drawn with seed + i", async () => {
    const asked: unknown[] = [];
    const spied: AdaptedGenerator = {
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: (input, options) => {
        asked.push([options?.n ?? 1, options?.seed]);
        return generator.generate(input, options);
      },
    };
    await clientOf(spied).chat.completions.create({ model, messages, n: 2, seed: 7 });
    await clientOf(spied).chat.completions.create({ model, messages, seed: -1 });
    await clientOf(spied).chat.completions.create({ model, messages, n: 17, seed: 7, max_tokens: 1 });
    expect(asked.slice(0, 2)).toEqual([
      [2, 7],
      [1, 2 ** 53 - 1],
    ]);
    expect(asked.slice(2)).toEqual(Array.from({ length: 17 }, (_, at) => [1, 7 + at]));
  });

  test("several answers are written together where the context has room for them beside each other", async () => {
    const counts: (number | undefined)[] = [];
    const spied: AdaptedGenerator = {
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: (input, options) => {
        counts.push(options?.n);
        return generator.generate(input, options);
      },
    };
    const { contextLength } = generator.info;
    const prompt = await generator.tokenize(messages);
    const most = Math.floor((contextLength - prompt.length) / 2) + 1;
    for (const max_tokens of [most, most + 1]) {
      const { choices } = await clientOf(spied).chat.completions.create({ model, messages, n: 2, max_tokens });
      expect(choices.map(({ message }) => message.content)).toEqual(["Hello world.", "Hello world."]);
    }
    expect(counts).toEqual([2, undefined, undefined]);
  });

  test("log-probabilities", async () => {
    const answer = await client.chat.completions.create({ model, messages, logprobs: true, top_logprobs: 2 });
    const content = answer.choices[0]?.logprobs?.content ?? [];
    expect(content.map(({ token }) => token)).toEqual(["Hel", "lo ", "wor", "ld."]);
    expect(content[0]).toMatchObject({ bytes: [72, 101, 108], top_logprobs: [{ token: "Hel" }, {}] });
    expect(content[0]?.logprob).toBeCloseTo(0);
    const stream = await client.chat.completions.create({ model, messages, logprobs: true, stream: true });
    const tokens = [];
    for await (const { choices } of stream) tokens.push(...(choices[0]?.logprobs?.content ?? []));
    expect(tokens.map(({ token }) => token)).toEqual(["Hel", "lo ", "wor", "ld."]);
  });

  test.each([
    [{ max_tokens: 2 }, "Hello ", "length"],
    [{ max_completion_tokens: 2 }, "Hello ", "length"],
    [{ stop: ["wor"] }, "Hello ", "stop"],
    [{ stop: "lo" }, "Hel", "stop"],
  ])("%j is honoured", async (options, content, finish_reason) => {
    const answer = await client.chat.completions.create({ model, messages, ...options });
    expect(answer.choices[0]).toMatchObject({ message: { content }, finish_reason });
  });

  test("reasoning and a call of a tool", async () => {
    const answer = await client.chat.completions.create(CALLS);
    const [choice] = answer.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(choice?.message).toMatchObject({
      content: "I look.",
      reasoning_content: "Hm.",
      tool_calls: [{ type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
    });
  });

  test("the same as a stream", async () => {
    const stream = client.chat.completions.stream(CALLS);
    const answer = await stream.finalChatCompletion(); // the client puts the pieces together itself
    expect(answer.choices[0]?.finish_reason).toBe("tool_calls");
    expect(answer.choices[0]?.message).toMatchObject({
      content: "I look.",
      tool_calls: [{ type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
    });
  });

  test("the client's own loop runs a tool and gets the last answer", async () => {
    const asked: unknown[] = [];
    const weather = {
      type: "function" as const,
      function: {
        name: "weather",
        description: "of a city",
        parameters: { type: "object", properties: {} },
        parse: (text: string) => JSON.parse(text) as { city: string },
        function: (given: { city: string }) => {
          asked.push(given);
          return "rain";
        },
      },
    };
    const runner = client.chat.completions.runTools({ ...CALLS, tools: [weather] });
    expect(await runner.finalContent()).toBe("It rains in Oslo.");
    expect(asked).toEqual([{ city: "Oslo" }]);
  });

  test("with tool_choice none the model is offered no tools", async () => {
    const offered = await client.chat.completions.create({ model, messages, tools });
    const hidden = await client.chat.completions.create({ model, messages, tools, tool_choice: "none" });
    const without = await client.chat.completions.create({ model, messages });
    expect(hidden.usage?.prompt_tokens).toBe(without.usage?.prompt_tokens);
    expect(offered.usage?.prompt_tokens).toBeGreaterThan(hidden.usage?.prompt_tokens ?? Infinity);
  });

  test("parts of text, a developer's message, and fields that mean nothing here", async () => {
    const answer = await client.chat.completions.create({
      model,
      messages: [
        {
          role: "developer",
          content: [
            { type: "text", text: "Be " },
            { type: "text", text: "brief." },
          ],
        },
        ...messages,
      ],
      ...{ user: "u", metadata: { a: "b" }, safety_identifier: "s", prompt_cache_key: "k", store: false },
      ...{ service_tier: "auto", modalities: ["text"], parallel_tool_calls: true, response_format: { type: "text" } },
    });
    expect(answer.choices[0]?.message.content).toBe("Hello world.");
  });
});

describe("response_format", async () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}";
  const files = modelFolder(anythingWriter({ contextLength: 400, chatTemplate: template }));
  const writer = clientOf(await TextGenerator.load(files, { backend: "reference" }));
  const schema = {
    ...{ type: "object", properties: { city: { type: "string", maxLength: 5 }, sunny: { type: "boolean" } } },
    ...{ required: ["city", "sunny"], additionalProperties: false },
  };
  const json_schema = { name: "weather", strict: true, schema };

  test("json_schema gives what the schema allows, whole or in a stream", async () => {
    const request = { model, messages, temperature: 0, response_format: { type: "json_schema" as const, json_schema } };
    const { choices } = await writer.chat.completions.create(request);
    expect(choices[0]?.finish_reason).toBe("stop");
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({
      city: expect.stringMatching(/^.{0,5}$/su) as string,
      sunny: expect.any(Boolean) as boolean,
    });
    const stream = writer.chat.completions.stream(request);
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(choices[0]?.message.content);
  });

  test("what max_tokens cuts is told by its finish_reason", async () => {
    const { choices } = await writer.chat.completions.create({
      ...{ model, messages, response_format: { type: "json_object" }, max_tokens: 1 },
    });
    expect(choices[0]).toMatchObject({ finish_reason: "length", message: { content: "{" } });
  });
});

describe("tool_choice that forces a call", async () => {
  const template =
    "{% for m in messages %}{{ m.content }}{% endfor %}{% for t in tools %}{{ t.function.name }}{% endfor %}<tool_call>";
  const files = modelFolder(anythingWriter({ contextLength: 400, chatTemplate: template }));
  const writer = clientOf(await TextGenerator.load(files, { backend: "reference" }));
  const city = { type: "string", maxLength: 5 };
  const object = { type: "object", additionalProperties: false };
  const weather = { ...object, properties: { city: { $ref: "#/$defs/city" } }, required: ["city"], $defs: { city } };
  const time = { ...object, properties: { zone: { type: "integer", minimum: 0, maximum: 9 } }, required: ["zone"] };
  const offered = [
    { type: "function" as const, function: { name: "weather", parameters: weather } },
    { type: "function" as const, function: { name: "time", parameters: time } },
  ];
  const named = (name: string) => ({ type: "function" as const, function: { name } });

  test.each(["weather", "time"])(
    "a named function, %s, is called, with arguments that its schema allows",
    async (name) => {
      const request = { model, messages, tools: offered, tool_choice: named(name), temperature: 0 };
      const { choices } = await writer.chat.completions.create(request);
      expect(choices[0]).toMatchObject({
        finish_reason: "tool_calls",
        message: { content: null, tool_calls: [{ type: "function", function: { name } }] },
      });
      const [call] = choices[0]?.message.tool_calls ?? [];
      const given = JSON.parse(call?.type === "function" ? call.function.arguments : "") as Record<string, unknown>;
      if (name === "time") expect(given["zone"]).toBeOneOf([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      else expect(given["city"]).toMatch(/^.{0,5}$/su);
      const streamed = await writer.chat.completions.stream(request).finalChatCompletion();
      expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({
        function: { name, arguments: JSON.stringify(given) },
      });
    },
  );

  test("required: one of them is called", async () => {
    const tools = [offered[1], { type: "function" as const, function: { name: "now" } }].filter(
      (one) => one !== undefined,
    );
    const { choices } = await writer.chat.completions.create({
      ...{ model, messages, tools, tool_choice: "required", seed: 3, max_tokens: 300, n: 2 },
    });
    for (const { message, finish_reason } of choices) {
      if (finish_reason === "length") continue;
      const [call] = message.tool_calls ?? [];
      expect(["time", "now"]).toContain(call?.type === "function" && call.function.name);
    }
    expect(choices.some(({ finish_reason }) => finish_reason === "tool_calls")).toBe(true);
  });

  test("what max_tokens cuts is no call", async () => {
    const { choices } = await writer.chat.completions.create({
      ...{ model, messages, tools: offered, tool_choice: named("time"), max_tokens: 4 },
    });
    expect(choices[0]?.finish_reason).toBe("length");
    expect(choices[0]?.message.tool_calls).toBeUndefined();
    expect('{"name":"time"').toContain(choices[0]?.message.content?.replaceAll(" ", ""));
  });

  test("references of several tools' schemas are refused, with what can be done", async () => {
    const refused = writer.chat.completions.create({ model, messages, tools: offered, tool_choice: "required" });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      param: "tool_choice",
      message: expect.stringMatching(/weather .* name this/) as string,
    });
  });
});

describe("completions", () => {
  test("whole, of several prompts, with log-probabilities", async () => {
    const answer = await client.completions.create({ model, prompt: ["a>", "b~"], logprobs: 1, max_tokens: 2 });
    expect(answer).toMatchObject({
      object: "text_completion",
      choices: [
        { index: 0, text: "Hello ", finish_reason: "length" },
        { index: 1, text: "It rains in Oslo.", finish_reason: "length" },
      ],
      usage: { prompt_tokens: 4, completion_tokens: 4 },
    });
    const [logprobs] = answer.choices.map((choice) => choice.logprobs);
    expect(logprobs?.tokens).toEqual(["Hel", "lo "]);
    expect(logprobs?.text_offset).toEqual([0, 3]);
    expect(Object.keys(logprobs?.top_logprobs?.[0] ?? {})).toEqual(["Hel"]);
  });

  test("as a stream, from token ids, with usage", async () => {
    const prompt = await generator.tokenize("a>");
    const stream = await client.completions.create({
      ...{ model, prompt, stream: true as const, stream_options: { include_usage: true }, logprobs: 0 },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map((chunk) => chunk.choices[0]?.text ?? "").join("")).toBe("Hello world.");
    expect(chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.text_offset ?? [])).toEqual([0, 3, 6, 9]);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  });
});

describe("what is not honoured is refused by its name", () => {
  const CHAT: [string, object, string?][] = [
    ["temperature", { temperature: "hot" }],
    ["temperature", { temperature: -1 }],
    ["top_p", { top_p: 7 }],
    ["n", { n: 0 }],
    ["n", { n: 1.5 }],
    ["seed", { seed: 0.5 }],
    ["stop", { stop: [1] }],
    ["stop", { stop: "" }],
    ["max_tokens", { max_tokens: 0 }],
    ["max_tokens", { max_tokens: 1, max_completion_tokens: 2 }],
    ["top_logprobs", { top_logprobs: 2 }],
    ["top_logprobs", { logprobs: true, top_logprobs: 21 }],
    ["logit_bias", { logit_bias: [1] }],
    ["stream_options", { stream_options: { include_usage: true } }],
    [
      "stream_options.include_obfuscation",
      { stream: true, stream_options: { include_obfuscation: true } },
      "unsupported",
    ],
    ["tool_choice", { tools, tool_choice: "any" }, "unsupported"],
    ["tool_choice", { tool_choice: "required" }],
    ["tool_choice", { tools, tool_choice: { type: "function", function: { name: "wether" } } }],
    ["tool_choice", { tools, tool_choice: { type: "custom", custom: { name: "weather" } } }, "unsupported"],
    [
      "tool_choice",
      { tools: [{ type: "function", function: { name: "a", parameters: { not: {} } } }], tool_choice: "required" },
      "option-invalid",
    ],
    [
      "tool_choice",
      { tools: [{ type: "function", function: { name: "a", parameters: { $ref: "#" } } }], tool_choice: "required" },
      "unsupported",
    ],
    ["parallel_tool_calls", { tools, parallel_tool_calls: false }, "unsupported"],
    ["tools[0]", { tools: [{ type: "custom", custom: { name: "x" } }] }, "unsupported"],
    [
      "tools[0].function.strict",
      { tools: [{ type: "function", function: { name: "a", strict: true } }] },
      "unsupported",
    ],
    ["tools", { tools: [{ type: "function", function: { name: "a b" } }] }, "option-invalid"],
    ["response_format", { response_format: { type: "xml" } }],
    ["response_format", { response_format: { type: "json_object" }, tools }, "unsupported"],
    ["response_format.json_schema", { response_format: { type: "json_schema", json_schema: {} } }],
    [
      "response_format",
      { response_format: { type: "json_schema", json_schema: { name: "a", schema: { not: {} } } } },
      "option-invalid",
    ],
    ["reasoning_effort", { reasoning_effort: "low" }, "unknown_parameter"],
    ["modalities", { modalities: ["text", "audio"] }, "unsupported"],
    ["store", { store: true }, "unsupported"],
    ["service_tier", { service_tier: "flex" }, "unsupported"],
    ["verbosity", { verbosity: "low" }, "unknown_parameter"],
    ["functions", { functions: [] }, "unknown_parameter"],
    ["frobnicate", { frobnicate: 1 }, "unknown_parameter"],
    ["messages", { messages: [] }],
    ["messages[0].role", { messages: [{ role: "poet", content: "" }] }],
    ["messages[0].content", { messages: [{ role: "user", content: null }] }],
    ["messages[0].content[0]", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }, "unsupported"],
    ["messages[0].mood", { messages: [{ role: "user", content: "", mood: 1 }] }, "unknown_parameter"],
    [
      "messages[0].tool_calls[0]",
      {
        messages: [
          { role: "assistant", tool_calls: [{ id: "1", type: "function", function: { name: "a", arguments: "{" } }] },
        ],
      },
    ],
  ];
  test.each(CHAT)("chat: %s in %j", async (param, body, code = undefined) => {
    const error = await refusal(client.chat.completions.create({ model, messages, ...body } as never));
    expect(error).toMatchObject({ status: 400, param, type: "invalid_request_error" });
    if (code !== undefined) expect(error.code).toBe(code);
  });

  test.each([
    ["prompt", { prompt: [] }],
    ["prompt", { prompt: [true] }],
    ["echo", { echo: true }],
    ["best_of", { best_of: 2 }],
    ["suffix", { suffix: "x" }],
    ["logprobs", { logprobs: 99 }],
    ["tools", { tools }],
  ])("completions: %s in %j", async (param, body) => {
    const error = await refusal(client.completions.create({ model, prompt: "a>", ...body } as never));
    expect(error).toMatchObject({ status: 400, param });
  });
});

describe("models and failures", () => {
  test("the models have the names they were given", async () => {
    const two = clientOf({ small: generator, large: () => Promise.resolve(generator) });
    const names = [];
    for await (const { id } of two.models.list()) names.push(id);
    expect(names).toEqual(["small", "large"]);
    expect(await two.models.retrieve("large")).toMatchObject({ id: "large", object: "model" });
    const answer = await two.chat.completions.create({ model: "large", messages });
    expect(answer.choices[0]?.message.content).toBe("Hello world.");
    expect(await refusal(two.models.retrieve("medium"))).toMatchObject({ status: 404, code: "model_not_found" });
    expect(await refusal(two.chat.completions.create({ model: "medium", messages }))).toMatchObject({ status: 404 });
  });

  test("embeddings and other addresses are refused", async () => {
    expect(await refusal(client.embeddings.create({ model, input: "x" }))).toMatchObject({
      status: 400,
      code: "unsupported",
    });
    expect(await refusal(client.moderations.create({ input: "x" }))).toMatchObject({
      status: 404,
      code: "unknown_url",
    });
  });

  test("a prompt that is too long, before and not in a stream", async () => {
    const long = [{ role: "user" as const, content: "x".repeat(600) }];
    for (const stream of [false, true]) {
      const error = await refusal(client.chat.completions.create({ model, messages: long, stream }));
      expect(error).toMatchObject({ status: 400, code: "context_length_exceeded" });
      expect(error.message).toMatch(/512/);
    }
  });

  test.each([
    ["disposed", 503],
    ["kernel-failed", 500],
    ["rate-limited", 429],
    ["access-denied", 401],
  ] as const)("%s has the status %i", async (code, status) => {
    const failing = async () => Promise.reject(new WordloomError(code, "it failed"));
    const broken = clientOf(failing).withOptions({ maxRetries: 0 });
    expect(await refusal(broken.chat.completions.create({ model, messages }))).toMatchObject({ status, code });
  });

  test("what cannot get better is not tried again", async () => {
    let tries = 0;
    const failing = async () => Promise.reject(new WordloomError("kernel-failed", `try ${++tries}`));
    await refusal(clientOf(failing).chat.completions.create({ model, messages }));
    expect(tries).toBe(1);
  });

  test("a failure in the middle of a stream reaches the reader", async () => {
    const failing: AdaptedGenerator = {
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: () => ({
        end: new Promise(() => {}),
        async *[Symbol.asyncIterator]() {
          yield { text: "So", tokens: [] };
          throw new WordloomError("device-lost", "the GPU is gone");
        },
      }),
    };
    const stream = await clientOf(failing).chat.completions.create({ model, messages, stream: true });
    let text = "";
    const read = async () => {
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
    };
    await expect(read()).rejects.toThrow(/the GPU is gone/);
    expect(text).toBe("So");
  });

  test("a body that is no JSON", async () => {
    const fetch = createOpenAIFetch(generator);
    const response = await fetch("/v1/completions", { method: "POST", body: "{" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });
});

describe("an abort stops the answer", () => {
  /** Writes without end; tells when it was stopped. */
  function endless() {
    let stopped: (reason: unknown) => void = () => {};
    const wasStopped = new Promise((resolve) => (stopped = resolve));
    const source: AdaptedGenerator = {
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: (_, options) => ({
        end: new Promise(() => {}),
        async *[Symbol.asyncIterator]() {
          const { signal } = options ?? {};
          signal?.addEventListener("abort", () => stopped(signal.reason), { once: true });
          for (;;) {
            await new Promise((resolve) => setTimeout(resolve, 1));
            signal?.throwIfAborted();
            yield { text: "x", tokens: [] };
          }
        },
      }),
    };
    return { client: clientOf(source), wasStopped };
  }

  test("by the request's signal", async () => {
    const { client: ours, wasStopped } = endless();
    const controller = new AbortController();
    const answer = ours.chat.completions.create({ model, messages }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await expect(answer).rejects.toBeInstanceOf(APIUserAbortError);
    await wasStopped;
  });

  test("by leaving the loop over a stream", async () => {
    const { client: ours, wasStopped } = endless();
    const stream = await ours.chat.completions.create({ model, messages, stream: true });
    let count = 0;
    for await (const chunk of stream) {
      expect(chunk.object).toBe("chat.completion.chunk");
      if (++count === 3) break;
    }
    await wasStopped;
  });

  test("before it began", async () => {
    const signal = AbortSignal.abort(new Error("no"));
    await expect(createOpenAIFetch(generator)("/v1/models", { signal })).rejects.toThrow("no");
  });
});
