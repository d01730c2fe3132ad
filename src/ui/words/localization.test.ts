/** Which language is chosen, and that German says all that English says. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import type { LocaleModule } from "@lit/localize";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { chooseLanguage, formatDay, formatNumber, language, useLanguage } from "./localization";
import { templates } from "./german-page";
import * as element from "./german-element";

const ui = join(import.meta.dirname, "..");

interface Message {
  id: string;
  /** How many values stand in it. */
  values: number;
}

/** Every call of `msg` in a source text; an id that is not written out is "". */
function messagesIn(text: string): Message[] {
  const messages: Message[] = [];
  const file = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest);
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === "msg") {
      const [template, options] = node.arguments;
      const property =
        options && ts.isObjectLiteralExpression(options)
          ? options.properties.find((each) => each.name !== undefined && each.name.getText(file) === "id")
          : undefined;
      const id = property && ts.isPropertyAssignment(property) ? property.initializer : undefined;
      const tagged = template && ts.isTaggedTemplateExpression(template) ? template.template : undefined;
      messages.push({
        id: id && ts.isStringLiteral(id) ? id.text : "",
        values: tagged && ts.isTemplateExpression(tagged) ? tagged.templateSpans.length : 0,
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return messages;
}

const sources = readdirSync(ui, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !/\.(test|de)\.ts$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => ({ file: relative(ui, file).split(sep).join("/"), messages: messagesIn(readFileSync(file, "utf8")) }))
  .filter(({ messages }) => messages.length > 0);
const messages = sources.flatMap((source) => source.messages);

/** The numbers of the values that a German text holds, in order: [0, 1]. */
function valuesOf(template: LocaleModule["templates"][string] | undefined): unknown[] {
  return template === undefined || typeof template === "string" ? [] : [...template.values];
}

describe("German", () => {
  test("has each message of the page, and none that is no longer there", () => {
    expect(messages.length).toBeGreaterThan(0);
    expect(Object.keys(templates).sort()).toEqual(messages.map(({ id }) => id).sort());
  });

  test("holds the values that English holds, each once or more, and no other", () => {
    const differing = messages.filter(({ id, values }) => {
      const used = [...new Set(valuesOf(templates[id]))].sort();
      return JSON.stringify(used) !== JSON.stringify(Array.from({ length: values }, (_, index) => index));
    });
    expect(differing).toEqual([]);
  });

  test("of the element alone is the part whose ids begin with element-", () => {
    expect(Object.keys(element.templates).sort()).toEqual(
      Object.keys(templates)
        .filter((id) => id.startsWith("element-"))
        .sort(),
    );
  });
});

test("a message stands in src/ui/words, in the file of its area", () => {
  expect(sources.filter(({ file }) => !file.startsWith("words/")).map(({ file }) => file)).toEqual([]);
  for (const { file, messages } of sources) {
    const [area] = basename(file, ".ts").split("-");
    for (const { id } of messages) expect(id, `an id in ${file}`).toMatch(new RegExp(`^${area}-`));
  }
});

test("the check finds calls by their id, and counts their values", () => {
  expect(messagesIn('msg("a", { id: "x" }); msg(str`a ${b} c ${d}`, { desc: "", id: "y" }); msg("z");')).toEqual([
    { id: "x", values: 0 },
    { id: "y", values: 2 },
    { id: "", values: 0 },
  ]);
});

test.each([
  ["what the address asks", { asked: "de", stored: "en", declared: "en", preferred: ["en"] }, "de"],
  ["what was chosen before", { asked: null, stored: "de", declared: "en", preferred: ["en"] }, "de"],
  ["what the page is written in", { declared: "de-AT", preferred: ["en-GB"] }, "de"],
  ["the first of the browser's that is there", { preferred: ["fr", "de-CH", "en"] }, "de"],
  ["English, where nothing is known", { asked: "tlh", stored: "", preferred: ["fr"] }, "en"],
] as const)("the language is %s", (_, wishes, chosen) => expect(chooseLanguage(wishes)).toBe(chosen));

test("numbers and days are written as the language writes them", async () => {
  const written = () => [
    formatNumber(10.44, 1, { fixed: true }),
    formatNumber(12345, 1),
    formatDay(new Date(2026, 0, 1), new Date(2026, 0, 2)),
  ];
  // There is no window in Node; the messages to it are heard by no one.
  Object.assign(globalThis, { window: new EventTarget() });
  expect(written()).toEqual(["10.4", "12345", "yesterday"]);
  await useLanguage("de");
  expect([language(), ...written()]).toEqual(["de", "10,4", "12345", "gestern"]);
  await useLanguage("en");
  expect(written()).toEqual(["10.4", "12345", "yesterday"]);
});
