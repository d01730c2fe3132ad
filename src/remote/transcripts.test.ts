/** The engine against what vLLM, llama.cpp's server and Ollama say over the wire (sources in server-transcripts.ts). */
import { afterEach, describe, expect, test } from "vitest";
import { TextGenerator } from "../api/text-generator";
import { modelFolder } from "../testing/model-folder";
import { replayingServer, type Replay, type ReplayingServer } from "../testing/replaying-server";
import { chain, scriptedCheckpoint } from "../testing/scripted-checkpoint";
import { LLAMA_CPP, OLLAMA, VLLM, VLLM_SCORE } from "../testing/server-transcripts";
import type { RemoteChunk } from "./remote-types";

const CHAT = [{ role: "user", content: "Hi" }];
const open: ReplayingServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** @param pieceBytes how its streams are cut */
async function serve(transcript: Record<string, Replay>, pieceBytes?: number): Promise<ReplayingServer> {
  const cut = (replay: Replay): Replay => (pieceBytes === undefined ? replay : { ...replay, pieceBytes });
  const replays = Object.fromEntries(Object.entries(transcript).map(([what, replay]) => [what, cut(replay)]));
  const server = await replayingServer(replays);
  open.push(server);
  return server;
}

async function collect(run: AsyncIterable<RemoteChunk>): Promise<RemoteChunk[]> {
  const chunks: RemoteChunk[] = [];
  for await (const chunk of run) chunks.push(chunk);
  return chunks;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("llama.cpp's server", () => {
  test("is known by its list of models, and what it tells of its model is in info", async () => {
    const { url } = await serve(LLAMA_CPP);
    const { info } = await TextGenerator.connect(url);
    expect(info).toMatchObject({
      ...{ backend: "remote", server: "llama.cpp", endpoint: `${url}/v1`, model: "../models/stories-Q4_K_M.gguf" },
      ...{ contextLength: 1024, vocabSize: 512, parameterCount: 263_872, dtype: undefined, stored: false },
      ...{ bytes: { weights: 0, kvCache: 0, activations: 0 }, suggestedSampling: {} },
    });
  });

  test.each([1, 7, undefined])("an answer is the same in pieces of %s bytes", async (pieceBytes) => {
    const generator = await TextGenerator.connect((await serve(LLAMA_CPP, pieceBytes)).url);
    const run = generator.generate("Once", { topLogprobs: 2 });
    expect(await collect(run)).toEqual([
      {
        index: 0,
        text: " é",
        tokens: [
          {
            ...{ id: 7, text: " é", bytes: bytesOf(" é"), logprob: -0.25 },
            top: [
              { id: 7, text: " é", logprob: -0.25 },
              { id: 8, text: "?", logprob: -1.25 },
            ],
          },
        ],
      },
      { index: 0, text: "😀", tokens: [expect.objectContaining({ id: 9, text: "😀", logprob: -1.5 })] },
    ]);
    const end = await run.end;
    expect(end.finishReason).toBe("length");
    expect(end.usage).toEqual({ promptTokens: 5, cachedTokens: 2, completionTokens: 3 });
    expect(end.timings.firstTokenMs).toBeGreaterThan(0);
    expect(await run.text()).toBe(" é😀");
  });

  test("a chat's reasoning is a part, and in no text", async () => {
    const generator = await TextGenerator.connect((await serve(LLAMA_CPP)).url);
    const run = generator.generate(CHAT);
    const chunks = await collect(run);
    expect(chunks.flatMap(({ parts }) => parts)).toEqual([
      { type: "reasoning", text: "The user greets." },
      { type: "text", text: "Hel" },
      { type: "text", text: "lo" },
    ]);
    expect(await run.text()).toBe("Hello");
    expect(chunks.flatMap(({ tokens }) => tokens.map(({ id }) => id))).toEqual([3, 4, 5]);
  });

  test("ids go as they are; text and messages are tokenized by the server", async () => {
    const server = await serve(LLAMA_CPP);
    const generator = await TextGenerator.connect(server.url);
    await generator.generate([1, 403]).text();
    expect(server.bodyOf("POST /v1/completions")["prompt"]).toEqual([1, 403]);
    expect(await generator.tokenize("Once upon", { addSpecialTokens: false })).toEqual([1, 403, 407]);
    expect(server.bodyOf("POST /tokenize")).toEqual({ content: "Once upon", add_special: false, parse_special: true });
    expect(await generator.tokenize(CHAT)).toEqual([1, 403, 407]);
    expect(server.bodyOf("POST /apply-template")).toEqual({ messages: CHAT });
    expect(server.bodyOf("POST /tokenize")["content"]).toBe("<|user|>Hi<|assistant|>");
    expect(await generator.detokenize([403, 407])).toBe(" Once upon");
    expect(server.bodyOf("POST /detokenize")).toEqual({ tokens: [403, 407] });
    await expect(generator.detokenize([512])).rejects.toMatchObject({ code: "option-invalid" }); // it has 512
    await expect(generator.score("Once")).rejects.toMatchObject({
      code: "option-invalid",
      message: expect.stringContaining("llama.cpp's server does not score"),
    });
  });

  test("another model's name is refused, which the server would not do; a file's name will do for its path", async () => {
    const { url } = await serve(LLAMA_CPP);
    await expect(TextGenerator.connect(url, { model: "gpt-4" })).rejects.toMatchObject({
      code: "model-not-found",
      message: expect.stringContaining('has no model "gpt-4"; it has "../models/stories-Q4_K_M.gguf"'),
    });
    expect((await TextGenerator.connect(url, { model: "stories-Q4_K_M" })).info.model).toBe("stories-Q4_K_M");
  });
});

describe("vLLM", () => {
  test("is known by its list of models, with the context's length", async () => {
    const { info } = await TextGenerator.connect((await serve(VLLM)).url);
    expect(info).toMatchObject({ server: "vllm", model: "HuggingFaceTB/SmolLM2-135M", contextLength: 8192 });
  });

  test.each([5, undefined])("tokens have ids, in pieces of %s bytes; alternatives have none", async (pieceBytes) => {
    const generator = await TextGenerator.connect((await serve(VLLM, pieceBytes)).url);
    const run = generator.generate("Once", { topLogprobs: 1 });
    const chunks = await collect(run);
    expect(await run.text()).toBe(" a b.");
    expect(chunks[0]?.tokens).toEqual([
      { id: 21, text: " a", bytes: bytesOf(" a"), logprob: -0.5, top: [{ id: null, text: " a", logprob: -0.5 }] },
      { id: 22, text: " b", bytes: bytesOf(" b"), logprob: -0.75, top: [{ id: null, text: " x", logprob: -0.5 }] },
    ]);
    // A piece of a character: which bytes it has, nobody tells.
    expect(chunks[1]?.tokens).toEqual([expect.objectContaining({ id: 23, text: "", bytes: null })]);
    expect(await run.end).toMatchObject({
      finishReason: "stop",
      usage: { promptTokens: 4, cachedTokens: 0, completionTokens: 3 },
    });
  });

  test("a call of a tool comes once it is whole, and one that is none as text with the reason", async () => {
    const server = await serve(VLLM);
    const generator = await TextGenerator.connect(server.url);
    const tools = [{ name: "weather", parameters: { type: "object" } }, { name: "time" }];
    const run = generator.generate(CHAT, { tools, templateOptions: { enable_thinking: true } });
    const parts = (await collect(run)).flatMap((chunk) => chunk.parts ?? []);
    expect(parts).toEqual([
      { type: "reasoning", text: "Look it up." },
      { type: "tool-call", id: "call-1", name: "weather", arguments: { city: "Oslo" } },
      { type: "text", text: "time({])", malformedCall: expect.stringContaining("no JSON") },
    ]);
    expect((await run.end).finishReason).toBe("stop");
    const body = server.bodyOf("POST /v1/chat/completions");
    expect(body["tools"]).toEqual(tools.map((tool) => ({ type: "function", function: tool })));
    expect(body["chat_template_kwargs"]).toEqual({ enable_thinking: true });
  });

  test("a text is scored by the log-probabilities of a prompt", async () => {
    const server = await serve({ ...VLLM, "POST /v1/completions": VLLM_SCORE });
    const generator = await TextGenerator.connect(server.url);
    expect(await generator.score("Once upon a")).toEqual({
      tokens: [
        { id: 10, text: "Once", logprob: null, rank: null, entropy: null },
        { id: 20, text: " upon", logprob: -1.5, rank: 3, entropy: null },
        { id: 30, text: " a", logprob: -0.5, rank: 1, entropy: null },
      ],
      logprob: -2,
      perplexity: Math.exp(1),
    });
    const body = server.bodyOf("POST /v1/completions");
    expect(body).toMatchObject({ prompt: [10, 20, 30], prompt_logprobs: 0, max_tokens: 1 });
    expect(body).not.toHaveProperty("stream");
  });
});

describe("Ollama", () => {
  test("is known by its version; with several models one has to be named", async () => {
    const { url } = await serve(OLLAMA);
    await expect(TextGenerator.connect(url)).rejects.toMatchObject({
      code: "option-invalid",
      message: expect.stringContaining('has 2 models ("llama3.2:latest", "qwen3:0.6b")'),
    });
    const { info } = await TextGenerator.connect(url, { model: "llama3.2" });
    expect(info).toMatchObject({ server: "ollama", model: "llama3.2", contextLength: undefined, vocabSize: undefined });
  });

  test.each([4, undefined])("text comes without tokens, in pieces of %s bytes", async (pieceBytes) => {
    const generator = await TextGenerator.connect((await serve(OLLAMA, pieceBytes)).url, { model: "llama3.2" });
    const run = generator.generate("Begin", { stop: ["END"] });
    expect(await collect(run)).toEqual([
      { index: 0, text: "One", tokens: [] },
      { index: 0, text: " day", tokens: [] },
    ]);
    const { usage, timings } = await run.end;
    expect(usage).toEqual({ promptTokens: 26, cachedTokens: 0, completionTokens: 3 });
    expect(timings.prefillTokensPerSecond).toBeGreaterThan(0);
  });

  test("its word for reasoning is understood, and what it has no endpoint for is refused", async () => {
    const generator = await TextGenerator.connect((await serve(OLLAMA)).url, { model: "llama3.2" });
    const parts = (await collect(generator.generate(CHAT))).flatMap((chunk) => chunk.parts ?? []);
    expect(parts).toEqual([
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "Yes" },
    ]);
    const refused = { code: "option-invalid", message: expect.stringContaining("Ollama's OpenAI endpoint does not") };
    await expect(generator.tokenize("a")).rejects.toMatchObject(refused);
    await expect(generator.detokenize([1])).rejects.toMatchObject(refused);
    await expect(generator.generate([1, 2]).text()).rejects.toMatchObject(refused);
    await expect(generator.score("a")).rejects.toMatchObject(refused);
  });
});

test("a server that is none of them is taken for one of OpenAI's shape, and is not asked for more", async () => {
  const models = { object: "list", data: [{ id: "gpt-x", object: "model", owned_by: "system" }] };
  const server = await serve({ "GET /api/v3/models": { body: JSON.stringify(models) } });
  const { info } = await TextGenerator.connect(`${server.url}/api/v3/`);
  expect(info).toMatchObject({ server: "openai", model: "gpt-x", endpoint: `${server.url}/api/v3` });
  expect(server.asked.map(({ what }) => what)).toEqual(["GET /api/v3/models"]);
});

test("with server and model given nothing is asked before the first text", async () => {
  const server = await serve(VLLM);
  const generator = await TextGenerator.connect(server.url, { server: "vllm", model: "m" });
  expect(server.asked).toEqual([]);
  await generator.generate("Once").text();
  expect(server.asked.map(({ what }) => what)).toEqual(["POST /v1/completions"]);
  expect(generator.info.contextLength).toBeUndefined();
});

describe("a fallback", () => {
  const pieces = ["<|end|>", "<|go|>", "a", "b"];
  const tiny = () => modelFolder(scriptedCheckpoint({ pieces, size: 32, table: chain(pieces.length) }));

  test("writes where this device has no WebGPU, and info says why", async () => {
    const server = await serve(VLLM);
    const there = await TextGenerator.load(tiny(), { backend: "webgpu", fallback: { endpoint: server.url } });
    expect(there.info).toMatchObject({ backend: "remote", model: "HuggingFaceTB/SmolLM2-135M" });
    expect(there.info.backendReason).toMatch(/^this device cannot run the model \(webgpu-unavailable: /);
    expect(await there.generate("Once").text()).toBe(" a b.");
  });

  test("is not asked where the device can, nor for other failures; what is wrong with it is told at once", async () => {
    const server = await serve(VLLM);
    const fallback = { endpoint: server.url };
    const here = await TextGenerator.load(tiny(), { backend: "reference", fallback });
    expect(here.info.backend).toBe("reference");
    await here.dispose();
    const empty = TextGenerator.load([new File([], "notes.txt")], { backend: "reference", fallback });
    await expect(empty).rejects.toMatchObject({ code: "source-unsupported" });
    const wrong = { endpoint: server.url, apiKey: "two words" };
    await expect(TextGenerator.load(tiny(), { fallback: wrong })).rejects.toMatchObject({ code: "option-invalid" });
    expect(server.asked).toEqual([]);
  });
});
