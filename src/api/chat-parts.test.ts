/** Tools, reasoning and template options through the public API, with a model whose answers are written down. */
import { describe, expect, test } from "vitest";
import type { AnswerPart } from "../chat/answer-parts";
import { joinParts } from "../chat/assistant-message";
import { loadScriptedChat, TOOL_TEMPLATE, type AnswerPiece } from "../testing/scripted-chat";
import type { GenerateOptions } from "./generate-options";
import type { TextGenerator } from "./text-generator";

const question = [{ role: "user", content: "Rain?" }];
const tools = [{ name: "weather", description: "of a city", parameters: { type: "object", properties: {} } }];
const THOUGHTS: AnswerPiece[] = [
  { token: "<think>", visible: true },
  "Hm. ",
  "Yes.",
  { token: "</think>", visible: true },
];
const CALL: AnswerPiece[] = [
  { token: "<tool_call>", visible: true },
  '{"name": "weather", ',
  '"arguments": {"city": "Oslo"}}',
  { token: "</tool_call>", visible: true },
];

async function answerOf(generator: TextGenerator, options: GenerateOptions = {}, messages = question) {
  const run = generator.generate(messages, options);
  const parts: AnswerPart[] = [];
  let text = "";
  for await (const chunk of run) {
    text += chunk.text;
    parts.push(...(chunk.parts ?? []));
  }
  return { text, parts: joinParts(parts), message: await run.message(), end: await run.end };
}

describe("an answer to messages has parts", async () => {
  const generator = await loadScriptedChat({
    template: TOOL_TEMPLATE,
    answers: { ">": [...THOUGHTS, "I look.", ...CALL], "~": ["It rains."], "!": ["No thoughts."], x: ["y and so on"] },
  });

  test("reasoning, text and a call; the text itself is as the model wrote it", async () => {
    const { text, parts, message } = await answerOf(generator, { tools });
    expect(text).toBe(
      '<think>Hm. Yes.</think>I look.<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>',
    );
    expect(parts).toEqual([
      { type: "reasoning", text: "Hm. Yes." },
      { type: "text", text: "I look." },
      {
        type: "tool-call",
        id: expect.stringMatching(/^[\w]{9}$/) as string,
        name: "weather",
        arguments: { city: "Oslo" },
      },
    ]);
    expect(message).toMatchObject({ role: "assistant", content: "I look.", reasoning_content: "Hm. Yes." });
  });

  test("the message, with the tool's result after it, is the next prompt", async () => {
    const run = generator.generate(question, { tools });
    const message = await run.message();
    const id = message.tool_calls?.[0]?.id ?? "none";
    const result = { role: "tool", tool_call_id: id, name: "weather", content: "rain" };
    const { text } = await answerOf(generator, { tools }, [...question, message, result]);
    expect(text).toBe("It rains.");
  });

  test("without tools a call stays text", async () => {
    const { parts } = await answerOf(generator);
    expect(parts.map(({ type }) => type)).toEqual(["reasoning", "text"]);
  });

  test("cut by the limit, a call is text with the reason", async () => {
    const { parts, end } = await answerOf(generator, { tools, maxNewTokens: 7 });
    expect(end.finishReason).toBe("length");
    expect(parts.at(-1)).toEqual({
      type: "text",
      text: '<tool_call>{"name": "weather", ',
      malformedCall: expect.stringMatching(/without its end/) as string,
    });
  });

  test("stopped by a string, what was held is told", async () => {
    const { parts } = await answerOf(generator, { tools, stop: "I look" });
    expect(parts).toEqual([{ type: "reasoning", text: "Hm. Yes." }]);
  });

  test("a template option reaches the template", async () => {
    const { text } = await answerOf(generator, { templateOptions: { enable_thinking: false } });
    expect(text).toBe("No thoughts.");
  });

  test("the last message goes on", async () => {
    const begun = [...question, { role: "assistant", content: "so x" }];
    const { text } = await answerOf(generator, { continueFinalMessage: true }, begun);
    expect(text).toBe("y and so on");
  });

  test("the prompt's length is known before", async () => {
    const ids = await generator.tokenize(question, { tools });
    const { end } = await answerOf(generator, { tools });
    expect(ids).toHaveLength(end.usage.promptTokens);
    expect((await generator.tokenize(question)).length).toBeLessThan(ids.length);
    await expect(generator.tokenize(question, { addSpecialTokens: false })).rejects.toThrow(/addSpecialTokens/);
  });

  test("text and ids have no parts", async () => {
    for await (const chunk of generator.generate("x")) expect(chunk.parts).toBeUndefined();
    expect(await generator.generate("x").message()).toEqual({ role: "assistant", content: "y and so on" });
  });

  test.each([
    ["tools", { tools: {} }, /tools is an object/],
    ["a tool's name", { tools: [{ name: "a b" }] }, /tools\[0\]\.name/],
    ["two of one name", { tools: [{ name: "a" }, { name: "a" }] }, /two tools/],
    ["a tool's field", { tools: [{ name: "a", strict: true }] }, /strict/],
    ["a tool's parameters", { tools: [{ name: "a", parameters: "{}" }] }, /tools\[0\]\.parameters/],
    ["template options", { templateOptions: [] }, /templateOptions/],
    ["a template option that is not read", { templateOptions: { thinking: 1 } }, /does not read/],
  ])("%s are checked", async (_, options, message) => {
    const wrong = options as unknown as GenerateOptions;
    const run = generator.generate(question, wrong);
    await expect(run.text()).rejects.toMatchObject({
      code: "option-invalid",
      message: expect.stringMatching(message) as string,
    });
  });

  test.each([[{ tools }], [{ templateOptions: { enable_thinking: false } }], [{ continueFinalMessage: true }]])(
    "%j needs messages",
    async (options) => {
      await expect(generator.generate("x", options).text()).rejects.toThrow(/needs input that is chat messages/);
    },
  );
});

describe("marks that are special tokens", () => {
  test("are no text, and begin a call", async () => {
    const generator = await loadScriptedChat({
      template: TOOL_TEMPLATE.replace("<tool_call>", "[TOOL_CALLS]"),
      answers: { ">": ["I look. ", { token: "[TOOL_CALLS]" }, '[{"name": "weather", ', '"arguments": {}}]'] },
    });
    const { text, parts } = await answerOf(generator, { tools });
    expect(text).toBe('I look. [{"name": "weather", "arguments": {}}]');
    expect(parts).toEqual([
      { type: "text", text: "I look." },
      { type: "tool-call", id: expect.any(String) as string, name: "weather", arguments: {} },
    ]);
  });

  test("reasoning that the template has begun", async () => {
    const generator = await loadScriptedChat({
      template: "{{ messages[0].content }}>[THINK]",
      answers: { ">": [{ token: "[THINK]" }, "Hm. ", { token: "[/THINK]" }, "Yes."] },
    });
    expect((await answerOf(generator)).parts).toEqual(
      [
        { type: "reasoning", text: "Hm. " },
        { type: "text", text: "Yes." },
      ].map((part) => ({ ...part, text: part.text.trim() })),
    );
  });
});

describe("tools that cannot be offered", () => {
  test.each([
    ["a template without a place for them", "{{ messages[0].content }}>", /no place for tools/],
    ["calls in no known format", "{{ tools | tojson }}>", /not known/],
  ])("%s", async (_, template, message) => {
    const generator = await loadScriptedChat({ template, answers: { ">": ["Well."] } });
    await expect(generator.generate(question, { tools }).text()).rejects.toMatchObject({
      code: "tools-unsupported",
      message: expect.stringMatching(message) as string,
    });
    expect(await generator.generate(question).text()).toBe("Well.");
  });
});
