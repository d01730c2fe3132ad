/** Published chat templates and single features against Python's transformers: testing/tokenizer-golden/make_templates.py. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { renderChat } from "./chat-template";
import type { ChatMessage } from "./tokenizer";

type Rendered = string | { error: string };
const golden = JSON.parse(
  readFileSync(new URL("../testing/tokenizer-golden/templates.json", import.meta.url), "utf8"),
) as {
  conversations: { name: string; messages: ChatMessage[]; variables: Record<string, unknown> }[];
  families: { family: string; source: string; template: string; tokens: Record<string, string>; texts: Rendered[] }[];
  snippet_messages: ChatMessage[];
  snippets: { template: string; text: Rendered }[];
};
const NOW = () => new Date(2026, 2, 5, 9, 7, 3);
const TIMEOUT_MS = 60_000;

async function expectRendered(expected: Rendered, actual: Promise<string>, label: string): Promise<void> {
  if (typeof expected === "string") {
    expect(await actual, label).toBe(expected);
    return;
  }
  // Python fails too: the words of a template's own raise_exception come through, other errors have their own words.
  const own = /^TemplateError: (.*)$/s.exec(expected.error)?.[1] ?? "";
  await expect(actual, label).rejects.toMatchObject({
    code: "template-failed",
    message: expect.stringContaining(own) as string,
  });
}

describe("published templates render as with Python", () => {
  test("there are at least ten families, and most conversations are rendered rather than refused", () => {
    expect(golden.families.length).toBeGreaterThanOrEqual(10);
    for (const { texts } of golden.families) expect(texts).toHaveLength(golden.conversations.length);
    const texts = golden.families.flatMap((family) => family.texts);
    expect(texts.filter((text) => typeof text === "string").length).toBeGreaterThan(texts.length * 0.8);
  });

  test.each(golden.families)("$family ($source)", async ({ template, tokens, texts }) => {
    for (const [i, { name, messages, variables }] of golden.conversations.entries()) {
      const expected = texts[i];
      if (expected === undefined) throw new Error(`no text for "${name}"`);
      await expectRendered(expected, renderChat(template, messages, { ...tokens, ...variables }, NOW), name);
    }
  });
});

test.each(golden.snippets)("as with Python: $template", async ({ template, text }) => {
  await expectRendered(text, renderChat(template, golden.snippet_messages, {}, NOW), template);
});

describe("a template without end is stopped", () => {
  test("1,000 messages are far from the bounds, with every published template", { timeout: TIMEOUT_MS }, async () => {
    const messages = Array.from({ length: 1000 }, (_, i): ChatMessage => {
      return { role: i % 2 === 0 ? "user" : "assistant", content: "It was a dark and stormy night. ".repeat(30) };
    });
    for (const { template, tokens } of golden.families) {
      const text = await renderChat(template, messages, tokens, NOW);
      expect(text.split("dark and stormy").length).toBe(30_001);
    }
  });

  test.each([
    ["loops in loops", "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}", /steps/],
    ["a macro that calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", /stack/],
    ["a range without end", "{{ range(1000000000) | length }}", /range/],
    ["a repeated string", "{{ 'a' * 300000000 }}", /characters/],
    ["a deep indent", "{{ 'a' | indent(300000000, true) }}", /indent/],
    [
      "a string that doubles",
      "{% set n = namespace(s='aa') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
      /characters/,
    ],
    [
      "a list that doubles",
      "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
      /steps/,
    ],
    [
      "a nested list, written as JSON",
      "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s | tojson }}",
      /steps/,
    ],
    ["much text", "{% set s = 'ab' * 100000 %}{% for i in range(90000) %}{{ s }}{% endfor %}", /characters/],
    ["blanks in a row", `{{ 1 }}${" ".repeat(100_000)}`, /blanks/],
    ["a long template", "x".repeat(300_000), /300000 characters/],
    ["deep parentheses", `{{ ${"(".repeat(60_000)}1${")".repeat(60_000)} }}`, /stack/],
  ])("%s", { timeout: TIMEOUT_MS }, async (_, template, message) => {
    await expect(renderChat(template, [{ role: "user", content: "hi" }], {})).rejects.toMatchObject({
      code: "template-failed",
      message: expect.stringMatching(message) as string,
    });
  });
});
