import { afterEach, describe, expect, test, vi } from "vitest";
import type { Chunk } from "../engine/answer-stream";
import type { Engine, GenerateRequest, GenerationEnd } from "../engine/engine";
import { loadEngine, type LoadContext, type LoadProgress, type LoadRequest } from "../engine/load-model";
import type { Recovery } from "../engine/recovery";
import { WordloomError } from "../errors";
import { modelFolder } from "../testing/model-folder";
import { PortWorker } from "../testing/port-worker";
import { samplingSettings } from "../testing/sampling-settings";
import { chain, scriptedCheckpoint } from "../testing/scripted-checkpoint";
import { connectEngine } from "./client";
import type { LoadEngine } from "./host";

const never = new AbortController().signal;
const PIECES = ["<|end|>", "<|go|>", "a", "b", "c"];

const LOAD: LoadRequest = {
  source: modelFolder(scriptedCheckpoint({ pieces: PIECES, size: 32, table: chain(PIECES.length) })),
  dtype: "auto",
  kvDtype: "auto",
  contextLength: undefined,
  backend: "reference",
  allowReference: false,
  powerPreference: undefined,
  memoryBudgetBytes: undefined,
  headers: {},
  store: "auto",
  sha256: {},
  endpoint: undefined,
  token: undefined,
  internal: {},
};

const GENERATE: GenerateRequest = {
  input: { kind: "ids", ids: Uint32Array.of(1) },
  sampling: samplingSettings(),
  seed: 1,
  n: 1,
  maxNewTokens: 8,
  maxTimeMs: undefined,
  stop: [],
  stopTokenIds: [],
  endTokenIds: undefined,
  drySequenceBreakers: [],
  ignoreEos: false,
  reusePrefix: true,
};

const inWorker: LoadEngine = (request, options) =>
  loadEngine(request, { ...options, worker: true, workerReason: "a dedicated worker" });

const open: PortWorker[] = [];
afterEach(() => {
  for (const worker of open.splice(0)) worker.terminate(); // an open channel keeps Node alive
});

async function connect(
  load: LoadEngine,
  options: Partial<Pick<LoadContext, "signal" | "onProgress" | "onRecovery">> = {},
) {
  const worker = new PortWorker(load);
  open.push(worker);
  const engine = await connectEngine(LOAD, {
    wantsWorker: true,
    start: () => worker,
    onProgress: options.onProgress ?? (() => {}),
    onRecovery: options.onRecovery,
    signal: options.signal ?? never,
  });
  return { worker, engine };
}

/** An engine whose answers a test writes. */
function fakeEngine(changes: Partial<Engine>): LoadEngine {
  const unused = () => Promise.reject(new Error("not part of this test"));
  return async () => ({
    info: { worker: true } as Engine["info"], // of no interest here
    generate: unused,
    score: unused,
    choose: unused,
    embed: unused,
    tokenize: unused,
    detokenize: unused,
    dispose: async () => {},
    ...changes,
  });
}

const END = { finishReason: "stop" } as GenerationEnd; // passed through as it is

describe("through a port", () => {
  test("an answer is the same as on this thread", async () => {
    const { engine } = await connect(inWorker);
    const here = await loadEngine(LOAD, { onProgress: () => {}, signal: never, worker: false, workerReason: "" });
    const answers = await Promise.all(
      [engine, here].map(async (one) => {
        const chunks: Chunk[] = [];
        const { finishReason, usage } = await one.generate(GENERATE, (chunk) => chunks.push(chunk), never);
        return { chunks, finishReason, usage };
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.chunks.map(({ text }) => text).join("")).toBe("abc");
    expect(engine.info).toEqual({ ...here.info, worker: true, workerReason: "a dedicated worker" });
  });

  test("what the cache holds crosses it whole, both ways, and its bytes are moved", async () => {
    const { engine } = await connect(inWorker);
    const here = await loadEngine(LOAD, { onProgress: () => {}, signal: never, worker: false, workerReason: "" });
    const tokens = Uint32Array.of(1, 2, 3, 4, 5);
    const piece = await engine.cache?.read(tokens, 1, never);
    const same = await here.cache?.read(tokens, 1, never);
    expect(piece).toEqual(same);
    expect(piece).toMatchObject({ start: 1, end: 5 });
    expect(await engine.cache?.owner()).toEqual(await here.cache?.owner());
    if (!piece) throw new Error("there is no piece");
    const first = await here.cache?.read(tokens.subarray(0, 1), 0, never);
    const { engine: other } = await connect(inWorker);
    expect(await other.cache?.write(tokens, piece, never)).toBe(false); // position 0 is not there
    expect(first && (await other.cache?.write(tokens, first, never))).toBe(true);
    expect(first?.bytes.length).toBe(0);
  });

  test("the caller's processor of logits runs here, and what it gives is chosen from there", async () => {
    const { engine } = await connect(inWorker);
    const seen: number[][] = [];
    const chunks: Chunk[] = [];
    const request = { ...GENERATE, maxNewTokens: 2 };
    await engine.generate(
      request,
      (chunk) => chunks.push(chunk),
      never,
      async (logits, tokens, promptLength) => {
        seen.push([promptLength, ...tokens]);
        return logits.map((logit, id) => (id === 4 ? 99 : logit));
      },
    );
    expect(chunks.map(({ text }) => text).join("")).toBe("cc");
    expect(seen).toEqual([[1, 1], [1, 1, 4]]); // prettier-ignore
  });

  test("a processor that fails fails its answer with its own error, and the next answer is whole", async () => {
    const { engine } = await connect(inWorker);
    const fault = new WordloomError("option-invalid", "no", { cause: new Error("why") });
    const failing = engine.generate(GENERATE, () => {}, never, () => Promise.reject(fault)); // prettier-ignore
    await expect(failing).rejects.toBe(fault);
    const chunks: Chunk[] = [];
    await engine.generate(GENERATE, (chunk) => chunks.push(chunk), never);
    expect(chunks.map(({ text }) => text).join("")).toBe("abc");
  });

  test("an abort leaves a processor that never comes back", async () => {
    const { engine } = await connect(inWorker);
    const controller = new AbortController();
    const forever = () => {
      controller.abort();
      return new Promise<Float32Array>(() => {});
    };
    const end = await engine.generate(GENERATE, () => {}, controller.signal, forever);
    expect(end.finishReason).toBe("abort");
  });

  test("scores, ids and texts come back as values", async () => {
    const { engine } = await connect(inWorker);
    const score = await engine.score({ kind: "ids", ids: Uint32Array.of(1, 2, 3) }, never);
    expect(score?.tokens.map(({ id, text }) => [id, text])).toEqual([[1, ""], [2, "a"], [3, "b"]]); // prettier-ignore
    expect(await engine.tokenize("abc", { addSpecialTokens: true })).toEqual([2, 3, 4]);
    expect(await engine.detokenize(Uint32Array.of(4, 2))).toBe("ca");
  });

  test("progress comes while loading, weights with their bytes", async () => {
    const phases: string[] = [];
    const weights: LoadProgress[] = [];
    await connect(inWorker, {
      onProgress: (progress) => {
        if (phases.at(-1) !== progress.phase) phases.push(progress.phase);
        if (progress.phase === "weights") weights.push(progress);
      },
    });
    expect(phases).toEqual(["config", "device", "tokenizer", "weights", "warmup"]);
    const last = weights.at(-1);
    expect(last).toMatchObject({ file: "model.safetensors", loadedBytes: last?.totalBytes });
    expect(last?.loadedBytes).toBeGreaterThan(32 * 32 * 4);
  });

  test("what becomes of a lost device is told through the port", async () => {
    const told: Recovery[] = [];
    const recovery: Recovery = {
      state: "reloading",
      attempt: 1,
      mostAttempts: 3,
      reason: "sleep",
      loadedBytes: 0,
      totalBytes: undefined,
    };
    const load: LoadEngine = (request, options) => {
      options.onRecovery?.(recovery);
      return fakeEngine({})(request, options);
    };
    await connect(load, { onRecovery: (one) => told.push(one) });
    expect(told).toEqual([recovery]);
  });

  test("chunks of one tick are one message, and all come before the end", async () => {
    const chunk = (text: string): Chunk => ({ index: 0, text, tokens: [] });
    const { engine, worker } = await connect(
      fakeEngine({
        generate: async (_, onChunk) => {
          for (const text of ["a", "b", "c"]) onChunk(chunk(text));
          await new Promise((resolve) => setTimeout(resolve));
          onChunk(chunk("d"));
          return END;
        },
      }),
    );
    const texts: string[] = [];
    expect(await engine.generate(GENERATE, ({ text }) => texts.push(text), never)).toEqual(END);
    expect(texts).toEqual(["a", "b", "c", "d"]);
    const sent = worker.received.flatMap((message) => (message.kind === "chunks" ? [message.chunks.length] : []));
    expect(sent).toEqual([3, 1]);
  });

  test("of chunks that come fast the first goes at once, and those of two frames' time go together", async () => {
    const { engine, worker } = await connect(
      fakeEngine({
        generate: async (_, onChunk) => {
          for (let at = 0; at < 30; at++) {
            onChunk({ index: 0, text: String.fromCharCode(97 + at), tokens: [] });
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
          return END;
        },
      }),
    );
    let text = "";
    await engine.generate(GENERATE, (chunk) => (text += chunk.text), never);
    expect(text).toBe(String.fromCharCode(...Array.from({ length: 30 }, (_, at) => 97 + at)));
    const sent = worker.received.flatMap((message) => (message.kind === "chunks" ? [message.chunks.length] : []));
    expect(sent[0]).toBe(1);
    expect(sent.length).toBeLessThan(15);
  });

  test("a failure keeps its code, message and remedy", async () => {
    const error = new WordloomError("out-of-memory", "312 MiB are missing", { remedy: "close something" });
    const { engine } = await connect(fakeEngine({ generate: () => Promise.reject(error) }));
    const failure = engine.generate(GENERATE, () => {}, never);
    await expect(failure).rejects.toBeInstanceOf(WordloomError);
    await expect(failure).rejects.toMatchObject(error.toPlain());
  });

  test("an abort reaches its own request only, and its reason stays here", async () => {
    const stopped: string[] = [];
    const { engine, worker } = await connect(
      fakeEngine({
        generate: (request, _, signal) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              stopped.push(`seed ${request.seed}`);
              resolve({ ...END, finishReason: "abort" });
            });
            if (request.seed === 2) setTimeout(() => resolve(END), 20);
          }),
      }),
    );
    const controller = new AbortController();
    const first = engine.generate(GENERATE, () => {}, controller.signal);
    const second = engine.generate({ ...GENERATE, seed: 2 }, () => {}, never);
    // A reason that could not be posted.
    controller.abort(() => {});
    expect((await first).finishReason).toBe("abort");
    expect((await second).finishReason).toBe("stop");
    expect(stopped).toEqual(["seed 1"]);
    expect(worker.terminated).toBe(false);
  });

  test("what cannot be posted is refused as an option", async () => {
    const { engine } = await connect(inWorker);
    const messages = [{ role: "user", content: "a", tool: () => {} }];
    await expect(
      engine.generate({ ...GENERATE, input: { kind: "chat", messages } }, () => {}, never),
    ).rejects.toMatchObject({ code: "option-invalid" });
  });
});

describe("the end of a worker", () => {
  const silent = fakeEngine({ generate: () => new Promise(() => {}), score: () => new Promise(() => {}) });

  test("a crash is worker-failed for all pending and later calls", async () => {
    const { engine, worker } = await connect(silent);
    const pending = [engine.generate(GENERATE, () => {}, never), engine.score(GENERATE.input, never)];
    worker.crash("out of memory");
    const refusal = { code: "worker-failed", message: expect.stringContaining("out of memory") };
    for (const one of pending) await expect(one).rejects.toMatchObject(refusal);
    await expect(engine.tokenize("a", { addSpecialTokens: true })).rejects.toMatchObject(refusal);
    expect(worker.terminated).toBe(true);
  });

  test("a crash while loading is worker-failed", async () => {
    const worker = new PortWorker(() => new Promise(() => {}));
    open.push(worker);
    const loading = connectEngine(LOAD, {
      wantsWorker: true,
      start: () => worker,
      onProgress: () => {},
      signal: never,
    });
    loading.catch(() => {});
    await vi.waitFor(() => expect(worker.received).toHaveLength(1)); // it has greeted, and loads
    await new Promise((resolve) => setTimeout(resolve));
    worker.crash("boom");
    await expect(loading).rejects.toMatchObject({ code: "worker-failed" });
  });

  test("dispose frees the engine before the worker ends, refuses the pending, and twice is once", async () => {
    const dispose = vi.fn(async () => {});
    const load = fakeEngine({ generate: () => new Promise(() => {}), dispose });
    const { engine, worker } = await connect(load);
    const pending = engine.generate(GENERATE, () => {}, never);
    pending.catch(() => {});
    await Promise.all([engine.dispose(), engine.dispose()]);
    await expect(pending).rejects.toMatchObject({ code: "disposed" });
    await expect(engine.detokenize(Uint32Array.of(1))).rejects.toMatchObject({ code: "disposed" });
    expect(dispose).toHaveBeenCalledTimes(1);
    expect(worker.terminated).toBe(true);
  });

  test("after a crash dispose still ends well", async () => {
    const { engine, worker } = await connect(silent);
    worker.crash("boom");
    await engine.dispose();
    await expect(engine.tokenize("a", { addSpecialTokens: true })).rejects.toMatchObject({ code: "disposed" });
  });

  test("an abort while loading rejects with its reason and ends the worker", async () => {
    const controller = new AbortController();
    const worker = new PortWorker(() => new Promise(() => {}));
    open.push(worker);
    const loading = connectEngine(LOAD, {
      wantsWorker: true,
      start: () => worker,
      onProgress: () => {},
      signal: controller.signal,
    });
    loading.catch(() => {});
    await vi.waitFor(() => expect(worker.received).toHaveLength(1));
    controller.abort("enough");
    await expect(loading).rejects.toBe("enough");
    expect(worker.terminated).toBe(true);
  });

  test("a model that cannot be loaded ends its worker", async () => {
    const worker = new PortWorker(() => Promise.reject(new WordloomError("model-not-found", "nothing there")));
    open.push(worker);
    await expect(
      connectEngine(LOAD, { wantsWorker: true, start: () => worker, onProgress: () => {}, signal: never }),
    ).rejects.toMatchObject({ code: "model-not-found", message: "nothing there" });
    expect(worker.terminated).toBe(true);
  });
});

describe("on the caller's thread", () => {
  const here = { wantsWorker: true, onProgress: () => {}, signal: never };
  const refuses = () => {
    throw new DOMException("blocked by the page's policy", "SecurityError");
  };

  test.each([
    ["worker: false", { ...here, wantsWorker: false, start: refuses }, "worker is false"],
    ["a device", { ...here, device: {} as GPUDevice, start: refuses }, "GPUDevice"],
    ["a fetch of its own", { ...here, fetch: async () => new Response(), start: refuses }, "fetch"],
    ["no Worker at all, as in Node", here, "no workers here"],
    ["a worker that is refused at once", { ...here, start: refuses }, "blocked by the page's policy"],
  ])("with %s, and info says so", async (_, options, says) => {
    const { info } = await connectEngine(LOAD, options);
    expect(info.worker).toBe(false);
    expect(info.workerReason).toContain(says);
  });

  test("with a worker that is refused by an event, and info says so", async () => {
    const worker = new PortWorker(undefined);
    open.push(worker);
    const loading = connectEngine(LOAD, { ...here, start: () => worker });
    worker.crash("");
    const { info } = await loading;
    expect(info).toMatchObject({ worker: false, workerReason: expect.stringContaining("no reason") });
    expect(worker.terminated).toBe(true);
  });

  test("with WebGPU on the page only, and info says so", async () => {
    vi.stubGlobal("navigator", {});
    const worker = new PortWorker(inWorker);
    open.push(worker);
    vi.stubGlobal("navigator", { gpu: { requestAdapter: async () => null } });
    try {
      const loading = connectEngine(
        { ...LOAD, backend: "auto", allowReference: true },
        { ...here, start: () => worker },
      );
      const info = await loading.then((engine) => engine.info);
      expect(info.workerReason).toContain("on the page only");
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
