/** Conversations on a backend whose next token depends on every token before it, so that a wrong history shows. */
import { expect, test } from "vitest";
import { fakeConversations, type FakeConversations } from "../testing/fake-conversations";
import type { FakeBackendOptions } from "../testing/fake-backend";
import { goldenFolder, readFolderJson } from "../testing/golden-models";
import { createTokenizer } from "../tokenizer/load-tokenizer";
import { messagesOf } from "../chat/turns";
import { Conversation } from "./conversation";
import { resolveConversationOptions, type ConversationOptions, type SendOptions } from "./conversation-options";
import { readSaved } from "./saved-conversation";

const CHATML =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}" +
  "{% for c in m.tool_calls %}<tool_call>{{ c.function.name }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}" +
  "<|im_start|>assistant\n{% if tools %}{% endif %}";
const tokenizer = createTokenizer({
  tokenizerJson: readFolderJson(goldenFolder("llama"), "tokenizer.json"),
  tokenizerConfig: {},
  chatTemplate: CHATML,
});
const END = 2; // <|im_end|>

/** Letters only, from the ids that are ASCII letters; the end now and then. */
const letters = Array.from(
  { length: 26 },
  (_, i) => tokenizer.encode(String.fromCharCode(97 + i), { addSpecialTokens: false })[0] ?? 0,
);
const hash = (tokens: readonly number[]) =>
  tokens.reduce((sum, token, at) => (sum * 31 + token * (at + 7)) % 99991, 17);
const nextOf = (tokens: readonly number[]) => (hash(tokens) % 23 === 0 ? END : (letters[hash(tokens) % 26] ?? END));

/** Never ends by itself, for answers of a certain length. */
const letterAfter = (tokens: readonly number[]) => letters[hash(tokens) % 26] ?? END;
const ENDLESS: FakeBackendOptions = { next: letterAfter };

const made = (options: FakeBackendOptions = {}) => fakeConversations(tokenizer, [END], { next: nextOf, ...options });
const SHORT: SendOptions = { maxNewTokens: 12 };

async function said(chat: Conversation, texts: readonly string[], options: SendOptions = SHORT) {
  const answers: string[] = [];
  for (const text of texts) answers.push(await chat.send(text, options).text());
  return answers;
}

/** The messages a new conversation has after these texts. */
async function freshly(texts: readonly string[], options: ConversationOptions = {}, backend: FakeBackendOptions = {}) {
  const chat = made(backend).conversation(options);
  await said(chat, texts);
  return chat.messages;
}

/** A text whose prompt after the history so far has exactly so many tokens. */
async function textOfLength(chat: Conversation, promptTokens: number): Promise<string> {
  let text = "";
  for (let round = 0; round < 2000; round++) {
    const count = await chat.countTokens(text);
    if (count === promptTokens) return text;
    if (count > promptTokens) throw new Error(`no text of ${promptTokens} tokens`);
    text += "xqzjkv"[round % 6] ?? "";
  }
  throw new Error("no end");
}

const contextOf = (fake: FakeConversations) => fake.backend.facts.contextLength;

test("messages and answers make the history; the system's message stays before them", async () => {
  const chat = made().conversation({ system: "Be brief." });
  const [first, second] = await said(chat, ["Hello", "And now?"]);
  expect(chat.messages).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hello" },
    { role: "assistant", content: first },
    { role: "user", content: "And now?" },
    { role: "assistant", content: second },
  ]);
  expect(chat.turnCount).toBe(2);
});

test("`countTokens` is what the prompt then has, and `remaining` what is left after the answer", async () => {
  const fake = made();
  const chat = fake.conversation();
  expect(chat.remaining).toBe(contextOf(fake));
  for (const text of ["Hello", "How long is this?"]) {
    const count = await chat.countTokens(text);
    const { usage } = await chat.send(text, SHORT).end;
    expect(usage.promptTokens).toBe(count);
    expect(chat.remaining).toBe(contextOf(fake) - count - usage.completionTokens);
  }
});

test("sends wait their turn, and each has the answer before it in its prompt", async () => {
  const chat = made().conversation();
  const runs = ["one", "two", "three"].map((text) => chat.send(text, SHORT));
  await Promise.all(runs.map((run) => run.end));
  expect(chat.messages).toEqual(await freshly(["one", "two", "three"]));
});

test("a fork goes on by itself: both are what a fresh conversation with the same turns is", async () => {
  const chat = made().conversation({ system: "S" });
  await said(chat, ["a", "b"]);
  const fork = chat.fork();
  await said(chat, ["c"]);
  await said(fork, ["d", "e"]);
  await said(chat, ["f"]);
  expect(chat.messages).toEqual(await freshly(["a", "b", "c", "f"], { system: "S" }));
  expect(fork.messages).toEqual(await freshly(["a", "b", "d", "e"], { system: "S" }));
});

test("a fork finds in the cache what both have in common", async () => {
  const chat = made().conversation();
  await said(chat, ["a", "b"]);
  const { remaining = 0 } = chat;
  const fork = chat.fork();
  await said(chat, ["c"]);
  const { usage } = await fork.send("d", SHORT).end;
  const held = 1000 - remaining;
  expect(usage.cachedTokens).toBeGreaterThanOrEqual(held - 1); // the last token of an answer may not have been run
});

test("rewound, a conversation is what it was before those turns", async () => {
  const chat = made().conversation({ system: "S" });
  await said(chat, ["a", "b", "c"]);
  chat.rewind(2);
  expect(chat.messages).toEqual(await freshly(["a"], { system: "S" }));
  await said(chat, ["d"]);
  expect(chat.messages).toEqual(await freshly(["a", "d"], { system: "S" }));
  chat.rewind(0);
  expect(chat.turnCount).toBe(2);
  chat.rewind(2);
  expect(chat.messages).toEqual([{ role: "system", content: "S" }]);
  expect(() => chat.rewind(1)).toThrow(/count is 1; it must be a whole number from 0 to 0/);
});

test("rewinding while an answer is written is refused", async () => {
  const chat = made().conversation();
  await said(chat, ["a"]);
  const run = chat.send("b", SHORT);
  expect(() => chat.rewind()).toThrow(/while an answer is being written/);
  await run.end;
  chat.rewind();
  expect(chat.turnCount).toBe(1);
});

test("what a tool says belongs to the turn that asked for it", async () => {
  const chat = made().conversation({ tools: [{ name: "clock" }] });
  await said(chat, ["a", "time?"]);
  await chat.send(
    [
      { role: "tool", content: "noon" },
      { role: "tool", content: "one" },
    ],
    SHORT,
  ).end;
  expect(chat.turnCount).toBe(2);
  expect(chat.messages.map(({ role }) => role)).toEqual([
    ...["user", "assistant", "user", "assistant", "tool", "tool", "assistant"],
  ]);
  chat.rewind();
  expect(chat.messages).toHaveLength(2);
});

test("an aborted send leaves the history as it was, its message included", async () => {
  const { conversation } = made({ ...ENDLESS, takesTime: true });
  const chat = conversation();
  await said(chat, ["a"]);
  const before = chat.messages;
  const controller = new AbortController();
  const run = chat.send("b", { ...SHORT, signal: controller.signal });
  for await (const chunk of run) {
    expect(chunk.text).not.toBe("");
    break;
  }
  expect((await run.end).finishReason).toBe("abort");
  expect(chat.messages).toEqual(before);
  const waiting = [chat.send("c", SHORT), chat.send("d", { ...SHORT, signal: controller.signal })] as const;
  controller.abort();
  expect((await waiting[1].end).finishReason).toBe("abort");
  await waiting[0].end;
  expect(chat.messages).toEqual(await freshly(["a", "c"], {}, ENDLESS));
});

test("with keepAborted what had been written stays, and the next prompt has it", async () => {
  const { conversation } = made({ ...ENDLESS, takesTime: true });
  const chat = conversation({ keepAborted: true });
  const run = chat.send("b", { ...SHORT });
  let seen = "";
  for await (const chunk of run) {
    seen += chunk.text;
    if (seen.length >= 3) break;
  }
  await run.end;
  expect(chat.messages).toEqual([
    { role: "user", content: "b" },
    { role: "assistant", content: seen },
  ]);
  const { usage } = await chat.send("c", SHORT).end;
  expect(usage.cachedTokens).toBeGreaterThan(seen.length);
});

test("a send that fails leaves the history as it was, and the next one goes on", async () => {
  const { conversation } = made({ ...ENDLESS, failsAt: 6 });
  const chat = conversation();
  await expect(chat.send("a", { ...SHORT }).text()).rejects.toMatchObject({ code: "out-of-memory" });
  expect(chat.messages).toEqual([]);
  await said(chat, ["b"]);
  expect(chat.messages).toEqual(await freshly(["b"], {}, ENDLESS));
});

test("one that the limit cut stays", async () => {
  const chat = made(ENDLESS).conversation();
  const end = await chat.send("a", { maxNewTokens: 3 }).end;
  expect(end.finishReason).toBe("length");
  expect(chat.messages).toHaveLength(2);
});

test.each([
  ["one below", -1],
  ["at the border", 0],
])("error: a prompt %s of the context is answered", async (_, beyond) => {
  const fake = made({ ...ENDLESS, contextLength: 120 });
  const chat = fake.conversation();
  await said(chat, ["first"]);
  const text = await textOfLength(chat, 120 + beyond);
  const end = await chat.send(text, { maxNewTokens: 50 }).end;
  expect(end).toMatchObject({ finishReason: "length", usage: { completionTokens: 1 - beyond } });
  expect(chat.turnCount).toBe(2);
});

test("error: one above is refused with both numbers, and nothing has changed", async () => {
  const fake = made({ ...ENDLESS, contextLength: 120 });
  const chat = fake.conversation();
  await said(chat, ["first"]);
  const before = chat.messages;
  const text = await textOfLength(chat, 121);
  const calls = fake.backend.calls.length;
  await expect(chat.send(text).text()).rejects.toMatchObject({
    code: "prompt-too-long",
    message: "the prompt has 121 tokens; the context holds 120",
  });
  expect(chat.messages).toEqual(before);
  expect(fake.backend.calls).toHaveLength(calls);
});

test.each([
  ["one below", 0, -1],
  ["at the border", 0, 0],
  ["one above", 1, 1],
])("drop-oldest-turns: a prompt with its answer %s of the context drops %s turns", async (_, turns, beyond) => {
  const fake = made({ ...ENDLESS, contextLength: 200 });
  const chat = fake.conversation({ system: "Stays.", fullContext: "drop-oldest-turns" });
  await said(chat, ["first", "second"], { maxNewTokens: 8 });
  // An answer of 8 takes 7 positions: its last token is not run.
  const text = await textOfLength(chat, 200 - 7 + beyond);
  const end = await chat.send(text, { maxNewTokens: 8 }).end;
  expect(end.dropped).toEqual(turns === 0 ? undefined : { turns, tokens: 0 });
  expect(end.usage.completionTokens).toBe(8);
  const roles = chat.messages.map(({ role, content }) => (role === "user" ? content : role));
  expect(roles).toEqual([
    "system",
    ...(turns === 0 ? ["first", "assistant"] : []),
    "second",
    "assistant",
    text,
    "assistant",
  ]);
  // What is left is a conversation like any other.
  expect(chat.remaining).toBe(Math.max(0, 200 - end.usage.promptTokens - 8));
  const next = await chat.send("x", { maxNewTokens: 1 }).end;
  expect(next.dropped?.turns ?? 0).toBe(turns === 0 ? 1 : 0);
});

test("drop-oldest-turns: it keeps no more than a quarter of the context free, and an own turn is never dropped", async () => {
  const fake = made({ ...ENDLESS, contextLength: 200 });
  const chat = fake.conversation({ fullContext: "drop-oldest-turns" });
  await said(chat, ["first"]);
  const fits = await textOfLength(chat, 200 - 49);
  expect((await chat.fork().send(fits, { maxNewTokens: 5000 }).end).dropped).toBeUndefined();
  const all = await textOfLength(fake.conversation(), 200);
  expect(await chat.fork().send(all, SHORT).end).toMatchObject({
    dropped: { turns: 1 },
    usage: { completionTokens: 1 },
  });
  const none = await textOfLength(fake.conversation(), 200);
  await expect(chat.send(`${none}x`, SHORT).text()).rejects.toMatchObject({ code: "prompt-too-long" });
  expect(chat.turnCount).toBe(1);
  const tool = chat.send({ role: "tool", content: all }, SHORT).text();
  await expect(tool).rejects.toMatchObject({ code: "prompt-too-long" });
});

test.each([
  ["one below", -1],
  ["at the border", 0],
  ["one above", 1],
])("slide: a prompt %s of the context; the answer goes on past it", async (_, beyond) => {
  const [contextLength, sinks] = [120, 10];
  const fake = made({ ...ENDLESS, contextLength });
  const chat = fake.conversation({ system: "Stays.", fullContext: "slide", sinks });
  const text = await textOfLength(chat, contextLength + beyond);
  const before = await tokenizer.encodeChat([...chat.messages, { role: "user", content: text }]);
  const run = chat.send(text, { maxNewTokens: 200 });
  const ids: number[] = [];
  for await (const { tokens } of run) ids.push(...tokens.map(({ id }) => id));
  // By definition: what the model sees is all there is to it.
  let [seen, written]: [number[], number[]] = [[...before], []];
  let dropped = 0;
  while (written.length < 200) {
    if (seen.length > contextLength) {
      dropped += seen.length - sinks - (contextLength - sinks) / 2;
      seen = [...seen.slice(0, sinks), ...seen.slice(-(contextLength - sinks) / 2)];
    }
    const id = letterAfter(seen);
    seen.push(id);
    written = [...written, id];
  }
  expect(ids).toEqual(written);
  const end = await run.end;
  expect(end.usage.completionTokens).toBe(200);
  expect(end.finishReason).toBe("length");
  expect(end.dropped).toEqual({ turns: 0, tokens: dropped });
  expect(end.usage.promptTokens).toBe(beyond > 0 ? sinks + (contextLength - sinks) / 2 : contextLength + beyond);
  expect(chat.messages).toHaveLength(3);
  // The next prompt is what stayed in sight, and after it the new message.
  expect(chat.remaining).toBe(contextLength - seen.length);
  const count = await chat.countTokens("x");
  expect(count).toBeGreaterThan(seen.length);
  const { usage } = await chat.send("x", { maxNewTokens: 1 }).end;
  if (count <= contextLength) expect(usage.cachedTokens).toBeGreaterThanOrEqual(seen.length - 1);
});

test("generate, too, goes on past the context, from ids and from a longer prompt", async () => {
  const { engine, host } = made({ ...ENDLESS, contextLength: 40 });
  const { settings } = host.check({ maxNewTokens: 100, fullContext: "slide", sinks: 2 } as SendOptions);
  const ids = Uint32Array.from({ length: 70 }, (_, at) => 50 + at);
  const end = await engine.generate(
    { ...settings, input: { kind: "ids", ids } },
    () => {},
    new AbortController().signal,
  );
  expect(end).toMatchObject({ finishReason: "length", usage: { promptTokens: 21, completionTokens: 100 } });
  // Of 70, and then four times of 41, the first 2 and the last 19 stay.
  expect(end.dropped?.tokens).toBe(70 - 21 + 4 * (41 - 21));
});

test("options that the conversation has are refused by send, and unknown ones by both", async () => {
  const { conversation } = made();
  const chat = conversation();
  const option = (name: string, value: unknown) => chat.send("a", { [name]: value }).text();
  await expect(option("tools", [])).rejects.toMatchObject({
    code: "option-invalid",
    message: 'send has no option "tools"',
  });
  await expect(option("fullContext", "slide")).rejects.toMatchObject({ code: "option-invalid" });
  await expect(option("continueFinalMessage", true)).rejects.toMatchObject({ code: "option-invalid" });
  await expect(option("nonsense", 1)).rejects.toMatchObject({ code: "option-invalid" });
  await expect(chat.send({ role: "assistant", content: "me" }).text()).rejects.toThrow(/role is "assistant"/);
  await expect(chat.send([]).text()).rejects.toMatchObject({ code: "option-invalid" });
  const refused: ConversationOptions[] = [
    { system: 1 as never },
    { system: "a", messages: [{ role: "user", content: "b" }] },
    { fullContext: "forget" as never },
    { sinks: 4 },
    { fullContext: "slide", sinks: -1 },
    { nonsense: 1 } as ConversationOptions,
  ];
  for (const options of refused)
    expect(() => conversation(options)).toThrow(expect.objectContaining({ code: "option-invalid" }));
  const slides = conversation({ fullContext: "slide", sinks: 999 });
  await expect(slides.send("a").text()).rejects.toThrow("sinks is 999; a context of 1000 has room for two less");
});

test("messages said before are a history like one that was written", async () => {
  const messages = await freshly(["a", "b"], { system: "S" });
  const chat = made().conversation({ messages });
  expect(chat.messages).toEqual(messages);
  expect(chat.turnCount).toBe(2);
  const prompt = await tokenizer.encodeChat([...messages, { role: "user", content: "c" }]);
  expect(await chat.countTokens("c")).toBe(prompt.length);
  chat.rewind();
  expect(chat.messages).toEqual(messages.slice(0, 3));
});

test("what the caller changes of messages changes nothing of the conversation", async () => {
  const given = [{ role: "user", content: "a" }];
  const chat = made().conversation({ messages: given });
  given[0] = { role: "user", content: "changed" };
  (chat.messages[0] as { content: string }).content = "changed, too";
  expect(chat.messages).toEqual([{ role: "user", content: "a" }]);
});

test("sinks alone, and sliding with a constraint, are refused by generate", async () => {
  const { engine, host } = made();
  expect(() => host.check({ sinks: 2 } as SendOptions)).toThrow(/sinks is given without fullContext/);
  expect(() => host.check({ fullContext: "forget" } as never)).toThrow(/fullContext is "forget"/);
  const { settings } = host.check({ fullContext: "slide" } as SendOptions);
  expect(settings.slide).toEqual({ sinks: 4 });
  const request = { ...settings, input: { kind: "ids", ids: Uint32Array.of(7) } } as const;
  const constraint = { kind: "regex", source: "a", flags: "u" } as const;
  const refused = engine.generate({ ...request, constraint }, () => {}, new AbortController().signal);
  await expect(refused).rejects.toThrow(/constraint and fullContext: "slide"/);
});

test("without a cache of its own, as on a server, a conversation is its messages", async () => {
  const { engine, host } = made();
  const seen: unknown[] = [];
  const elsewhere: typeof host = {
    ...host,
    engine: {
      ...{ score: engine.score, choose: engine.choose, embed: engine.embed, detokenize: engine.detokenize },
      ...{ info: { contextLength: undefined, backend: "remote" }, tokenize: engine.tokenize, dispose: engine.dispose },
      generate: (request, onChunk, signal) => {
        seen.push(request.input);
        return engine.generate(request, onChunk, signal);
      },
    },
  };
  expect(() => resolveConversationOptions({ fullContext: "slide" }, true)).toThrow(/for a model on a server/);
  const { settings, history } = resolveConversationOptions({ system: "S" }, true);
  const chat = new Conversation(elsewhere, settings, history);
  await said(chat, ["a", "b"]);
  expect(seen.at(-1)).toEqual({ kind: "chat", messages: chat.messages.slice(0, -1) });
  expect(chat.remaining).toBeUndefined();
  const { history: kept } = await readSaved(
    await chat.toBlob(),
    undefined,
    { contextLength: 1000, vocabSize: 400 },
    new AbortController().signal,
  );
  expect(messagesOf(kept)).toEqual(chat.messages);
});
