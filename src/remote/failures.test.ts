/** What goes wrong with servers: each failure has its code, keeps the text so far, and tells no key. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { TextGenerator } from "../api/text-generator";
import type { WordloomError } from "../errors";
import { events, json, replayingServer, type Replay, type ReplayingServer } from "../testing/replaying-server";

const KEY = "sk-very-secret-1234";
const text = (piece: string) => ({ choices: [{ index: 0, text: piece, finish_reason: null }] });
const END = { choices: [{ index: 0, text: "", finish_reason: "stop" }] };
const WHOLE = events(text("Once"), text(" more"), END, "[DONE]");

const open: ReplayingServer[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function serve(completions: Replay | Replay[]): Promise<ReplayingServer> {
  const server = await replayingServer({ "POST /v1/completions": completions });
  open.push(server);
  return server;
}

const connect = (url: string) => TextGenerator.connect(url, { server: "openai", model: "m", apiKey: KEY });

/** The text up to the failure, and the failure. */
async function failing(server: ReplayingServer): Promise<{ text: string; error: WordloomError }> {
  const run = (await connect(server.url)).generate("Begin");
  let written = "";
  try {
    for await (const chunk of run) written += chunk.text;
  } catch (error) {
    await expect(run.end).rejects.toBe(error);
    return { text: written, error: error as WordloomError }; // looked at by the test
  }
  throw new Error(`nothing failed after "${written}"`);
}

describe("before the first text", () => {
  const says = (message: string, more: object = {}) => ({ error: { message, type: "x", ...more } });

  test.each([
    [
      401,
      says(`Incorrect API key provided: ${KEY}`),
      "access-denied",
      "status 401 Unauthorized: Incorrect API key provided: …",
    ],
    [403, says("not for you"), "access-denied", "not for you"],
    [404, says("The model `m` does not exist"), "model-not-found", "The model `m` does not exist"],
    [404, "404 page not found", "model-not-found", "404 page not found"],
    [400, { detail: "unknown field" }, "option-invalid", "unknown field"],
    [422, { object: "error", message: "top_k must be an int", code: 400 }, "option-invalid", "top_k must be an int"],
    [400, says("too many", { code: "context_length_exceeded" }), "prompt-too-long", "too many"],
    [400, says("the request exceeds the available context size", { n_ctx: 8 }), "prompt-too-long", "context size"],
    [400, says("This model's maximum context length is 8 tokens."), "prompt-too-long", "maximum context length is 8"],
    [413, "<html>too large</html>", "prompt-too-long", "status 413"],
    [500, { error: "llama runner process has terminated" }, "server-failed", "llama runner process has terminated"],
    [502, "<html>Bad gateway</html>", "server-failed", "status 502 Bad Gateway"],
    [405, "", "network-failed", "status 405"],
  ])("status %i with %j is %s", async (status, body, code, message) => {
    const replay = typeof body === "string" ? { status, body } : json(body, status);
    const server = await serve(replay);
    const { error } = await failing(server);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(`${error.message} ${error.remedy} ${String(error.cause)}`).not.toContain(KEY);
    expect(error.message).not.toContain("<html>");
    expect(server.asked).toHaveLength(1); // it is not asked again: it may have begun to write
  });

  test("a web page in place of an answer is told as a wrong address", async () => {
    const page = { headers: { "Content-Type": "text/html" }, body: "<!doctype html><title>Welcome</title>" };
    const { error } = await failing(await serve(page));
    expect(error).toMatchObject({
      code: "model-not-found",
      message: expect.stringContaining("answered with a web page"),
    });
    const server = await replayingServer({ "GET /v1/models": page });
    open.push(server);
    await expect(TextGenerator.connect(server.url)).rejects.toMatchObject({ code: "model-not-found" });
  });

  test("429 with Retry-After is waited for, and then the answer comes whole", async () => {
    const server = await serve([json(says("slow down"), 429, { "Retry-After": "1" }), WHOLE]);
    const startMs = performance.now();
    expect(await (await connect(server.url)).generate("Begin").text()).toBe("Once more");
    expect(performance.now() - startMs).toBeGreaterThan(950);
    expect(server.asked).toHaveLength(2);
  });

  test("429 that asks for a longer wait than a minute is told at once", async () => {
    const { error } = await failing(await serve(json(says("quota"), 429, { "Retry-After": "3600" })));
    expect(error).toMatchObject({
      code: "rate-limited",
      message: expect.stringMatching(/status 429 Too Many Requests: quota; it asks to wait 3600 s$/),
    });
  });

  test("a server that is still loading its model is asked again, but not for ever", async () => {
    const loading = json({ error: { code: 503, message: "Loading model", type: "unavailable_error" } }, 503);
    const server = await serve([loading, WHOLE]);
    expect(await (await connect(server.url)).generate("Begin").text()).toBe("Once more");
    const never = await serve(loading);
    expect((await failing(never)).error).toMatchObject({ code: "server-failed" });
    expect(never.asked.length).toBe(3);
  });

  test("a server that is not there is network-failed", async () => {
    const server = await serve(WHOLE);
    await server.close();
    const { error } = await failing(server);
    expect(error).toMatchObject({
      code: "network-failed",
      message: expect.stringContaining(`${server.url}/v1/completions`),
    });
  });

  test("a redirection is not followed: neither the prompt nor the key goes to another address", async () => {
    const other = await serve(WHOLE);
    const server = await serve({ status: 307, headers: { Location: `${other.url}/v1/completions` }, body: "" });
    const { error } = await failing(server);
    expect(error).toMatchObject({
      code: "network-failed",
      message: expect.stringContaining("leads to another address"),
    });
    expect(other.asked).toEqual([]);
  });

  test("a first text that is slow to come is waited for, and can be stopped", async () => {
    const server = await serve({ ...WHOLE, delayMs: 700 });
    const generator = await connect(server.url);
    const run = generator.generate("Begin");
    expect(await run.text()).toBe("Once more");
    expect((await run.end).timings.firstTokenMs).toBeGreaterThan(650);

    const stopped = generator.generate("Begin", { signal: AbortSignal.timeout(100) });
    await expect(stopped.text()).rejects.toMatchObject({ name: "TimeoutError" });
    expect((await stopped.end).finishReason).toBe("abort");
    await vi.waitFor(() => expect(server.hangUps).toBe(1));
  });
});

describe("in the middle of an answer", () => {
  test.each([
    ["a connection that breaks", { ...events(text("Once"), text(" more")), cutAt: 90 }, "network-failed", "Once"],
    ["a stream that ends without its end", events(text("Once")), "network-failed", "Once"],
    [
      "an error object",
      events(text("Once"), { error: { message: "out of memory", code: 500 } }),
      "server-failed",
      "Once",
    ],
    ["an error in words", events(text("Once"), { error: "out of memory" }), "server-failed", "Once"],
    ["an error object with its status", events({ error: { message: "no", code: 401 } }), "access-denied", ""],
    [
      "llama.cpp's old error",
      { ...events(text("Once")), body: 'error: {"code":500,"message":"x"}\n\n' },
      "server-failed",
      "",
    ],
    ["what is no JSON", events(text("Once"), "{oops"), "server-failed", "Once"],
    [
      "a filter",
      events(text("Once"), { choices: [{ text: "", finish_reason: "content_filter" }] }),
      "server-failed",
      "Once",
    ],
  ])("%s fails after the text so far", async (_, replay, code, written) => {
    const failed = await failing(await serve(replay));
    expect(failed.error.code).toBe(code);
    expect(failed.text).toBe(written);
  });

  test("a stream without [DONE], but with a reason for its end, is whole", async () => {
    const generator = await connect((await serve(events(text("Once"), END))).url);
    expect(await generator.generate("Begin").text()).toBe("Once");
  });

  test("a server that does not stream gives its answer at once", async () => {
    const whole = json({ choices: [{ index: 0, text: "Once", finish_reason: "stop" }], usage: { prompt_tokens: 1 } });
    const generator = await connect((await serve(whole)).url);
    const run = generator.generate("Begin");
    expect(await run.text()).toBe("Once");
    expect((await run.end).usage).toEqual({ promptTokens: 1, cachedTokens: 0, completionTokens: NaN });
  });

  test("half of a character waits for the other half", async () => {
    const generator = await connect((await serve(events(text("a\ud83d"), text("\ude00b"), END, "[DONE]"))).url);
    const pieces: string[] = [];
    for await (const chunk of generator.generate("Begin")) pieces.push(chunk.text);
    expect(pieces).toEqual(["a", "😀b"]);
  });

  const SLOW = { ...events(...Array.from({ length: 500 }, () => text("again "))), pieceBytes: 64, cutAt: 1e9 };

  test("an abort ends the request, and the reading of it", async () => {
    const server = await serve(SLOW);
    const stop = new AbortController();
    const run = (await connect(server.url)).generate("Begin", { signal: stop.signal });
    const reason = new Error("enough");
    await expect(
      (async () => {
        for await (const { text: piece } of run) if (piece !== "") stop.abort(reason);
      })(),
    ).rejects.toBe(reason);
    expect((await run.end).finishReason).toBe("abort");
    await vi.waitFor(() => expect(server.hangUps).toBe(1));
  });

  test("maxTimeMs ends the answer with what has come", async () => {
    const server = await serve({ ...WHOLE, delayMs: 5000 });
    const run = (await connect(server.url)).generate("Begin", { maxTimeMs: 50 });
    expect(await run.text()).toBe("");
    expect((await run.end).finishReason).toBe("time");
    await vi.waitFor(() => expect(server.hangUps).toBe(1));
  });

  test("dispose ends what is under way, and refuses what comes later", async () => {
    const server = await serve(SLOW);
    const generator = await connect(server.url);
    const run = generator.generate("Begin");
    const read = run.text();
    await vi.waitFor(() => expect(server.asked).toHaveLength(1));
    await generator.dispose();
    await generator.dispose();
    await expect(read).rejects.toMatchObject({ code: "disposed" });
    await expect(generator.generate("Begin").text()).rejects.toMatchObject({ code: "disposed" });
    await vi.waitFor(() => expect(server.hangUps).toBe(1));
  });
});

describe("the key", () => {
  test("goes with every request to its server, and nowhere else: not into the console, not into info", async () => {
    const spies = (["log", "info", "warn", "error", "debug"] as const).map((name) => vi.spyOn(console, name));
    const server = await replayingServer({
      "GET /v1/models": json({ data: [{ id: "m", owned_by: "vllm" }] }),
      "POST /v1/completions": WHOLE,
    });
    open.push(server);
    const generator = await TextGenerator.connect(server.url, { apiKey: KEY, headers: { "X-Team": "a-team" } });
    await generator.generate("Begin").text();
    for (const { headers } of server.asked) {
      expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-team": "a-team" });
    }
    expect(server.asked).toHaveLength(2);
    expect(JSON.stringify(generator.info)).not.toContain(KEY);
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });

  test("a failure of fetch that repeats it is told without it", async () => {
    const failing: typeof fetch = (_, init) =>
      Promise.reject(new TypeError(new Headers(init?.headers).get("Authorization") ?? ""));
    const generator = await TextGenerator.connect("http://127.0.0.1:9", {
      ...{ server: "openai", model: "m", apiKey: KEY, fetch: failing },
    });
    const error = await generator
      .generate("a")
      .text()
      .then(String, (reason: WordloomError) => reason);
    expect(error).toMatchObject({ code: "network-failed", message: expect.stringContaining("Bearer …") });
    expect(String(error)).not.toContain(KEY);
    expect(error).not.toHaveProperty("cause"); // which is what had the key
  });

  test.each(["", "two words", "line\nbreak", "schlüssel"])("%j cannot be sent, and is not repeated", async (apiKey) => {
    const failed = TextGenerator.connect("http://127.0.0.1:9", { apiKey });
    await expect(failed).rejects.toMatchObject({
      code: "option-invalid",
      message: "apiKey is no text of visible ASCII characters",
    });
  });
});

describe("addresses", () => {
  test.each([
    ["ftp://a.example", "begins with ftp:"],
    ["not an address", "is no address"],
    ["http://me:secret@a.example", "has a name or a password in it"],
    ["http://a.example/v1?key=secret", "has a ? or # in it"],
  ])("%s is refused", async (url, message) => {
    const error = await TextGenerator.connect(url).then(String, (reason: WordloomError) => reason);
    expect(error).toMatchObject({ code: "option-invalid", message: `the endpoint ${message}` });
    expect(String(error)).not.toContain("secret");
  });

  test.each([
    [{ server: "grok" }, "server"],
    [{ token: "x" }, "token"],
    [{ model: "" }, "model"],
    [{ headers: { "a b": "c" } }, "headers"],
    [{ fetch: 1 }, "fetch"],
    [{ signal: 1 }, "signal"],
  ])("%j is refused by name", async (options, name) => {
    // Wrong on purpose: callers without types do that.
    const failed = TextGenerator.connect("http://127.0.0.1:9", options as Parameters<typeof TextGenerator.connect>[1]);
    await expect(failed).rejects.toMatchObject({ code: "option-invalid", message: expect.stringContaining(name) });
  });
});
