/** Structured output through the public API, on the reference backend and a model that would rather write anything else. */
import { Ajv2020 } from "ajv/dist/2020";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TextGenerator, type GenerateOptions } from "../index";
import { anythingWriter } from "../testing/anything-writer";
import { JSON_SCHEMAS } from "../testing/json-schemas";
import { modelFolder } from "../testing/model-folder";
import type { AnswerConstraint } from "./constraint-option";

const ajv = new Ajv2020({ strict: false, validateFormats: false });
let writer: TextGenerator;
beforeAll(async () => {
  writer = await TextGenerator.load(modelFolder(anythingWriter({ contextLength: 600 })), { backend: "reference" });
});
afterAll(() => writer.dispose());

const write = (constraint: AnswerConstraint, options: GenerateOptions = {}) =>
  writer.generate("q", { constraint, maxNewTokens: 400, ...options });
const failure = (code: string, message: RegExp | string) => ({
  code,
  message: expect.stringMatching(message) as string,
});

describe.each([0, 1.5])("at temperature %f", (temperature) => {
  const finished = new Set<string>();

  test.each(Object.entries(JSON_SCHEMAS))("%s: what is finished is valid", async (name, jsonSchema) => {
    const run = write({ jsonSchema }, { temperature, seed: 7 });
    const { finishReason, constraint } = await run.end;
    if (constraint === "cut") {
      expect(finishReason).toBe("length");
      await expect(run.value()).rejects.toMatchObject({ code: "answer-incomplete" });
      return;
    }
    finished.add(name);
    expect(finishReason).toBe("stop");
    const value = await run.value();
    expect(JSON.parse(await run.text())).toEqual(value);
    if (!ajv.validate(jsonSchema, value)) throw new Error(`${JSON.stringify(value)}: ${ajv.errorsText()}`);
  });

  test("nearly all of them are finished", () => expect(finished.size).toBeGreaterThanOrEqual(48));
});

test("an answer that the limit cuts says so, and has no value", async () => {
  const run = write({ jsonSchema: { type: "string", minLength: 20 } }, { maxNewTokens: 10 });
  expect(await run.end).toMatchObject({ finishReason: "length", constraint: "cut", usage: { completionTokens: 10 } });
  await expect(run.value()).rejects.toMatchObject(failure("answer-incomplete", "after 10 tokens"));
  expect(await run.text()).toMatch(/^"[^"]+$/);
});

test("an answer that could end where the limit is, but need not, counts as cut; one that must end is complete", async () => {
  const open = write({ regex: "[0-9]+" }, { maxNewTokens: 3, logitBias: { 0: -100 } });
  expect(await open.end).toMatchObject({ finishReason: "length", constraint: "cut" });
  const closed = write({ regex: "[0-9]{3}" }, { maxNewTokens: 3 });
  expect(await closed.end).toMatchObject({ finishReason: "stop", constraint: "complete" });
  expect(await closed.value()).toBe(await closed.text());
});

test("without end tokens an answer ends where nothing can follow", async () => {
  const run = write({ regex: "[0-9]{3}" }, { endTokenIds: [] });
  expect(await run.end).toMatchObject({ finishReason: "stop", constraint: "complete", usage: { completionTokens: 3 } });
});

test("a choice, a regular expression and a grammar give one of their texts", async () => {
  const texts = ["an apple", "a pear", "été"];
  expect(texts).toContain(await write({ choice: texts }).value());
  expect(await write({ regex: /[a-c]{2,4}(?:-\d)?/ }, { temperature: 1.5, seed: 3 }).value()).toMatch(
    /^[a-c]{2,4}(?:-\d)?$/,
  );
  const grammar = 'root ::= sum\nsum ::= number ("+" number){1,3}\nnumber ::= [1-9] [0-9]?';
  expect(await write({ grammar }, { temperature: 1.5, seed: 4 }).value()).toMatch(/^[1-9]\d?(\+[1-9]\d?){1,3}$/);
});

test("any JSON: the beginning of something, or all of it", async () => {
  const run = write({ jsonSchema: true }, { temperature: 1, seed: 2, maxNewTokens: 60 });
  const { constraint } = await run.end;
  if (constraint === "complete") expect(JSON.parse(await run.text())).toEqual(await run.value());
  else await expect(run.value()).rejects.toMatchObject({ code: "answer-incomplete" });
});

test("what is forced skips the choice, with the model's own log-probabilities", async () => {
  const constraint = { choice: ["abcdefgh!", "abcdefgh?"] };
  const tokensOf = async (options: GenerateOptions) => {
    const tokens = [];
    for await (const chunk of write(constraint, options)) tokens.push(...chunk.tokens);
    return tokens;
  };
  const [forced, chosen] = [
    await tokensOf({ tokenStatistics: true }),
    await tokensOf({ topLogprobs: 2, tokenStatistics: true }),
  ];
  expect(forced.map(({ id }) => id)).toEqual(chosen.map(({ id }) => id));
  for (const [at, token] of forced.entries()) {
    expect(token.logprob).toBeCloseTo(chosen[at]?.logprob ?? NaN, 4);
    expect(token.rank).toBe(chosen[at]?.rank);
  }
});

test("penalties count forced tokens as written", async () => {
  const constraint = { choice: ["aaaaaa", "aaaaab"] };
  const { table } = { table: { presencePenalty: 2, frequencyPenalty: 1.9 } };
  const forced = await write(constraint, table).text();
  expect(forced).toBe(await write(constraint, { ...table, topLogprobs: 1 }).text());
});

test("where the bans leave nothing that may follow, the answer fails", async () => {
  const [digit] = await writer.tokenize("7", { addSpecialTokens: false });
  const run = write({ regex: "[7]x" }, { bannedTokens: [digit ?? -1] });
  await expect(run.text()).rejects.toMatchObject(failure("constraint-failed", "after 0 others"));
});

test.each<[string, AnswerConstraint, RegExp]>([
  [
    "a keyword that is not enforced",
    { jsonSchema: { type: "object", properties: { a: { not: {} } } } },
    /properties\.a has the keyword "not"/,
  ],
  ["bounds without anything between", { jsonSchema: { type: "integer", minimum: 2, maximum: 1 } }, /no integer lies/],
  [
    "a schema that nothing finite is of",
    {
      jsonSchema: {
        $ref: "#/$defs/a",
        $defs: { a: { type: "object", properties: { a: { $ref: "#/$defs/a" } }, required: ["a"] } },
      },
    },
    /no text of finite length/,
  ],
  ["a reference that leads nowhere", { jsonSchema: { $ref: "#/$defs/x" } }, /leads nowhere/],
  ["looking ahead", { regex: "(?=a)a" }, /at 2 .*looking ahead/],
  ["a grammar that is none", { grammar: 'root ::= "a' }, /does not read this grammar/],
  ["a grammar without a root", { grammar: 'start ::= "a"' }, /does not read this grammar/],
  ["a grammar that is too large", { grammar: 'root ::= (("a"{1000}){1000}){1000}' }, /100\d{7} places/],
  ["a grammar whose classes xgrammar misreads", { grammar: "root ::= [à-ü]" }, /class/],
])("%s is refused, and the next answer is written all the same", async (_, constraint, message) => {
  await expect(write(constraint).text()).rejects.toMatchObject(failure("option-invalid", message));
  expect(await write({ choice: ["yes"] }).value()).toBe("yes");
});

test.each<[string, unknown, GenerateOptions, RegExp]>([
  ["nothing", {}, {}, /exactly one of: jsonSchema, regex, grammar, choice/],
  ["two at once", { regex: "a", choice: ["a"] }, {}, /exactly one of/],
  ["an unknown kind", { xml: "a" }, {}, /exactly one of/],
  ["no choices", { choice: [] }, {}, /constraint\.choice/],
  ["an empty choice", { choice: ["a", ""] }, {}, /constraint\.choice/],
  ["stop strings beside it", { regex: "a" }, { stop: "x" }, /constraint and stop/],
  ["ignoreEos beside it", { regex: "a" }, { ignoreEos: true }, /constraint and ignoreEos/],
  ["forced tokens beside it", { regex: "a" }, { forcedTokens: [5] }, /constraint and forcedTokens/],
  ["a least number beside it", { regex: "a" }, { minNewTokens: 2 }, /constraint and minNewTokens/],
])("%s is refused by name", async (_, constraint, options, message) => {
  await expect(write(constraint as AnswerConstraint, options).text()).rejects.toMatchObject(
    failure("option-invalid", message),
  );
});

test("value() of an answer without a constraint is refused", async () => {
  await expect(writer.generate("q", { maxNewTokens: 2 }).value()).rejects.toMatchObject({ code: "option-invalid" });
});
