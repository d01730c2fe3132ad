/** The real `ai` package against the provider, with models whose answers are written down. */
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { TextGenerator } from "../../index";
import { anythingWriter } from "../../testing/anything-writer";
import { modelFolder } from "../../testing/model-folder";
import { loadScriptedChat, TOOL_TEMPLATE } from "../../testing/scripted-chat";
import type { AdaptedGenerator } from "../generator";
import { createWordloom } from "./index";

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
globalThis.AI_SDK_LOG_WARNINGS = false; // the warnings are read here
const wordloom = createWordloom(generator);
const model = wordloom();
const calls = { providerOptions: { wordloom: { templateOptions: { enable_thinking: false } } } };

function weather(asked: unknown[] = []) {
  return tool({
    description: "of a city",
    inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
    execute: (input) => {
      asked.push(input);
      return "rain";
    },
  });
}

describe("generateText", () => {
  test("text, usage and finish reason", async () => {
    const answer = await generateText({ model, prompt: "Hi" });
    expect(answer.text).toBe("Hello world.");
    expect(answer.finishReason).toBe("stop");
    expect(answer.usage.outputTokens).toBe(4);
    expect(answer.usage.inputTokens).toBe((await generator.tokenize([{ role: "user", content: "Hi" }])).length);
    expect(answer.warnings).toEqual([]);
    expect(answer.response.modelId).toBe("wordloom");
  });

  test.each([
    [{ maxOutputTokens: 2 }, "Hello ", "length"],
    [{ stopSequences: ["wor"] }, "Hello ", "stop"],
    [
      { temperature: 0.5, topP: 0.9, topK: 5, seed: 1, presencePenalty: 0.1, frequencyPenalty: 0.1 },
      "Hello world.",
      "stop",
    ],
  ])("%j is honoured", async (settings, text, finishReason) => {
    expect(await generateText({ model, prompt: "Hi", ...settings })).toMatchObject({ text, finishReason });
  });

  test("every setting reaches generate", async () => {
    let options: unknown;
    const spied: AdaptedGenerator = {
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: (input, given) => {
        options = given;
        return generator.generate(input, given);
      },
    };
    const settings = { temperature: 0.5, topP: 0.9, topK: 5, seed: 1, presencePenalty: 0.1, frequencyPenalty: 0.2 };
    const providerOptions = { wordloom: { minP: 0.1 } };
    await generateText({ model: createWordloom(spied)(), prompt: "Hi", ...settings, providerOptions });
    expect(options).toMatchObject({ ...settings, minP: 0.1, maxNewTokens: 512 });
  });

  test("reasoning, a call that the SDK runs, and the answer after it", async () => {
    const asked: unknown[] = [];
    const answer = await generateText({
      ...{ model, prompt: "Rain?", tools: { weather: weather(asked) }, stopWhen: stepCountIs(3), ...calls },
    });
    expect(asked).toEqual([{ city: "Oslo" }]);
    expect(answer.text).toBe("It rains in Oslo.");
    const [first] = answer.steps;
    expect(first?.reasoningText).toBe("Hm.");
    expect(first?.text).toBe("I look.");
    expect(first?.finishReason).toBe("tool-calls");
    expect(answer.steps).toHaveLength(2);
  });

  test("an object is what its schema allows", async () => {
    const template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    const files = modelFolder(anythingWriter({ contextLength: 300, chatTemplate: template }));
    const writer = createWordloom(await TextGenerator.load(files, { backend: "reference" }))();
    const schema = jsonSchema<{ n: number }>({
      ...{ type: "object", properties: { n: { type: "integer", minimum: 3, maximum: 5 } } },
      ...{ required: ["n"], additionalProperties: false },
    });
    const { output } = await generateText({ model: writer, prompt: "Hi", output: Output.object({ schema }) });
    expect([3, 4, 5]).toContain(output.n);
  });

  test("what cannot be enforced is a warning", async () => {
    const responseFormat = { type: "json" as const };
    const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }] }];
    const tool = { type: "function" as const, name: "weather", inputSchema: { type: "object" as const } };
    const { warnings } = await model.doGenerate({ prompt, responseFormat, tools: [tool], reasoning: "low" });
    expect(warnings).toMatchObject([
      { type: "unsupported", feature: "responseFormat" },
      { type: "unsupported", feature: "reasoning" },
    ]);
  });

  test.each([
    [
      "an image",
      {
        messages: [
          {
            role: "user" as const,
            content: [{ type: "file" as const, data: new Uint8Array(4), mediaType: "image/png" }],
          },
        ],
      },
    ],
    ["a forced call", { prompt: "Hi", tools: { weather: weather() }, toolChoice: "required" as const }],
    ["an unknown option", { prompt: "Hi", providerOptions: { wordloom: { frobnicate: 1 } } }],
  ])("%s is refused", async (_, settings) => {
    await expect(generateText({ model, maxRetries: 0, ...settings })).rejects.toThrow(/not supported|no option/);
  });

  test("an abort", async () => {
    const abortSignal = AbortSignal.abort(new DOMException("enough", "AbortError"));
    await expect(generateText({ model, prompt: "Hi", abortSignal })).rejects.toThrow(/enough/);
  });
});

describe("streamText", () => {
  test("text in pieces, then usage and finish reason", async () => {
    const answer = streamText({ model, prompt: "Hi" });
    const pieces = [];
    for await (const piece of answer.textStream) pieces.push(piece);
    expect(pieces.join("")).toBe("Hello world.");
    expect(pieces.length).toBeGreaterThan(1);
    expect(await answer.finishReason).toBe("stop");
    expect((await answer.usage).outputTokens).toBe(4);
  });

  test("reasoning, text and a call are told apart", async () => {
    const answer = streamText({ model, prompt: "Rain?", tools: { weather: weather() }, ...calls });
    const told: string[] = [];
    for await (const part of answer.fullStream) {
      if (part.type === "reasoning-delta" || part.type === "text-delta") told.push(`${part.type} ${part.text}`);
      else if (part.type === "tool-call") told.push(`${part.type} ${part.toolName} ${JSON.stringify(part.input)}`);
      else if (/^(text|reasoning)-(start|end)$/.test(part.type)) told.push(part.type);
    }
    expect(told).toEqual([
      ...["reasoning-start", "reasoning-delta Hm.", "reasoning-end"],
      ...["text-start", "text-delta I look.", "text-end"],
      'tool-call weather {"city":"Oslo"}',
    ]);
    expect(await answer.finishReason).toBe("tool-calls");
  });

  test("an abort ends the stream and the answer", async () => {
    let stopped = false;
    const endless: AdaptedGenerator = {
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: (_, options) => ({
        end: new Promise(() => {}),
        async *[Symbol.asyncIterator]() {
          options?.signal?.addEventListener("abort", () => (stopped = true), { once: true });
          for (;;) {
            await new Promise((resolve) => setTimeout(resolve, 1));
            options?.signal?.throwIfAborted();
            yield { text: "x", tokens: [] };
          }
        },
      }),
    };
    const controller = new AbortController();
    const answer = streamText({ model: createWordloom(endless)(), prompt: "Hi", abortSignal: controller.signal });
    let aborted = false;
    let count = 0;
    for await (const part of answer.fullStream) {
      if (part.type === "text-delta" && ++count === 3) controller.abort();
      if (part.type === "abort") aborted = true;
    }
    expect(aborted).toBe(true);
    expect(stopped).toBe(true);
  });

  test("a failure before the first token, and one in the middle", async () => {
    const failing = (text: string): AdaptedGenerator => ({
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: () => ({
        end: new Promise(() => {}),
        async *[Symbol.asyncIterator]() {
          if (text !== "") yield { text, tokens: [] };
          throw new Error("the GPU is gone");
        },
      }),
    });
    for (const text of ["", "So"]) {
      const errors: unknown[] = [];
      const answer = streamText({
        ...{ model: createWordloom(failing(text))(), prompt: "Hi", maxRetries: 0 },
        onError: ({ error }) => void errors.push(error),
      });
      await answer.consumeStream();
      expect(String(errors[0])).toMatch(/the GPU is gone/);
    }
  });
});

describe("models", () => {
  test("have the names they were given, and are loaded when first used", async () => {
    let loaded = 0;
    const provider = createWordloom({
      small: () => {
        loaded++;
        return generator;
      },
      large: Promise.resolve(generator),
    });
    expect(loaded).toBe(0);
    expect((await generateText({ model: provider("small"), prompt: "Hi" })).text).toBe("Hello world.");
    expect((await generateText({ model: provider.languageModel("large"), prompt: "Hi" })).text).toBe("Hello world.");
    await generateText({ model: provider(), prompt: "Hi" });
    expect(loaded).toBe(1);
    expect(() => provider("medium")).toThrow(/medium.*small, large/);
    expect(() => provider.embeddingModel("small")).toThrow(/no embedding models/);
  });
});
