/** What the Prompt API's explainer says, one test for each behaviour, with a model whose answers are written down. */
import { describe, expect, test, vi } from "vitest";
import { WordloomError } from "../../errors";
import { TextGenerator } from "../../index";
import { anythingWriter } from "../../testing/anything-writer";
import { modelFolder } from "../../testing/model-folder";
import { loadScriptedChat } from "../../testing/scripted-chat";
import type { AdaptedGenerator } from "../generator";
import {
  createLanguageModel,
  installLanguageModel,
  LanguageModelToolCall,
  LanguageModelToolError,
  LanguageModelToolSuccess,
  type LanguageModelCreateOptions,
  type LanguageModelPrompt,
  type LanguageModelSession,
  type LanguageModelSource,
} from "./index";

/** The prompt ends with "~" after a tool's result, with "^" after the word "long", and with ">" else. */
const TEMPLATE =
  "{% if tools %}<tool_call>{{ tools | tojson }}{% endif %}" +
  "{% for m in messages %}[{{ m.role }}]{{ m.content }}" +
  "{% for c in m.tool_calls %}({{ c.function.name }}){% endfor %}{% endfor %}" +
  "{% if add_generation_prompt %}" +
  "{{ '~' if messages[-1].role == 'tool' else '^' if tools else '>' }}{% endif %}";
const token = (of: string) => ({ token: of, visible: true });
const generator = await loadScriptedChat({
  template: TEMPLATE,
  answers: {
    ">": [token("<think>"), "Hm.", token("</think>"), "Hel", "lo."],
    "^": ["I look.", token("<tool_call>"), '{"name": "weather", "arguments": {"city": "Oslo"}}', token("</tool_call>")],
    "~": ["It rains."],
    "#": ["title = 1"],
  },
  contextLength: 320,
});

/** What the model was given, as the template shows it. */
function spied() {
  const seen: string[] = [];
  const options: unknown[] = [];
  const source: AdaptedGenerator = {
    info: generator.info,
    tokenize: (...given) => generator.tokenize(...given),
    generate: (input, given) => {
      const messages = input as readonly { role: string; content: string }[];
      seen.push(messages.map(({ role, content }) => `[${role}]${content}`).join(""));
      options.push(given);
      return generator.generate(input, given);
    },
  };
  return { seen, options, LanguageModel: createLanguageModel(source) };
}

/** Answers as slowly as it is told to. */
function slow() {
  const events: string[] = [];
  let count = 0;
  const source: AdaptedGenerator = {
    info: generator.info,
    tokenize: async (input) => [...JSON.stringify(input)].map(() => 0).slice(0, 40),
    generate: (_, options) => {
      const name = `answer ${++count}`;
      events.push(`${name} begins`);
      return {
        end: Promise.resolve({
          finishReason: "stop" as const,
          seed: 0,
          usage: { promptTokens: 40, cachedTokens: 0, completionTokens: 3 },
          timings: { prefillMs: 0, firstTokenMs: 0, decodeMs: 0, prefillTokensPerSecond: 0, decodeTokensPerSecond: 0 },
        }),
        async *[Symbol.asyncIterator]() {
          for (let i = 0; i < 3; i++) {
            await new Promise((resolve) => setTimeout(resolve, 10));
            if (options?.signal?.aborted) events.push(`${name} aborted`);
            options?.signal?.throwIfAborted();
            yield { text: `${i}`, tokens: [] };
          }
          events.push(`${name} ends`);
        },
      };
    },
  };
  return { events, LanguageModel: createLanguageModel(source) };
}

const LanguageModel = createLanguageModel(generator);
const named = (name: string) => expect.objectContaining({ name }) as DOMException;
const system = { role: "system" as const, content: "Be brief." };
const user = (content: string) => ({ role: "user" as const, content });
const assistant = (content: string) => ({ role: "assistant" as const, content });

async function piecesOf(stream: ReadableStream<unknown>): Promise<unknown[]> {
  const pieces = [];
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(next.value);
  return pieces;
}

describe("prompting", () => {
  test("a string is a message of the user; the answer is a string, without the model's thoughts", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create();
    expect(await session.prompt("Hi")).toBe("Hello.");
    expect(seen).toEqual(["[user]Hi"]);
  });

  test("a stream gives strings, each the continuation of the one before", async () => {
    const session = await LanguageModel.create();
    const pieces = await piecesOf(session.promptStreaming("Hi"));
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe("Hello.");
  });

  test("creating a session asks the model for nothing", async () => {
    const { seen, LanguageModel: Spied } = spied();
    await Spied.create({ initialPrompts: [system, user("A"), assistant("B")] });
    expect(seen).toEqual([]);
  });

  test("prompts and answers stay in the session, thoughts do not", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create();
    await session.prompt("A");
    await session.prompt("B");
    expect(seen[1]).toBe("[user]A[assistant]Hello.[user]B");
  });

  test("n-shot: initial prompts come before everything", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create({ initialPrompts: [system, user("A"), assistant("B")] });
    await session.prompt("C");
    expect(seen).toEqual(["[system]Be brief.[user]A[assistant]B[user]C"]);
  });

  test("roles can be given for each message, and texts of one message are put together", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create();
    const content = [
      { type: "text" as const, value: "foo" },
      { type: "text" as const, value: "bar" },
    ];
    await session.prompt([{ role: "user", content }, user("B"), assistant("C")]);
    expect(seen).toEqual(["[user]foobar[user]B[assistant]C"]);
  });

  test.each([["in create"], ["by append"], ["by prompt"]])("a system prompt can come %s", async (how) => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create(how === "in create" ? { initialPrompts: [system] } : {});
    if (how === "by append") await session.append([system]);
    await session.prompt(how === "by prompt" ? [system, user("A")] : "A");
    expect(seen).toEqual(["[system]Be brief.[user]A"]);
  });

  test("anywhere else it is a TypeError", async () => {
    await expect(LanguageModel.create({ initialPrompts: [user("A"), system] })).rejects.toThrow(TypeError);
    const session = await LanguageModel.create();
    await expect(session.prompt([user("A"), system])).rejects.toThrow(TypeError);
    await session.append("A");
    await expect(session.append([system])).rejects.toThrow(TypeError);
    await expect(piecesOf(session.promptStreaming([system]))).rejects.toThrow(TypeError);
  });

  test.each([
    ["an unknown role", [{ role: "poet", content: "" }], TypeError],
    ["a message without content", [{ role: "user" }], TypeError],
    ["a text that is none", [{ role: "user", content: [{ type: "text", value: 1 }] }], TypeError],
    ["an unknown type", [{ role: "user", content: [{ type: "smell", value: 1 }] }], TypeError],
    ["an image", [{ role: "user", content: [{ type: "image", value: 1 }] }], named("NotSupportedError")],
    [
      "an image of the assistant",
      [{ role: "assistant", content: [{ type: "image", value: 1 }] }],
      named("NotSupportedError"),
    ],
  ])("%s is refused", async (_, input, failure) => {
    const session = await LanguageModel.create();
    await expect(session.prompt(input as unknown as LanguageModelPrompt)).rejects.toEqual(
      failure === TypeError ? expect.any(TypeError) : failure,
    );
  });

  test("an empty list is an empty message", async () => {
    const { seen, LanguageModel: Spied } = spied();
    await (await Spied.create()).prompt([]);
    expect(seen).toEqual(["[user]"]);
  });

  test("prefix: the answer begins with the message's text, which is not told again", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create();
    expect(await session.prompt([user("A"), { ...assistant("toml#"), prefix: true }])).toBe("title = 1");
    await session.prompt("B");
    expect(seen[1]).toBe("[user]A[assistant]toml#title = 1[user]B");
  });

  test("prefix anywhere else is a SyntaxError", async () => {
    const session = await LanguageModel.create();
    for (const input of [[{ ...user("A"), prefix: true }], [{ ...assistant("A"), prefix: true }, user("B")]]) {
      await expect(session.prompt(input)).rejects.toEqual(named("SyntaxError"));
    }
  });

  test("append adds without an answer", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create();
    expect(await session.append([user("A")])).toBeUndefined();
    expect(session.contextUsage).toBeGreaterThan(0);
    await session.prompt("B");
    expect(seen).toEqual(["[user]A[user]B"]);
  });

  test("prompts of one session are answered in their order", async () => {
    const { events, LanguageModel: Slow } = slow();
    const session = await Slow.create();
    await Promise.all([session.prompt("A"), session.prompt("B")]);
    expect(events).toEqual(["answer 1 begins", "answer 1 ends", "answer 2 begins", "answer 2 ends"]);
  });
});

describe("response constraints", () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}";
  const load = (contextLength: number) =>
    TextGenerator.load(modelFolder(anythingWriter({ contextLength, chatTemplate: template })), {
      backend: "reference",
    });

  test("a JSON schema and a RegExp are enforced", async () => {
    const session = await createLanguageModel(await load(300)).create();
    const responseConstraint = { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 2 };
    expect(await session.measureContextUsage("A", { responseConstraint })).toBeGreaterThan(0);
    expect(JSON.parse((await session.prompt("A", { responseConstraint })) as string)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^[ab]$/)]) as string[],
    );
    expect(await session.prompt("B", { responseConstraint: /[0-9]{3}|none/ })).toMatch(/^([0-9]{3}|none)$/);
  });

  test("what is not enforced is a NotSupportedError, and so is a constraint beside tools", async () => {
    const model = createLanguageModel(await load(300));
    const session = await model.create();
    await expect(session.prompt("A", { responseConstraint: { not: {} } })).rejects.toEqual(named("NotSupportedError"));
    await expect(session.prompt("A", { responseConstraint: /a/i })).rejects.toEqual(named("NotSupportedError"));
  });

  test("an answer that the context cuts is an OperationError, not half an answer", async () => {
    const session = await createLanguageModel(await load(40)).create();
    const responseConstraint = { type: "string", minLength: 60 };
    await expect(session.prompt("A", { responseConstraint })).rejects.toEqual(named("OperationError"));
  });

  test("neither a RegExp nor an object is a TypeError, and so is omitting what is not there", async () => {
    const session = await LanguageModel.create();
    await expect(session.prompt("A", { responseConstraint: "a" as never })).rejects.toThrow(TypeError);
    await expect(session.prompt("A", { omitResponseConstraintInput: true })).rejects.toThrow(TypeError);
  });
});

describe("cloning and destroying", () => {
  test("a clone goes its own way", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create({ initialPrompts: [system] });
    await session.prompt("A");
    const clone = await session.clone();
    expect(clone.contextUsage).toBe(session.contextUsage);
    await clone.prompt("B");
    await session.prompt("C");
    expect(seen.slice(1)).toEqual([
      "[system]Be brief.[user]A[assistant]Hello.[user]B",
      "[system]Be brief.[user]A[assistant]Hello.[user]C",
    ]);
  });

  test("cloning can be aborted", async () => {
    const session = await LanguageModel.create();
    await expect(session.clone({ signal: AbortSignal.abort() })).rejects.toEqual(named("AbortError"));
  });

  test.each([["destroy()"], ["the signal of create"]])(
    "%s rejects what is under way, and what comes later",
    async (how) => {
      const { LanguageModel: Slow } = slow();
      const controller = new AbortController();
      const session = await Slow.create({ signal: controller.signal });
      const answer = session.prompt("A");
      const stream = piecesOf(session.promptStreaming("B"));
      if (how === "destroy()") session.destroy();
      else controller.abort();
      await expect(answer).rejects.toEqual(named("AbortError"));
      await expect(stream).rejects.toEqual(named("AbortError"));
      await expect(session.prompt("C")).rejects.toEqual(named("AbortError"));
      await expect(session.append("C")).rejects.toEqual(named("AbortError"));
      await expect(session.clone()).rejects.toEqual(named("AbortError"));
    },
  );

  test("a clone outlives its original", async () => {
    const session = await LanguageModel.create();
    const clone = await session.clone();
    session.destroy();
    expect(await clone.prompt("A")).toBe("Hello.");
  });
});

describe("aborting a prompt", () => {
  test("that waits takes it out of the queue", async () => {
    const { events, LanguageModel: Slow } = slow();
    const session = await Slow.create();
    const first = session.prompt("A");
    const second = session.prompt("B", { signal: AbortSignal.timeout(5) });
    await expect(second).rejects.toEqual(named("TimeoutError"));
    await first;
    expect(events.at(-1)).toBe("answer 1 ends");
  });

  test("that is being answered removes prompt and answer", async () => {
    const { events, LanguageModel: Slow } = slow();
    const session = await Slow.create();
    const before = session.contextUsage;
    const controller = new AbortController();
    const answer = session.prompt("A", { signal: controller.signal });
    setTimeout(() => controller.abort(), 15);
    await expect(answer).rejects.toEqual(named("AbortError"));
    expect(events.at(-1)).toBe("answer 1 aborted");
    expect(session.contextUsage).toBe(before);
  });

  test("that has been answered does nothing", async () => {
    const controller = new AbortController();
    const session = await LanguageModel.create();
    await session.prompt("A", { signal: controller.signal });
    const usage = session.contextUsage;
    controller.abort();
    expect(session.contextUsage).toBe(usage);
    expect(await session.prompt("B")).toBe("Hello.");
  });

  test("with a reason of one's own rejects with it; append can be aborted, too", async () => {
    const session = await LanguageModel.create();
    const signal = AbortSignal.abort("enough");
    await expect(session.prompt("A", { signal })).rejects.toBe("enough");
    await expect(session.append("A", { signal })).rejects.toBe("enough");
    await expect(session.measureContextUsage("A", { signal })).rejects.toBe("enough");
  });

  test("cancelling a stream stops the model", async () => {
    const { events, LanguageModel: Slow } = slow();
    const session = await Slow.create();
    const reader = session.promptStreaming("A").getReader();
    await reader.read();
    await reader.cancel();
    await vi.waitFor(() => expect(events.at(-1)).toBe("answer 1 aborted"));
    expect(await session.prompt("B")).toBe("012");
  });
});

describe("the context window", () => {
  test("usage grows, and measuring tells it before", async () => {
    const session = await LanguageModel.create();
    expect(session.contextUsage).toBe(0);
    expect(session.contextWindow).toBe(320);
    const measured = await session.measureContextUsage("Hi");
    expect(measured).toBe("[user]Hi>".length); // every character is a token here
    await session.append("Hi");
    expect(session.contextUsage).toBe(measured);
    expect([session.inputUsage, session.inputQuota]).toEqual([session.contextUsage, 320]);
    expect(await session.measureInputUsage("Hi")).toBe(await session.measureContextUsage("Hi"));
  });

  const filled = async (LanguageModelOf = LanguageModel): Promise<LanguageModelSession> => {
    const session = await LanguageModelOf.create({ initialPrompts: [system] });
    for (const name of ["A", "B"]) await session.append([user(name.repeat(100))]);
    return session;
  };

  test("on overflow the oldest turns go, the initial prompts stay, and an event says so", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await filled(Spied);
    const heard: string[] = [];
    session.addEventListener("contextoverflow", () => heard.push("listener"));
    session.oncontextoverflow = ({ type }) => heard.push(type);
    session.onquotaoverflow = ({ type }) => heard.push(type);
    await session.prompt("C".repeat(90));
    expect(heard).toEqual(["listener", "contextoverflow", "quotaoverflow"]);
    expect(seen).toEqual([`[system]Be brief.[user]${"B".repeat(100)}[user]${"C".repeat(90)}`]);
  });

  test("at the border: what just fits drops nothing, one more does", async () => {
    for (const [more, expected] of [
      [0, 0],
      [1, 1],
    ] as const) {
      const session = await filled();
      let dropped = 0;
      session.oncontextoverflow = () => dropped++;
      const room = session.contextWindow - 1 - session.contextUsage - "[user]".length; // one is left for the answer
      await session.append("C".repeat(room + more));
      expect(dropped).toBe(expected);
    }
  });

  test("append overflows as well; a handler can be taken away", async () => {
    const session = await filled();
    let count = 0;
    session.oncontextoverflow = () => count++;
    await session.append("C".repeat(90));
    expect(count).toBe(1);
    session.oncontextoverflow = null;
    await session.append("D".repeat(150));
    expect([count, session.oncontextoverflow]).toEqual([1, null]);
  });

  test("what can never fit is a QuotaExceededError, and nothing goes", async () => {
    const session = await filled();
    const usage = session.contextUsage;
    const failure = { name: "QuotaExceededError", requested: expect.any(Number) as number, quota: 320 - usage };
    await expect(session.prompt("C".repeat(400))).rejects.toMatchObject(failure);
    expect(session.contextUsage).toBe(usage);
    const initialPrompts = [user("A".repeat(400))];
    await expect(LanguageModel.create({ initialPrompts })).rejects.toMatchObject({ name: "QuotaExceededError" });
  });
});

describe("tools", () => {
  const nothing = (): string => "";
  const weather = {
    name: "weather",
    description: "of a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
  };
  const open: LanguageModelCreateOptions = {
    tools: [weather],
    expectedInputs: [{ type: "tool-response" }],
    expectedOutputs: [{ type: "tool-call" }],
  };

  test("open loop: the answer is text and calls, and a response goes back", async () => {
    const session = await LanguageModel.create(open);
    const answer = await session.prompt("Rain?");
    if (typeof answer === "string") throw new Error("no call");
    expect(answer[0]).toEqual({ type: "text", value: "I look." });
    const call = answer[1]?.value as LanguageModelToolCall;
    expect(call).toBeInstanceOf(LanguageModelToolCall);
    expect(call).toMatchObject({ name: "weather", arguments: { city: "Oslo" } });
    const value = new LanguageModelToolSuccess({ ...call, result: [{ type: "object", value: { sky: "rain" } }] });
    expect(await session.prompt([{ role: "user", content: [{ type: "tool-response", value }] }])).toBe("It rains.");
  });

  test("calls and failures can be told as examples", async () => {
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create(open);
    const call = new LanguageModelToolCall({ callId: "1", name: "weather", arguments: { city: "Rome" } });
    const failed = new LanguageModelToolError({ callId: "1", name: "weather", errorMessage: "no such city" });
    await session.append([
      { role: "assistant", content: [{ type: "tool-call", value: call }] },
      { role: "user", content: [{ type: "tool-response", value: failed }] },
    ]);
    await session.prompt("A");
    expect(seen).toEqual(["[assistant][tool]no such city[user]A"]);
    const wrong = [{ role: "user" as const, content: [{ type: "tool-response" as const, value: {} }] }];
    await expect(session.prompt(wrong)).rejects.toThrow(TypeError);
  });

  test("closed loop: the session runs the tools, and prompts again", async () => {
    const asked: unknown[] = [];
    const execute = async (given: Record<string, unknown>) => {
      asked.push(given);
      return "rain";
    };
    const { seen, LanguageModel: Spied } = spied();
    const session = await Spied.create({ tools: [{ ...weather, execute }] });
    expect(await session.prompt("Rain?")).toBe("I look.It rains.");
    expect(asked).toEqual([{ city: "Oslo" }]);
    expect(seen[1]).toBe("[user]Rain?[assistant]I look.[tool]rain");
  });

  test("a tool that fails tells the model", async () => {
    const execute = () => {
      throw new Error("no network");
    };
    const { seen, LanguageModel: Spied } = spied();
    await (await Spied.create({ tools: [{ ...weather, execute }] })).prompt("Rain?");
    expect(seen[1]).toContain("[tool]Error: no network");
  });

  test.each([
    ["neither execute nor tool-call expected", { tools: [weather] }],
    ["no name", { tools: [{ ...weather, name: undefined, execute: nothing }] }],
    ["no schema", { tools: [{ ...weather, inputSchema: undefined, execute: nothing }] }],
    ["execute is no function", { tools: [{ ...weather, execute: 1 }] }],
    ["some with execute, some without", { ...open, tools: [weather, { ...weather, name: "b", execute: nothing }] }],
  ])("%s is a TypeError", async (_, options) => {
    await expect(LanguageModel.create(options as LanguageModelCreateOptions)).rejects.toThrow(TypeError);
  });

  test("a response that was not expected is not supported", async () => {
    const session = await LanguageModel.create();
    const value = new LanguageModelToolSuccess({ callId: "1", name: "weather", result: [] });
    const input = [{ role: "user" as const, content: [{ type: "tool-response" as const, value }] }];
    await expect(session.prompt(input)).rejects.toEqual(named("NotSupportedError"));
  });
});

describe("sampling", () => {
  test.each([
    ["most-predictable", 0],
    ["balanced", 0.8],
    ["creative", 1.12],
  ] as const)("samplingMode %s", async (samplingMode, temperature) => {
    const { options, LanguageModel: Spied } = spied();
    const session = await Spied.create({ samplingMode });
    expect(session.samplingMode).toBe(samplingMode);
    await session.prompt("A");
    expect(options[0]).toMatchObject({ temperature: expect.closeTo(temperature, 6) as number });
  });

  test("balanced is the default", async () => {
    expect((await LanguageModel.create()).samplingMode).toBe("balanced");
  });

  test("temperature and topK are honoured, rounded down, and clamped", async () => {
    const { options, LanguageModel: Spied } = spied();
    const params = await Spied.params();
    const session = await Spied.create({ temperature: Infinity, topK: 3.9 });
    expect([session.temperature, session.topK, session.samplingMode]).toEqual([params?.maxTemperature, 3, null]);
    await session.prompt("A");
    expect(options[0]).toMatchObject({ temperature: 2, topK: 3 });
    expect((await Spied.create({ topK: Infinity })).topK).toBe(params?.maxTopK);
  });

  test.each([
    [{ temperature: -1 }, RangeError],
    [{ topK: 0 }, RangeError],
    [{ temperature: NaN }, RangeError],
    [{ samplingMode: "wild" as never }, TypeError],
    [{ samplingMode: "creative" as const, topK: 3 }, TypeError],
  ])("%j is refused", async (options, Type) => {
    await expect(LanguageModel.create(options)).rejects.toThrow(Type);
  });

  test("thinking can only be none", async () => {
    expect(await LanguageModel.availability({ thinking: { effort: "high" } })).toBe("unavailable");
    await expect(LanguageModel.create({ thinking: { effort: "high" } })).rejects.toEqual(named("NotSupportedError"));
    expect(await (await LanguageModel.create({ thinking: { effort: "none" } })).prompt("A")).toBe("Hello.");
  });

  test("an unknown option is ignored, as browsers do, and the console says so", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    await LanguageModel.create({ frobnicate: 1 } as LanguageModelCreateOptions);
    expect(warn.mock.calls.join()).toContain("frobnicate");
    warn.mockRestore();
  });
});

describe("availability and loading", () => {
  /** Loads when told to. */
  function loading(more: Partial<LanguageModelSource> = {}) {
    const given: Parameters<LanguageModelSource["load"]>[0][] = [];
    let finish: (loaded: AdaptedGenerator) => void = () => {};
    let fail: (error: unknown) => void = () => {};
    const source: LanguageModelSource = {
      load: (options) => {
        given.push(options);
        return new Promise((...settle) => ([finish, fail] = settle));
      },
      ...more,
    };
    const started = () => vi.waitFor(() => expect(given.length).toBeGreaterThan(0));
    const settle = { finish: () => finish(generator), fail: (error: unknown) => fail(error) };
    return { given, started, settle, LanguageModel: createLanguageModel(source) };
  }

  test("downloadable, downloading, available", async () => {
    const { started, settle, LanguageModel: Loading } = loading();
    expect(await Loading.availability()).toBe("downloadable");
    const creating = Loading.create();
    await started();
    expect(await Loading.availability()).toBe("downloading");
    settle.finish();
    await creating;
    expect(await Loading.availability()).toBe("available");
    expect(await LanguageModel.availability()).toBe("available");
  });

  test("a source that says unavailable has no params and no sessions", async () => {
    const { LanguageModel: None } = loading({ availability: () => "unavailable" });
    expect(await None.availability()).toBe("unavailable");
    expect(await None.params()).toBeNull();
    await expect(None.create()).rejects.toEqual(named("NotSupportedError"));
  });

  test.each([
    [{ expectedInputs: [{ type: "text" as const }] }, "available"],
    [{ expectedInputs: [{ type: "audio" as const }] }, "unavailable"],
    [{ expectedOutputs: [{ type: "image" as const }] }, "unavailable"],
    [{ expectedOutputs: [{ type: "text" as const, languages: ["ja"] }] }, "available"],
  ])("%j is %s", async (options, availability) => {
    expect(await LanguageModel.availability(options)).toBe(availability);
    if (availability === "unavailable") {
      await expect(LanguageModel.create(options)).rejects.toEqual(named("NotSupportedError"));
    }
  });

  test("languages count where the source tells them; a tag that is none is a RangeError", async () => {
    const { LanguageModel: English } = loading({ languages: ["en"] });
    const of = (tag: string) => English.availability({ expectedInputs: [{ type: "text", languages: [tag] }] });
    expect(await of("en-GB")).toBe("downloadable");
    expect(await of("ja")).toBe("unavailable");
    await expect(of("not a tag")).rejects.toThrow(RangeError);
  });

  test("download progress goes from 0 to 1", async () => {
    const { given, started, settle, LanguageModel: Loading } = loading();
    const heard: number[] = [];
    const creating = Loading.create({
      monitor: (target) => {
        target.addEventListener("downloadprogress", (event) => {
          const { loaded, total } = event as Event & { loaded: number; total: number };
          heard.push(loaded / total);
        });
      },
    });
    await started();
    const progress = { phase: "weights" as const, file: "a", totalBytes: 100 };
    for (const loadedBytes of [25, 25, 50]) given[0]?.onProgress({ ...progress, loadedBytes });
    settle.finish();
    await creating;
    expect(heard).toEqual([0, 0.25, 0.5, 1]);
  });

  test("0 and 1 are told even where nothing is downloaded", async () => {
    const heard: unknown[] = [];
    const monitor = (target: EventTarget) =>
      target.addEventListener("downloadprogress", (event) => heard.push((event as Event & { loaded: number }).loaded));
    await LanguageModel.create({ monitor });
    expect(heard).toEqual([0, 1]);
  });

  test("two sessions share one download; it stops when nobody waits for it any more", async () => {
    const { given, started, LanguageModel: Loading } = loading();
    const [first, second] = [new AbortController(), new AbortController()];
    const creating = [first, second].map(({ signal }) => Loading.create({ signal }));
    await started();
    first.abort();
    await expect(creating[0]).rejects.toEqual(named("AbortError"));
    expect(given[0]?.signal.aborted).toBe(false);
    second.abort();
    await expect(creating[1]).rejects.toEqual(named("AbortError"));
    expect(given).toHaveLength(1);
    expect(given[0]?.signal.aborted).toBe(true);
    expect(await Loading.availability()).toBe("downloadable");
  });

  test.each([
    ["network-failed", "NetworkError"],
    ["device-limit", "NotSupportedError"],
    ["kernel-failed", "OperationError"],
  ] as const)("%s is a %s, and the next try begins anew", async (code, name) => {
    const { given, started, settle, LanguageModel: Loading } = loading();
    const creating = Loading.create();
    await started();
    settle.fail(new WordloomError(code, "it failed"));
    await expect(creating).rejects.toEqual(named(name));
    const again = Loading.create();
    await vi.waitFor(() => expect(given).toHaveLength(2));
    settle.finish();
    expect(await (await again).prompt("A")).toBe("Hello.");
  });

  test("what fails while prompting has a DOMException's name", async () => {
    const broken: AdaptedGenerator = {
      info: generator.info,
      tokenize: (...given) => generator.tokenize(...given),
      generate: () => {
        throw new WordloomError("device-lost", "the GPU is gone");
      },
    };
    const session = await createLanguageModel(broken).create();
    await expect(session.prompt("A")).rejects.toEqual(named("UnknownError"));
  });
});

describe("installing", () => {
  test("puts the classes where pages look for them", async () => {
    const scope: Record<string, unknown> = {};
    expect(installLanguageModel(generator, { scope })).toBe(true);
    expect(Object.getOwnPropertyNames(scope).sort()).toEqual([
      ...["LanguageModel", "LanguageModelToolCall", "LanguageModelToolError", "LanguageModelToolSuccess"],
    ]);
    const Installed = scope["LanguageModel"] as typeof LanguageModel;
    expect(await (await Installed.create()).prompt("A")).toBe("Hello.");
  });

  test("leaves the browser's own alone unless it is told to replace it", () => {
    const scope: Record<string, unknown> = { LanguageModel: "native" };
    expect(installLanguageModel(generator, { scope })).toBe(false);
    expect(scope["LanguageModel"]).toBe("native");
    expect(installLanguageModel(generator, { scope, replace: true })).toBe(true);
    expect(scope["LanguageModel"]).not.toBe("native");
  });
});
