import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../testing/random";
import { answerFormatOf, takesTools, type AddedSpelling } from "./answer-format";
import { AnswerParts, type AnswerPart } from "./answer-parts";
import { joinParts, messageOf } from "./assistant-message";

const { families } = JSON.parse(
  readFileSync(new URL("../testing/tokenizer-golden/templates.json", import.meta.url), "utf8"),
) as { families: { family: string; template: string }[] };

const templateOf = (family: string): string => {
  const found = families.find((one) => one.family === family);
  if (!found) throw new Error(`there is no template of ${family}`);
  return found.template;
};
const token = (content: string, special: boolean): AddedSpelling => ({ id: 0, content, special });

const MISTRAL = "{% if tools %}[AVAILABLE_TOOLS]{{ tools }}[/AVAILABLE_TOOLS]{% endif %}[TOOL_CALLS]";
const LFM2 = "{% if tools %}{{ tools }}{% endif %}<|tool_call_start|>";

const TOOLS = new Map([
  ["weather", { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } }],
  ["time", undefined],
]);

interface Setting {
  template: string;
  added?: AddedSpelling[];
  insideReasoning?: boolean;
  tools?: boolean;
}

/** An answer is a list of texts and of special tokens, which stand in objects. */
type Piece = string | { special: string };

function split(pieces: readonly Piece[], { template, added = [], insideReasoning = false, tools = true }: Setting) {
  let count = 0;
  const parts = new AnswerParts(answerFormatOf(template, added), {
    insideReasoning,
    tools: tools ? TOOLS : new Map(),
    specials: new Set(added.filter(({ special }) => special).map(({ content }) => content)),
    newId: () => `id${count++}`,
  });
  const told = pieces.flatMap((piece) =>
    typeof piece === "string" ? parts.push(piece) : parts.pushSpecial(piece.special),
  );
  return joinParts([...told, ...parts.end()]);
}

const text = (of: string): AnswerPart => ({ type: "text", text: of });
const reasoning = (of: string): AnswerPart => ({ type: "reasoning", text: of });
const call = (name: string, args: Record<string, unknown>, id = "id0"): AnswerPart => ({
  type: "tool-call",
  id,
  name,
  arguments: args,
});
const malformed = (of: string, reason: RegExp) => ({
  type: "text",
  text: of,
  malformedCall: expect.stringMatching(reason) as string,
});

const qwen = { template: templateOf("qwen3") };
const llama = { template: templateOf("llama3.2"), added: [token("<|python_tag|>", true)] };
const mistral = { template: MISTRAL, added: [token("[TOOL_CALLS]", true), token("[ARGS]", true)] };
const oslo = '{"name": "weather", "arguments": {"city": "Oslo"}}';

const ANSWERS: [string, Setting, Piece[], unknown[]][] = [
  ["plain text", qwen, ["Hello,\n world. "], [text("Hello,\n world. ")]],
  ["reasoning first", qwen, ["<think>\nHm.\n\nYes\n</think>\n\nIt is."], [reasoning("Hm.\n\nYes"), text("It is.")]],
  ["an empty reasoning", qwen, ["<think>\n\n</think>\n\nIt is."], [text("It is.")]],
  [
    "reasoning that the prompt has opened",
    { ...qwen, insideReasoning: true },
    ["\nHm\n</think>\nSo."],
    [reasoning("Hm"), text("So.")],
  ],
  ["reasoning that never ends", qwen, ["<think>Hm. \n"], [reasoning("Hm. \n")]],
  ["tags by another name", qwen, ["<thin> and <think-hard>"], [text("<thin> and <think-hard>")]],
  [
    "reasoning in special tokens",
    { template: "", added: [token("[THINK]", true), token("[/THINK]", true)] },
    [{ special: "[THINK]" }, "so [/THINK] is text ", { special: "[/THINK]" }, "Yes"],
    [reasoning("so [/THINK] is text"), text("Yes")],
  ],
  ["a call", qwen, [`<tool_call>\n${oslo}\n</tool_call>`], [call("weather", { city: "Oslo" })]],
  [
    "reasoning, text, two calls and text",
    qwen,
    [`<think>a</think>I look. <tool_call>${oslo}</tool_call>\n<tool_call>{"name":"time"}</tool_call>\nDone`],
    [reasoning("a"), text("I look."), call("weather", { city: "Oslo" }), call("time", {}, "id1"), text("Done")],
  ],
  [
    "a call without tools",
    { ...qwen, tools: false },
    [`<tool_call>${oslo}</tool_call>`],
    [text(`<tool_call>${oslo}</tool_call>`)],
  ],
  ["a call whose end is missing", qwen, [`<tool_call>${oslo}\n`], [call("weather", { city: "Oslo" })]],
  [
    "a call cut short",
    qwen,
    ['So <tool_call>{"name": "wea'],
    [text("So"), malformed('<tool_call>{"name": "wea', /without its end/)],
  ],
  [
    "a call in broken JSON",
    qwen,
    ["<tool_call>{name: 1}</tool_call> End"],
    [malformed("<tool_call>{name: 1}</tool_call>", /not valid JSON/), text("End")],
  ],
  [
    "a call without a name",
    qwen,
    ["<tool_call>{}</tool_call>"],
    [malformed("<tool_call>{}</tool_call>", /names no tool/)],
  ],
  [
    "arguments that are a list",
    qwen,
    ['<tool_call>{"name":"time","arguments":[1]}</tool_call>'],
    [malformed('<tool_call>{"name":"time","arguments":[1]}</tool_call>', /no JSON object/)],
  ],
  [
    "arguments as a string of JSON",
    qwen,
    ['<tool_call>{"name":"time","arguments":"{\\"a\\":1}"}</tool_call>'],
    [call("time", { a: 1 })],
  ],
  [
    "a brace and a mark inside a string",
    qwen,
    ['<tool_call>{"name":"time","arguments":{"a":"}\\"{ <tool_call>"}}</tool_call>'],
    [call("time", { a: '}"{ <tool_call>' })],
  ],
  [
    "a call in tags, with types from the schema",
    { template: templateOf("qwen3-coder") },
    [
      "<tool_call>\n<function=weather>\n<parameter=city>\n7\n</parameter>\n<parameter=days>\n7\n</parameter>\n</function>\n</tool_call>",
    ],
    [call("weather", { city: "7", days: 7 })],
  ],
  [
    "a JSON object alone is a call for Llama",
    llama,
    ['{"name": "weather", "parameters": {"city": "Oslo"}}'],
    [call("weather", { city: "Oslo" })],
  ],
  [
    "two of them, then text",
    llama,
    ['\n{"name": "time", "parameters": {}}; {"name": "time", "parameters": {"a": 1}} ok'],
    [call("time", {}), call("time", { a: 1 }, "id1"), text("ok")],
  ],
  [
    "a JSON object that is none",
    llama,
    ['{"name": "Ada", "parameters": {}}'],
    [text('{"name": "Ada", "parameters": {}}')],
  ],
  ["a JSON answer", llama, ['{"city": "Oslo"} is it'], [text('{"city": "Oslo"} is it')]],
  [
    "a JSON object later on",
    llama,
    ['As {"name": "time", "parameters": {}}'],
    [text('As {"name": "time", "parameters": {}}')],
  ],
  ["a bare call cut short", llama, ['{"name": "time", "par'], [text('{"name": "time", "par')]],
  [
    "a call after the python tag",
    llama,
    [{ special: "<|python_tag|>" }, '{"name": "time", "parameters": {"a": true}}'],
    [call("time", { a: true })],
  ],
  [
    "Python after the python tag",
    llama,
    [{ special: "<|python_tag|>" }, "search(q=1)"],
    [malformed("<|python_tag|>search(q=1)", /no JSON object/)],
  ],
  [
    "Mistral's list, with an id",
    mistral,
    ["Now ", { special: "[TOOL_CALLS]" }, `[${oslo}, {"name": "time", "arguments": {}, "id": "abcdefghi"}]`],
    [text("Now"), call("weather", { city: "Oslo" }), call("time", {}, "abcdefghi")],
  ],
  [
    "Mistral's newer form, twice",
    mistral,
    [{ special: "[TOOL_CALLS]" }, "time", { special: "[ARGS]" }, "{}", { special: "[TOOL_CALLS]" }, 'time{"a": 1}'],
    [call("time", {}), call("time", { a: 1 }, "id1")],
  ],
  ["a special mark that is only spelled", mistral, [`[TOOL_CALLS][${oslo}]`], [text(`[TOOL_CALLS][${oslo}]`)]],
  [
    "Granite's list",
    { template: templateOf("granite3.3"), added: [token("<|tool_call|>", true)] },
    [{ special: "<|tool_call|>" }, `[${oslo}]`],
    [call("weather", { city: "Oslo" })],
  ],
  [
    "Phi's list between two marks",
    { template: templateOf("phi4-mini"), added: [token("<|tool_call|>", false), token("<|/tool_call|>", false)] },
    [`<|tool_call|>[${oslo}]<|/tool_call|> x`],
    [call("weather", { city: "Oslo" }), text("x")],
  ],
  [
    "LFM2's Python",
    { template: LFM2, added: [token("<|tool_call_start|>", true), token("<|tool_call_end|>", true)] },
    [
      { special: "<|tool_call_start|>" },
      "[weather(city='O\\'s\\u0041', days=-2.5), time(a=[1, {'b': None}], c=True)]",
      { special: "<|tool_call_end|>" },
      "So",
    ],
    [call("weather", { city: "O'sA", days: -2.5 }), call("time", { a: [1, { b: null }], c: true }, "id1"), text("So")],
  ],
  [
    "Python that is more than a call",
    { template: LFM2, added: [token("<|tool_call_start|>", true), token("<|tool_call_end|>", true)] },
    [{ special: "<|tool_call_start|>" }, "[time(a=1+1)]", { special: "<|tool_call_end|>" }],
    [malformed("<|tool_call_start|>[time(a=1+1)]<|tool_call_end|>", /no literal/)],
  ],
];

describe("an answer is split into its parts", () => {
  test.each(ANSWERS)("%s", (_, setting, pieces, expected) => {
    expect(split(pieces, setting)).toEqual(expected);
  });

  test.each(ANSWERS)("%s: the same for every way of cutting the text", (_, setting, pieces) => {
    const whole = split(pieces, setting);
    const characters = pieces.flatMap((piece): Piece[] => (typeof piece === "string" ? [...piece] : [piece]));
    expect(split(characters, setting)).toEqual(whole);
    const random = seededRandom(7);
    for (let round = 0; round < 40; round++) {
      const cut = pieces.flatMap((piece): Piece[] =>
        typeof piece === "string"
          ? piece.split(/(?:)/u).reduce<string[]>((chunks, one) => {
              if (chunks.length === 0 || random() < 0.4) chunks.push("");
              chunks.push((chunks.pop() ?? "") + one);
              return chunks;
            }, [])
          : [piece],
      );
      expect(split(cut, setting)).toEqual(whole);
    }
  });

  test("text is told as soon as it can be no mark", () => {
    const parts = new AnswerParts(answerFormatOf(qwen.template, []), {
      insideReasoning: false,
      tools: TOOLS,
      specials: new Set(),
    });
    expect(parts.push("one two")).toEqual([text("one two")]);
    expect(parts.push(" three <")).toEqual([text(" three")]);
    expect(parts.push("b> <tool")).toEqual([text(" <b>")]);
    expect(parts.push("s>")).toEqual([text(" <tools>")]);
  });
});

describe("the format is found in the template", () => {
  test.each([
    ["qwen2.5", undefined, "<tool_call>"],
    ["qwen3", "<think>", "<tool_call>"],
    ["granite4", undefined, "<tool_call>"],
    ["llama3.2", undefined, "<|python_tag|>"],
    ["deepseek-r1", "<think>", undefined],
    ["smollm2", undefined, undefined],
    ["gemma3", undefined, undefined],
  ])("%s", (family, open, calls) => {
    const format = answerFormatOf(templateOf(family), []);
    expect(format.reasoning?.open).toBe(open);
    expect(format.calls?.open).toBe(calls);
  });

  test("every published template that takes tools has a format, and no other one", () => {
    const added = [token("<|tool_call|>", false)]; // Phi's stands in its tokenizer only
    for (const { family, template } of families) {
      expect(answerFormatOf(template, added).calls !== undefined, family).toBe(takesTools(template));
    }
  });

  test("a model without a template has none", () => {
    expect(answerFormatOf(undefined, [token("<think>", false)])).toEqual({ reasoning: undefined, calls: undefined });
  });
});

test("parts become the message that the template reads in the next turn", () => {
  const parts = split([`<think>a</think>I look.<tool_call>${oslo}</tool_call>`], qwen);
  expect(messageOf(parts)).toEqual({
    role: "assistant",
    content: "I look.",
    reasoning_content: "a",
    tool_calls: [{ id: "id0", type: "function", function: { name: "weather", arguments: { city: "Oslo" } } }],
  });
  expect(messageOf([text("Hi")])).toEqual({ role: "assistant", content: "Hi" });
});
