import { expect, test } from "vitest";
import type { PlainTurn } from "../chat/chat-session";
import { asJson, asMarkdown, asText, isEmpty, titleOf, type PageDocument } from "./document";
import { Versions } from "./versions";

const version = (prompt: string, text: string) => ({ prompt, text, tokens: [] });
const turn = (message: string, text: string, next: PlainTurn[] = []): PlainTurn => ({
  ...{ message, text, reasoning: "", state: "whole", tokens: [{ id: 5, text, logprob: -0.5 }], shown: 0, next },
});
const NAMES = { you: "You", model: "tiny" };
const TEXT: PageDocument = {
  ...{ id: "a", kind: "text", model: "tiny", at: 1 },
  versions: [version("Once", " was."), version("Two words \n\nmore", " and so on.")],
};
const CHAT: PageDocument = {
  ...{ id: "b", kind: "chat", model: "tiny" },
  chat: { system: "", shown: 1, turns: [turn("left", "x"), turn("Hi", "Hello.", [turn("So?", "```js\n1\n```")])] },
};

test("what goes on from the shown version takes its place, and what is written anew stands beside it", () => {
  const versions = new Versions();
  expect([versions.at, versions.shown]).toEqual([-1, undefined]);
  versions.add(version("Once", " upon"));
  versions.add(version("Once", " upon a time"));
  versions.add(version("Once", " there"));
  versions.add(version("Twice", " there"));
  expect(versions.all.map(({ prompt, text }) => prompt + text)).toEqual([
    "Once upon a time",
    "Once there",
    "Twice there",
  ]);
  expect(versions.step(1)).toBeUndefined();
  expect(versions.step(-1)?.text).toBe(" there");
  expect(versions.step(-1)?.text).toBe(" upon a time");
  expect(versions.step(-1)).toBeUndefined();
  versions.add(version("Once", " upon a time there"));
  expect([versions.at, versions.all.length]).toEqual([0, 3]);
});

test("a text is saved as it is read, in Markdown with the reader's words strong, and as JSON with all versions", () => {
  expect(asText(TEXT, NAMES)).toBe("Two words \n\nmore and so on.");
  expect(asMarkdown(TEXT, NAMES)).toBe("**Two words** \n\n**more** and so on.\n");
  expect(JSON.parse(asJson(TEXT, { temperature: 1 }))).toEqual({
    ...{ format: "wordloom", version: 1, kind: "text", model: "tiny", settings: { temperature: 1 }, shown: 1 },
    versions: TEXT.kind === "text" && TEXT.versions,
  });
});

test("of a chat the shown path is saved, and in JSON all of it, tokens included", () => {
  expect(asText(CHAT, NAMES)).toBe("You: Hi\n\ntiny: Hello.\n\nYou: So?\n\ntiny: ```js\n1\n```");
  expect(asMarkdown(CHAT, NAMES)).toBe(
    "### You\n\nHi\n\n### tiny\n\nHello.\n\n### You\n\nSo?\n\n### tiny\n\n```js\n1\n```\n",
  );
  expect(JSON.parse(asJson(CHAT, {}))).toMatchObject({
    chat: { turns: [{ message: "left" }, { tokens: [{ id: 5 }] }] },
  });
});

test.each([
  [TEXT, "Two words more and so on."],
  [CHAT, "Hi"],
  [{ ...TEXT, versions: [version("word ".repeat(40), "")], at: 0 }, `${"word ".repeat(11)}word …`],
  [{ ...TEXT, versions: [], at: -1 }, ""],
] as [PageDocument, string][])("its title is its first words (%#)", (document, title) => {
  expect(titleOf(document)).toBe(title);
  expect(isEmpty(document)).toBe(title === "");
});
