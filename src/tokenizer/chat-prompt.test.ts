import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { caseOf } from "../testing/cases/case-file";
import { chatPrompt } from "./chat-prompt";
import { createTokenizer } from "./load-tokenizer";
import type { ChatMessage, ChatOptions } from "./tokenizer";

const { families } = JSON.parse(
  readFileSync(new URL("../testing/tokenizer-golden/templates.json", import.meta.url), "utf8"),
) as { families: { family: string; template: string; tokens: Record<string, string> }[] };

const SPECIALS = ["<|im_start|>", "<|im_end|>"];
const hello: ChatMessage[] = [{ role: "user", content: "Hello" }];
const weather = {
  name: "get_weather",
  description: "Weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};

async function prompt(family: string, messages: readonly ChatMessage[], options: ChatOptions): Promise<string> {
  const found = families.find((one) => one.family === family);
  if (!found) throw new Error(`there is no template of ${family}`);
  const template = { template: found.template, variables: found.tokens, specials: SPECIALS };
  return (await chatPrompt(messages, options, template)).text;
}

describe("tools", () => {
  test.each(["qwen2.5", "qwen3", "qwen3-coder", "llama3.2", "granite3.3", "granite4", "phi4-mini"])(
    "the template of %s shows name, description and parameters",
    async (family) => {
      const text = await prompt(family, hello, { tools: [weather] });
      for (const part of ["get_weather", "Weather of a city", "city"]) expect(text).toContain(part);
      expect(await prompt(family, hello, {})).not.toContain("get_weather");
    },
  );

  test("Phi reads them from the system message, which keeps its text", async () => {
    const messages = [{ role: "system", content: "Be brief." }, ...hello];
    const text = await prompt("phi4-mini", messages, { tools: [weather] });
    expect(text).toContain(`<|system|>Be brief.<|tool|>${JSON.stringify([weather])}<|/tool|><|end|>`);
  });

  test.each(["smollm2", "gemma3", "llama3"])("the template of %s has no place for them", async (family) => {
    await expect(prompt(family, hello, { tools: [weather] })).rejects.toMatchObject({ code: "tools-unsupported" });
  });
});

describe("template options", () => {
  test("reach the template", async () => {
    expect(await prompt("qwen3", hello, {})).toMatch(/assistant\n$/);
    const text = await prompt("qwen3", hello, { templateOptions: { enable_thinking: false } });
    expect(text).toMatch(/assistant\n<think>\n\n<\/think>\n\n$/);
  });

  test.each(["messages", "tools", "add_generation_prompt", "raise_exception", "strftime_now", "loop", "true"])(
    "%s is not free",
    async (name) => {
      const options = { templateOptions: { [name]: 1 } };
      await expect(prompt("qwen3", hello, options)).rejects.toMatchObject({ code: "option-invalid" });
    },
  );

  test("a special token's name is not free, and what the template does not read is refused", async () => {
    const template = { template: "{{ bos_token }}", variables: { bos_token: "<s>" }, specials: [] };
    await expect(chatPrompt(hello, { templateOptions: { bos_token: "x" } }, template)).rejects.toThrow(/not free/);
    await expect(prompt("qwen3", hello, { templateOptions: { thinking: true } })).rejects.toThrow(/does not read/);
    await expect(prompt("qwen3", hello, { templateOptions: { "a.b": true } })).rejects.toThrow(/does not read/);
  });
});

describe("the last message goes on", () => {
  const begun = (content: string): ChatMessage[] => [...hello, { role: "assistant", content }];

  test.each(families.map(({ family }) => family))("with the template of %s", async (family) => {
    const text = await prompt(family, begun("Once upon"), { continueFinalMessage: true });
    expect(text).toMatch(/Once upon$/);
    expect(text).toContain("Hello");
  });

  test("also where the template's own end spells the same, and with its blanks", async () => {
    expect(await prompt("smollm2", begun("im_end "), { continueFinalMessage: true })).toMatch(/assistant\nim_end $/);
    expect(await prompt("smollm2", begun("```toml\n"), { continueFinalMessage: true })).toMatch(
      /assistant\n```toml\n$/,
    );
  });

  test.each([[hello], [[...hello, { role: "assistant", content: [{ type: "text", text: "a" }] }]]])(
    "refused without a text of the assistant at the end",
    async (messages) => {
      const answer = prompt("smollm2", messages as ChatMessage[], { continueFinalMessage: true });
      await expect(answer).rejects.toMatchObject({ code: "option-invalid" });
    },
  );
});

test("a control token spelled in a tool or a template option stays text, in keys too", async () => {
  const { input } = caseOf<{ tokenizer_json: unknown }, unknown>("chat-injection");
  const chatTemplate = "{{ tools | tojson }}{{ note }}";
  const tokenizer = createTokenizer({ tokenizerJson: input.tokenizer_json, tokenizerConfig: undefined, chatTemplate });
  const tools = [
    {
      name: "<|im_end|>",
      description: "<|im_start|>",
      parameters: { type: "object", properties: { "<|im_end|>": { type: "string" } } },
    },
  ];
  const ids = await tokenizer.encodeChat(hello, { tools, templateOptions: { note: "<|im_end|>" } });
  expect([...ids].filter((id) => id < 3)).toEqual([]);
  expect(tokenizer.decode(ids).split("<|im_end|>")).toHaveLength(4);
});
