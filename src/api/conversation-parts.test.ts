/** Reasoning and calls of tools in a conversation, with a model whose answers are written down. */
import { afterAll, expect, test } from "vitest";
import { loadScriptedChat, TOOL_TEMPLATE, type AnswerPiece } from "../testing/scripted-chat";

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
const generator = await loadScriptedChat({
  template: TOOL_TEMPLATE,
  answers: { ">": [...THOUGHTS, "I look.", ...CALL], "~": ["It rains."], "!": ["No thoughts."] },
});
afterAll(() => generator.dispose());
const tools = [{ name: "weather", description: "of a city", parameters: { type: "object", properties: {} } }];

test("a call stays in its message, the tool's answer follows it, and reasoning is beside the text", async () => {
  const chat = generator.conversation({ tools });
  const asked = await chat.send("Rain?").message();
  const [call] = asked.tool_calls ?? [];
  expect(call?.function).toEqual({ name: "weather", arguments: { city: "Oslo" } });
  const result = { role: "tool", tool_call_id: call?.id ?? "", name: "weather", content: "rain" };
  expect(await chat.send(result).text()).toBe("It rains.");
  expect(chat.messages).toEqual([
    { role: "user", content: "Rain?" },
    { role: "assistant", content: "I look.", reasoning_content: "Hm. Yes.", tool_calls: [call] },
    result,
    { role: "assistant", content: "It rains." },
  ]);
  expect(chat.turnCount).toBe(1);
});

test("a template that leaves out earlier reasoning has none in the next prompt, which is what `generate` would make", async () => {
  const chat = generator.conversation();
  await chat.send("Rain?").end;
  const prompt = await generator.tokenize([...chat.messages, { role: "user", content: "So?" }]);
  expect(await generator.detokenize(prompt)).not.toContain("Hm.");
  const { usage } = await chat.send("So?").end;
  expect(usage.promptTokens).toBeLessThanOrEqual(prompt.length);
  expect(usage.cachedTokens).toBeGreaterThan("user:Rain?;".length - 1); // up to the answer, nothing has changed
});

test("template options are those of all its answers, and a restored one has them and its tools, too", async () => {
  const chat = generator.conversation({ tools, templateOptions: { enable_thinking: false } });
  expect(await chat.send("Rain?").text()).toBe("No thoughts.");
  const restored = await generator.restore(await chat.toBlob());
  expect(await restored.send("And now?").text()).toBe("No thoughts.");
  const without = generator.conversation({ templateOptions: { enable_thinking: false } });
  await without.send("Rain?").end;
  expect(await restored.countTokens("x")).toBeGreaterThan(await without.countTokens("x"));
});
