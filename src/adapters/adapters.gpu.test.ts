/** The client packages `openai` and `ai`, unchanged, and a page's own use of `LanguageModel`, in a browser on WebGPU. */
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TextGenerator } from "../api/text-generator";
import { scriptedChatFiles, TOOL_TEMPLATE } from "../testing/scripted-chat";
import { BUNDLED_URL } from "../testing/served-models";
import { createWordloom } from "./ai-sdk";
import { createOpenAIFetch } from "./openai";
import { installLanguageModel, type LanguageModelStatic } from "./prompt-api";

const token = (of: string) => ({ token: of, visible: true });
let generator: TextGenerator;

/** In a worker, as pages have it. */
beforeAll(async () => {
  const files = scriptedChatFiles({
    template: TOOL_TEMPLATE,
    answers: {
      ">": ["Hel", "lo ", "wor", "ld."],
      "~": ["It rains", " in Oslo."],
      "!": [
        ...[token("<think>"), "Hm.", token("</think>"), "I look."],
        ...[token("<tool_call>"), '{"name": "weather", "arguments": ', '{"city": "Oslo"}}', token("</tool_call>")],
      ],
    },
  });
  generator = await TextGenerator.load(files, { backend: "webgpu", dtype: "f32" });
});
afterAll(() => generator.dispose());

const parameters = { type: "object" as const, properties: { city: { type: "string" as const } } };
const noThoughts = { enable_thinking: false };

describe("the openai package", () => {
  const client = () =>
    new OpenAI({
      ...{ apiKey: "-", baseURL: "http://wordloom/v1", dangerouslyAllowBrowser: true },
      fetch: createOpenAIFetch(generator),
    });
  const messages = [{ role: "user" as const, content: "Hi" }];

  test("whole and streamed answers", async () => {
    const answer = await client().chat.completions.create({ model: "wordloom", messages });
    expect(answer.choices[0]?.message.content).toBe("Hello world.");
    expect(answer.system_fingerprint).toBe("wordloom-webgpu-f32");
    const stream = await client().chat.completions.create({ model: "wordloom", messages, stream: true });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("Hello world.");
  });

  test("its own loop of tools", async () => {
    const asked: unknown[] = [];
    const runner = client().chat.completions.runTools({
      ...{ model: "wordloom", messages, chat_template_kwargs: noThoughts },
      tools: [
        {
          type: "function",
          function: {
            ...{ name: "weather", description: "of a city", parameters },
            parse: (given: string) => JSON.parse(given) as unknown,
            function: (given: unknown) => {
              asked.push(given);
              return "rain";
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("It rains in Oslo.");
    expect(asked).toEqual([{ city: "Oslo" }]);
  });
});

test("the ai package: text, reasoning and tools", async () => {
  const model = createWordloom(generator)();
  const pieces = [];
  for await (const piece of streamText({ model, prompt: "Hi" }).textStream) pieces.push(piece);
  expect(pieces.join("")).toBe("Hello world.");
  const weather = tool({ description: "of a city", inputSchema: jsonSchema(parameters), execute: () => "rain" });
  const answer = await generateText({
    ...{ model, prompt: "Rain?", tools: { weather }, stopWhen: stepCountIs(3) },
    providerOptions: { wordloom: { templateOptions: noThoughts } },
  });
  expect(answer.text).toBe("It rains in Oslo.");
  expect(answer.steps[0]?.reasoningText).toBe("Hm.");
});

test("the Prompt API as a page uses it", async () => {
  const scope: { LanguageModel?: LanguageModelStatic } = {};
  expect(installLanguageModel(generator, { scope })).toBe(true);
  const session = await scope.LanguageModel?.create();
  if (!session) throw new Error("nothing was installed");
  let text = "";
  for await (const piece of session.promptStreaming("Hi")) text += typeof piece === "string" ? piece : "";
  expect(text).toBe("Hello world.");
  await expect(session.prompt("x".repeat(4000))).rejects.toMatchObject({ name: "QuotaExceededError" });
  const answer = session.prompt("Hi");
  session.destroy();
  await expect(answer).rejects.toMatchObject({ name: "AbortError" });
});

test("the bundled model, which has no chat, continues texts for the openai package", async () => {
  const stories = await TextGenerator.load(BUNDLED_URL, { backend: "webgpu" });
  const fetch = createOpenAIFetch({ stories });
  const client = new OpenAI({ apiKey: "-", baseURL: "http://wordloom/v1", dangerouslyAllowBrowser: true, fetch });
  const request = { model: "stories", prompt: "Once upon a time", max_tokens: 8, temperature: 0 };
  const whole = await client.completions.create(request);
  let streamed = "";
  for await (const chunk of await client.completions.create({ ...request, stream: true })) {
    streamed += chunk.choices[0]?.text ?? "";
  }
  expect(streamed).toBe(whole.choices[0]?.text);
  expect(whole.usage?.completion_tokens).toBe(8);
  const messages = [{ role: "user" as const, content: "Hi" }];
  await expect(client.chat.completions.create({ model: "stories", messages })).rejects.toMatchObject({
    ...{ status: 400, code: "template-missing" },
  });
  await stories.dispose();
});
