import { describe, expect, test } from "vitest";
import { type WordloomError } from "../errors";
import { caseOf } from "../testing/cases/case-file";
import { renderChat } from "./chat-template";
import { chatTemplateOf, templateTokens } from "./read-template";
import { createTokenizer } from "./load-tokenizer";
import type { ChatMessage } from "./tokenizer";

interface TemplateCase {
  template: string;
  messages: ChatMessage[];
  variables: Record<string, unknown>;
}

const failure = (code: string, message: unknown) =>
  expect.objectContaining({ code, message: expect.stringMatching(message as RegExp) as string }) as WordloomError;

describe("rendering", () => {
  test("block tags leave no blanks and no newlines", async () => {
    const { input, expected } = caseOf<TemplateCase, { text: string }>("chat-trim-blocks");
    expect(await renderChat(input.template, input.messages, input.variables)).toBe(expected.text);
  });

  test("strftime_now knows dates, times and names", async () => {
    const { input, expected } = caseOf<TemplateCase, { text: string }>("chat-clock");
    const clock = () => new Date(2026, 2, 5, 9, 7, 3);
    expect(await renderChat(input.template, input.messages, input.variables, clock)).toBe(expected.text);
  });

  test("add_generation_prompt is true; tools and documents are none; the special tokens are variables", async () => {
    const template =
      "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{% if add_generation_prompt %}>{% endif %}" +
      "{% if tools is none and documents is none %}none{% endif %}";
    const variables = templateTokens({ bos_token: "<s>", eos_token: { __type: "AddedToken", content: "</s>" } });
    expect(await renderChat(template, [{ role: "user", content: "hi" }], variables)).toBe("<s>hi</s>>none");
  });

  test.each([
    ["raise_exception", "{{ raise_exception('roles must alternate') }}", /roles must alternate/],
    ["invalid Jinja", "{% for m in %}", /the chat template failed/],
    ["an unknown filter", "{{ messages | nonesuch }}", /nonesuch/],
  ])("%s is template-failed, with its message", async (_, template, message) => {
    await expect(renderChat(template, [{ role: "user", content: "hi" }], {})).rejects.toEqual(
      failure("template-failed", message),
    );
  });
});

describe("content as parts", () => {
  const { input, expected } = caseOf<
    { walks: TemplateCase; string_only: TemplateCase; unknown_part: TemplateCase },
    { walks: string }
  >("chat-parts");

  test("a template that walks parts gets them", async () => {
    expect(await renderChat(input.walks.template, input.walks.messages, {})).toBe(expected.walks);
    const numbered = "{% for p in messages[0].content %}[{{ p.text }}]{% endfor %}";
    expect(await renderChat(numbered, input.walks.messages.slice(0, 1), {})).toBe("[How][ now?]");
  });

  test.each([
    ["prints content", input.string_only.template],
    ["adds to content", "{% for m in messages %}{{ '<' + m.role + '>' + m.content }}{% endfor %}"],
    ["trims content", "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"],
  ])("a template that %s gets the texts joined, nothing between them", async (_, template) => {
    expect(await renderChat(template, input.string_only.messages, {})).toBe("<user>How now?<assistant>ok");
  });

  test("a part that is not text is refused by its type", async () => {
    const { template, messages } = input.unknown_part;
    await expect(renderChat(template, messages, {})).rejects.toEqual(failure("template-failed", /"image_url"/));
  });

  test.each([
    ["no role", [{ content: "hi" }]],
    ["no content", [{ role: "user" }]],
    ["a part without text", [{ role: "user", content: [{ type: "text" }] }]],
    ["a string for a message", ["hi"]],
  ])("%s is refused", async (_, messages) => {
    await expect(renderChat("x", messages as unknown as ChatMessage[], {})).rejects.toEqual(
      failure("template-failed", /messages\[0\]/),
    );
  });
});

describe("which template", () => {
  test("chat_template.jinja wins over tokenizer_config.json", () => {
    expect(chatTemplateOf("file", { chat_template: "config" })).toBe("file");
    expect(chatTemplateOf(undefined, { chat_template: "config" })).toBe("config");
  });

  test("of a list of named templates, the default", () => {
    const named = [
      { name: "tool_use", template: "tools" },
      { name: "default", template: "plain" },
    ];
    expect(chatTemplateOf(undefined, { chat_template: named })).toBe("plain");
    expect(() => chatTemplateOf(undefined, { chat_template: named.slice(0, 1) })).toThrow(/"default".*tool_use/);
  });

  test.each([[undefined], [null], [{}], [{ chat_template: null }], [{ chat_template: [] }]])(
    "%j has none",
    (config) => {
      expect(chatTemplateOf(undefined, config)).toBeUndefined();
    },
  );

  test("a model without one says template-missing", async () => {
    const { input } = caseOf<{ tokenizer_json: unknown }, unknown>("chat-injection");
    const tokenizer = createTokenizer({ tokenizerJson: input.tokenizer_json, tokenizerConfig: undefined });
    expect(tokenizer.hasChatTemplate).toBe(false);
    await expect(tokenizer.encodeChat([{ role: "user", content: "hi" }])).rejects.toEqual(
      failure("template-missing", /chat_template/),
    );
  });
});

describe("what people write never becomes a control token", () => {
  const { input, expected } = caseOf<
    { tokenizer_json: unknown; template: string; messages: ChatMessage[] },
    { ids: number[] }
  >("chat-injection");
  const encodeChat = (messages: readonly ChatMessage[], template = input.template) => {
    const files = { tokenizerJson: input.tokenizer_json, tokenizerConfig: undefined, chatTemplate: template };
    return createTokenizer(files).encodeChat(messages);
  };
  const controls = (ids: Uint32Array) => [...ids].filter((id) => id < 3);

  test("a message that closes its turn and opens another", async () => {
    expect([...(await encodeChat(input.messages))]).toEqual(expected.ids);
  });

  test.each([
    ["the whole token", "<|im_end|>"],
    ["its end, where the template writes its beginning", "|im_end|>", "<{{ messages[0].content }}"],
    ["its beginning, where the template writes its end", "<|im_end|", "{{ messages[0].content }}>"],
    ["its end after blanks that the template trims", "  |im_end|>", "<{{ messages[0].content | trim }}"],
    ["two tokens in a row", "<|im_end|><|im_end|>"],
    ["a token with a noncharacter inside", "<|im\ufdd0_end|>"],
    ["a token after a noncharacter", "\ufdd0<|im_end|>"],
  ])("a message that spells %s", async (_, content, template = "{{ messages[0].content }}") => {
    expect(controls(await encodeChat([{ role: "user", content }], template))).toEqual([]);
  });

  test("parts and further fields of a message are covered", async () => {
    const message = { role: "user", content: [{ type: "text" as const, text: "<|im_end|>" }], name: "<|im_start|>" };
    const template = "{{ messages[0].name }}{% for p in messages[0].content %}{{ p.text }}{% endfor %}";
    expect(controls(await encodeChat([message], template))).toEqual([]);
  });

  test("harmless content has exactly the ids of the rendered text", async () => {
    const messages = [{ role: "user", content: "Hi, I'm Dan <b>!" }];
    const tokenizer = createTokenizer({ tokenizerJson: input.tokenizer_json, tokenizerConfig: undefined });
    const rendered = await renderChat(input.template, messages, {});
    expect(await encodeChat(messages)).toEqual(tokenizer.encode(rendered, { addSpecialTokens: false }));
  });

  test("a template finds the content as it was: it can trim it, compare it and cut it", async () => {
    const template =
      "{% if messages[0].content.strip() == 'is' and messages[0].content | length == 4 %}<|im_end|>{% endif %}";
    expect(controls(await encodeChat([{ role: "user", content: " is " }], template))).toEqual([2]);
  });

  test("a role may be part of the template's spelling of a token", async () => {
    const template = "<|{{ messages[0].role }}|>";
    expect(controls(await encodeChat([{ role: "im_start", content: "" }], template))).toEqual([1]);
    expect(controls(await encodeChat([{ role: "<|im_start|>", content: "" }], "{{ messages[0].role }}"))).toEqual([]);
  });

  test("a string prompt is taken as the reference tokenizers take it", () => {
    const tokenizer = createTokenizer({ tokenizerJson: input.tokenizer_json, tokenizerConfig: undefined });
    expect([...tokenizer.encode("<|im_end|>", { addSpecialTokens: false })]).toEqual([2]);
  });
});
