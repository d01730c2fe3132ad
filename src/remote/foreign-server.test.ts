/**
 * Against a server that is not ours: mock-llm (npm: @dwmkerr/mock-llm), an OpenAI-compatible server in its own process,
 * whose rules say what it answers. It has the chat endpoint only, streams in pieces, and tells failures within a stream.
 * What it cannot do (a 401 or a 429 for a streamed answer, Retry-After) is tried in failures.test.ts.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { TextGenerator } from "../api/text-generator";

const MAIN = resolve(import.meta.dirname, "../../node_modules/@dwmkerr/mock-llm/dist/main.js");
const ANSWER = "The owl said: “Good night, 小さな森”, and flew home over the snow.";
const chat = (content: string) => [{ role: "user", content }];

const rule = (match: string, status: number, content: object) => ({
  ...{ path: "/v1/chat/completions", match, response: { status, content: JSON.stringify(content) } },
});
const answer = { id: "c1", model: "m", choices: [{ message: { role: "assistant", content: ANSWER } }] };
const RULES = [
  rule("@", 200, answer),
  rule("body.messages[0].content == 'key'", 401, { error: { message: "Invalid key", type: "auth", code: 401 } }),
  rule("body.messages[0].content == 'often'", 429, { error: { message: "Slow down", type: "rate", code: 429 } }),
];

const folder = mkdtempSync(join(tmpdir(), "mock-llm-"));
const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill();
  rmSync(folder, { recursive: true });
});

/** @param intervalMs between two pieces, and before the first */
async function start(intervalMs: number): Promise<{ url: string; child: ChildProcess }> {
  const config = join(folder, `${intervalMs}.yaml`); // JSON is YAML
  const streaming = { chunkSize: 7, chunkIntervalMs: intervalMs };
  const models = { path: "/v1/models", response: { status: 200, content: '{"data":[{"id":"m","owned_by":"mock"}]}' } };
  writeFileSync(config, JSON.stringify({ streaming, rules: [models, ...RULES] }));
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN, "--config", config], {
    env: { ...process.env, HOST: "127.0.0.1", PORT: String(port) },
    stdio: "ignore",
  });
  started.push(child);
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/ready`)).ok).toBe(true), { timeout: 50_000, interval: 100 });
  return { url, child };
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address ? done(address.port) : failed(new Error("no port"))));
    });
  });
}

let url = "";
let generator: Awaited<ReturnType<typeof TextGenerator.connect>>;
beforeAll(async () => {
  ({ url } = await start(5));
  generator = await TextGenerator.connect(url, { model: "m" });
}, 60_000);

test("it is taken for a server of OpenAI's shape, and its answer comes whole and in pieces", async () => {
  expect(generator.info).toMatchObject({ server: "openai", model: "m", endpoint: `${url}/v1` });
  const run = generator.generate(chat("Tell"));
  const pieces: string[] = [];
  for await (const chunk of run) pieces.push(chunk.text);
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.join("")).toBe(ANSWER);
  const end = await run.end;
  expect(end.finishReason).toBe("stop");
  expect(end.usage.promptTokens).toBeNaN(); // it tells none
});

test.each([
  ["key", "access-denied", "Invalid key"],
  ["often", "rate-limited", "Slow down"],
])("a failure that it tells for %j within the stream is %s", async (content, code, message) => {
  await expect(generator.generate(chat(content)).text()).rejects.toMatchObject({
    ...{ code, message: expect.stringContaining(message) },
  });
});

test("an endpoint that it does not have is model-not-found", async () => {
  await expect(generator.generate("Once").text()).rejects.toMatchObject({ code: "model-not-found" });
});

test("a slow first text is waited for, a stop ends it, and a process that dies is a broken stream", async () => {
  const slow = await start(600);
  const there = await TextGenerator.connect(slow.url);
  const stopped = there.generate(chat("Tell"), { signal: AbortSignal.timeout(50) });
  await expect(stopped.text()).rejects.toMatchObject({ name: "TimeoutError" });

  const run = there.generate(chat("Tell"));
  let written = "";
  const reading = (async () => {
    for await (const chunk of run) {
      written += chunk.text;
      slow.child.kill("SIGKILL");
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: "network-failed" });
  expect(written).toBe(ANSWER.slice(0, 7));
}, 60_000);
