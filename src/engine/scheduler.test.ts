import { describe, expect, test } from "vitest";
import type { StepResult } from "../backends/backend";
import { FakeBackend, hashNext, type FakeBackendOptions, type FakeCall } from "../testing/fake-backend";
import { samplingSettings } from "../testing/sampling-settings";
import { Scheduler, type RunRequest, type SchedulerOptions } from "./scheduler";

const never = new AbortController().signal;
const PROMPT = Uint32Array.from({ length: 23 }, (_, at) => (at * 7) % 50);

function request(changes: Partial<RunRequest> = {}): RunRequest {
  return {
    promptTokens: PROMPT,
    sampling: samplingSettings(),
    endTokenIds: [],
    maxNewTokens: 10,
    maxTimeMs: undefined,
    reusePrefix: true,
    ...changes,
  };
}

function setUp(backendOptions: FakeBackendOptions = {}, options: SchedulerOptions = {}) {
  const backend = new FakeBackend(backendOptions);
  const scheduler = new Scheduler(backend, options);
  const run = async (
    changes: Partial<RunRequest> = {},
    accept: (result: StepResult, ids: number[]) => number | undefined = () => undefined,
    signal = never,
  ) => {
    const ids: number[] = [];
    const outcome = await scheduler.generate(
      request(changes),
      (result) => {
        ids.push(result.id);
        return accept(result, ids);
      },
      signal,
    );
    return { ids, ...outcome };
  };
  return { backend, scheduler, run };
}

/** The answer by definition: one token after the other, from all tokens before it. */
function expectedIds(prompt: Uint32Array, count: number): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < count; i++) tokens.push(hashNext(tokens));
  return tokens.slice(prompt.length);
}

describe("the loop", () => {
  test.each([0, 1, 2, 4])("gives the same ids with %i steps in flight", async (runAhead) => {
    const { backend, run } = setUp({}, { runAhead });
    const { ids, finishReason, completionTokens } = await run();
    expect(ids).toEqual(expectedIds(PROMPT, 10));
    expect({ finishReason, completionTokens }).toEqual({ finishReason: "length", completionTokens: 10 });
    expect(backend.mostInFlight).toBe(runAhead + 1);
  });

  test.each([1, 2, 22, 23, 24, 64])("gives the same ids for a prompt read in chunks of %i", async (prefillChunk) => {
    const { backend, run } = setUp({}, { prefillChunk });
    expect((await run()).ids).toEqual(expectedIds(PROMPT, 10));
    expect(backend.calls.filter(({ call }) => call === "prefill")).toHaveLength(Math.ceil(23 / prefillChunk));
  });

  test("never submits more steps than tokens are wanted", async () => {
    const { backend, run } = setUp({}, { runAhead: 4 });
    await run({ maxNewTokens: 3 });
    expect(backend.steps).toBe(2); // the prefill gives the first token
  });

  test("takes a chunk no larger than the backend's", async () => {
    const { backend, run } = setUp({ maxPrefillTokens: 8 }, { prefillChunk: 1000 });
    await run();
    expect(backend.calls.slice(0, 3)).toEqual([
      { call: "prefill", start: 0, length: 8 },
      { call: "prefill", start: 8, length: 8 },
      { call: "prefill", start: 16, length: 7 },
    ]);
  });

  test("lets other tasks of the thread run, though the backend never gives way", async () => {
    const { run } = setUp({ takesTime: false, contextLength: 1e6, next: () => 1 });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 30);
    const { finishReason } = await run(
      { maxNewTokens: 1e6, promptTokens: Uint32Array.of(1) },
      undefined,
      controller.signal,
    );
    expect(finishReason).toBe("abort");
  });

  test("passes every setting of a run on to the backend", async () => {
    const { backend, run } = setUp();
    const sampling = samplingSettings({ temperature: 0.5, topK: 7, seed: [3, 4] });
    await run({ sampling, endTokenIds: [98, 99], maxNewTokens: 4 });
    expect(backend.begins).toEqual([{ sampling, promptTokens: PROMPT, endTokenIds: [98, 99], maxNewTokens: 4 }]);
  });
});

describe("the end of an answer", () => {
  test("with a processor of the caller's the next step waits for the token of this one", async () => {
    const { backend, run } = setUp({}, { runAhead: 4 });
    const processLogits = async (logits: Float32Array) => logits;
    expect((await run({ processLogits })).ids).toEqual(expectedIds(PROMPT, 10));
    expect(backend.mostInFlight).toBe(1);
    expect(backend.begins[0]?.processLogits).toBe(processLogits);
    await run();
    expect(backend.mostInFlight).toBe(5); // and only with one
    expect(backend.begins[1]?.processLogits).toBeUndefined();
  });

  test.each([0, 2])("maxTimeMs: hardly a step is submitted after it, with %i in flight", async (runAhead) => {
    const { backend, run } = setUp({ contextLength: 1e6 }, { runAhead });
    const started = performance.now();
    let overMs = 0;
    let before = 0;
    const { ids, finishReason, completionTokens } = await run({ maxTimeMs: 30, maxNewTokens: 1e6 }, () => {
      if (performance.now() - started < 30) before = backend.steps;
      else overMs = performance.now() - started;
      return undefined;
    });
    expect({ finishReason, completionTokens }).toEqual({ finishReason: "time", completionTokens: ids.length });
    expect(ids).toEqual(expectedIds(PROMPT, ids.length));
    expect(backend.steps - before).toBeLessThanOrEqual(runAhead + 2);
    expect(overMs === 0 || overMs >= 30).toBe(true);
    // The cache is right, whatever was under way.
    const longer = Uint32Array.from([...PROMPT, ...ids]);
    expect((await run({ promptTokens: longer })).ids).toEqual(expectedIds(longer, 10));
  });

  test("maxTimeMs shorter than the prompt takes gives an empty answer", async () => {
    const { run } = setUp({}, { prefillChunk: 1, runAhead: 0 });
    expect(await run({ maxTimeMs: 1e-6 })).toMatchObject({ finishReason: "time", ids: [], completionTokens: 0 });
  });

  test.each([0, 1, 4])("an end token is not accepted, with %i steps in flight", async (runAhead) => {
    const { run } = setUp({ next: (tokens) => (tokens.length < PROMPT.length + 3 ? 5 : 0) }, { runAhead });
    const { ids, finishReason, completionTokens, decodedTokens } = await run({ endTokenIds: [0] });
    expect({ ids, finishReason, completionTokens, decodedTokens }).toEqual({
      ids: [5, 5, 5],
      finishReason: "stop",
      completionTokens: 3,
      decodedTokens: 3,
    });
  });

  test("a context that is full ends it with length", async () => {
    const { run } = setUp({ contextLength: PROMPT.length + 2 });
    const { ids, finishReason } = await run({ maxNewTokens: 100 });
    expect(ids).toEqual(expectedIds(PROMPT, 3)); // two go through the model, and the last one need not
    expect(finishReason).toBe("length");
  });

  test("a prompt that fills the context gives one token", async () => {
    const { run } = setUp({ contextLength: PROMPT.length });
    expect((await run()).ids).toEqual(expectedIds(PROMPT, 1));
  });

  test.each([0, 1, 2, 4])("a stop string's tokens count and leave the cache, with %i in flight", async (runAhead) => {
    const { run } = setUp({}, { runAhead });
    const stopped = await run({}, (result) => (result.count === 5 ? 2 : undefined));
    expect(stopped).toMatchObject({ finishReason: "stop", completionTokens: 5, ids: expectedIds(PROMPT, 5) });
    const longer = Uint32Array.from([...PROMPT, ...expectedIds(PROMPT, 5)]);
    const next = await run({ promptTokens: longer });
    expect(next.cachedTokens).toBe(PROMPT.length + 2);
    expect(next.ids).toEqual(expectedIds(longer, 10));
  });
});

describe("what the cache keeps", () => {
  test("a conversation goes on from all but the last token", async () => {
    const { run } = setUp();
    const { ids } = await run();
    const longer = Uint32Array.from([...PROMPT, ...ids, 1, 2, 3]);
    const next = await run({ promptTokens: longer });
    expect(next.cachedTokens).toBe(PROMPT.length + 9);
    expect(next.ids).toEqual(expectedIds(longer, 10));
  });

  test("reusePrefix false runs the whole prompt", async () => {
    const { backend, run } = setUp();
    await run();
    const again = await run({ reusePrefix: false });
    expect(again.cachedTokens).toBe(0);
    expect(again.ids).toEqual(expectedIds(PROMPT, 10));
    expect(backend.calls.filter(({ call }) => call === "prefill")).toEqual(
      Array.from({ length: 2 }, () => ({ call: "prefill", start: 0, length: 23 })),
    );
  });

  test("a prompt that differs in the middle gives the same as on an empty cache", async () => {
    const { run } = setUp();
    await run();
    const other = PROMPT.with(11, 49);
    const { ids, cachedTokens } = await run({ promptTokens: other });
    expect(cachedTokens).toBe(11);
    expect(ids).toEqual(expectedIds(other, 10));
  });

  test.each([0, 1, 2, 4])("an aborted answer goes on as if never stopped, with %i in flight", async (runAhead) => {
    const { backend, run } = setUp({}, { runAhead });
    const controller = new AbortController();
    const { ids, finishReason, completionTokens } = await run(
      { maxNewTokens: 100 },
      (result) => {
        if (result.count === 4) controller.abort();
        return undefined;
      },
      controller.signal,
    );
    expect({ ids, finishReason, completionTokens }).toEqual({
      ids: expectedIds(PROMPT, 4),
      finishReason: "abort",
      completionTokens: 4,
    });
    expect(backend.steps).toBeLessThanOrEqual(3 + runAhead);
    const longer = Uint32Array.from([...PROMPT, ...ids]);
    expect((await run({ promptTokens: longer })).ids).toEqual(expectedIds(longer, 10));
  });

  test("an abort while the prompt is read keeps what was read", async () => {
    const controller = new AbortController();
    const onCall = (count: number) => {
      if (count === 3) controller.abort();
    };
    const { run } = setUp({ onCall }, { prefillChunk: 4, runAhead: 1 });
    const stopped = await run({}, undefined, controller.signal);
    expect(stopped).toMatchObject({ finishReason: "abort", ids: [], firstTokenMs: 0, decodeMs: 0 });
    expect(await run()).toMatchObject({ cachedTokens: 12, ids: expectedIds(PROMPT, 10) });
  });
});

describe("turns", () => {
  test("answers come one after the other, in the order of asking", async () => {
    const { run } = setUp();
    const order: string[] = [];
    const asked = ["first", "second", "third"].map((name, at) =>
      run({ promptTokens: PROMPT.with(0, at) }, () => {
        if (order.at(-1) !== name) order.push(name);
        return undefined;
      }),
    );
    const answers = await Promise.all(asked);
    expect(order).toEqual(["first", "second", "third"]);
    expect(answers.map(({ ids }) => ids)).toEqual([0, 1, 2].map((at) => expectedIds(PROMPT.with(0, at), 10)));
  });

  test("a waiting one is taken out by its own signal, at once and alone", async () => {
    const { backend, run } = setUp();
    const controller = new AbortController();
    const first = run();
    const second = run({}, undefined, controller.signal);
    const third = run();
    controller.abort();
    expect(await second).toMatchObject({ finishReason: "abort", completionTokens: 0 });
    expect((await first).finishReason).toBe("length");
    expect((await third).finishReason).toBe("length");
    expect(backend.begins).toHaveLength(2);
  });

  test("a signal that aborted before asking starts nothing", async () => {
    const { backend, run } = setUp();
    expect((await run({}, undefined, AbortSignal.abort())).finishReason).toBe("abort");
    expect(backend.begins).toEqual([]);
  });
});

describe("failures", () => {
  test("logits that are no numbers are kernel-failed, and the next run starts anew", async () => {
    const { run } = setUp({ invalidAt: 3 }, { runAhead: 2 });
    await expect(run()).rejects.toMatchObject({ code: "kernel-failed" });
    expect(await run()).toMatchObject({ cachedTokens: 0, ids: expectedIds(PROMPT, 10) });
  });

  test.each([0, 2])("a failed step fails its run only, with %i in flight", async (runAhead) => {
    const { run } = setUp({ failsAt: 3 }, { runAhead });
    const failing = run();
    const waiting = run();
    await expect(failing).rejects.toMatchObject({ code: "out-of-memory" });
    expect(await waiting).toMatchObject({ cachedTokens: 0, ids: expectedIds(PROMPT, 10) });
  });

  test("an error while a token is looked at fails the run after its steps", async () => {
    const { run } = setUp({}, { runAhead: 2 });
    const fault = new Error("fault");
    await expect(
      run({}, () => {
        throw fault;
      }),
    ).rejects.toBe(fault);
    expect((await run()).ids).toEqual(expectedIds(PROMPT, 10));
  });

  test("a lost device refuses what runs, what waits and what comes later", async () => {
    const { backend, run, scheduler } = setUp({ hangsFrom: 3 });
    const running = run();
    const waiting = run();
    const scoring = scheduler.score(PROMPT, 1, never);
    for (const one of [running, waiting, scoring]) one.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    backend.lose(new Error("unplugged"));
    for (const one of [running, waiting, scoring]) {
      await expect(one).rejects.toMatchObject({ code: "device-lost", message: expect.stringContaining("unplugged") });
    }
    await expect(run()).rejects.toMatchObject({ code: "device-lost" });
  });

  test("dispose refuses what runs, what waits and what comes later, and frees the backend", async () => {
    const { backend, run, scheduler } = setUp({ hangsFrom: 3 });
    const running = run();
    const waiting = run();
    for (const one of [running, waiting]) one.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    await scheduler.dispose();
    for (const one of [running, waiting, run()]) await expect(one).rejects.toMatchObject({ code: "disposed" });
    expect(backend.disposed).toBe(true);
  });
});

describe("score", () => {
  test.each([1, 5, 22, 64])("gives each token's own in chunks of %i", async (prefillChunk) => {
    const { scheduler } = setUp({}, { prefillChunk });
    const said = await scheduler.score(PROMPT, 1, never);
    expect([...(said?.logprobs ?? [])]).toEqual([...PROMPT.subarray(1)].map((id) => -id));
    expect([...(said?.entropies ?? [])]).toEqual([...PROMPT.subarray(1)].map((id) => id / 2));
    expect([...(said?.ranks ?? [])]).toEqual([...PROMPT.subarray(1)]);
  });

  test.each([1, 5, 64])(
    "from a later token on, in chunks of %i: only what is not cached is run",
    async (prefillChunk) => {
      const { scheduler, backend } = setUp({}, { prefillChunk });
      const told = async (from: number) => [...((await scheduler.score(PROMPT, from, never))?.logprobs ?? [])];
      const expected = [...PROMPT].map((id) => -id);
      expect(await told(20)).toEqual(expected.slice(20));
      const first = backend.calls.splice(0);
      expect(rows(first, "prefill")).toBe(19);
      expect(rows(first, "score")).toBe(PROMPT.length - 20);
      expect(await told(20)).toEqual(expected.slice(20));
      expect(rows(backend.calls, "prefill")).toBe(0);
      expect(rows(backend.calls, "score")).toBe(PROMPT.length - 20);
      expect(await told(PROMPT.length)).toEqual([]);
    },
  );

  test("leaves the text in the cache", async () => {
    const { scheduler, run } = setUp();
    await scheduler.score(PROMPT, 1, never);
    expect(await run()).toMatchObject({ cachedTokens: 22, ids: expectedIds(PROMPT, 10) });
  });

  test("stops between two chunks", async () => {
    const { scheduler, backend } = setUp({}, { prefillChunk: 2 });
    const controller = new AbortController();
    const score = scheduler.score(PROMPT, 1, controller.signal);
    await Promise.resolve(); // the backend has begun, and its first chunk is on the way
    controller.abort();
    expect(await score).toBeUndefined();
    expect(backend.calls).toHaveLength(1);
  });
});

describe("hiddenState", () => {
  test.each([1, 5, 64])("is the mean, or the last token's, in chunks of %i", async (prefillChunk) => {
    const { scheduler } = setUp({}, { prefillChunk });
    const sum = PROMPT.reduce((all, id) => all + id, 0);
    expect([...((await scheduler.hiddenState(PROMPT, "mean", never)) ?? [])]).toEqual([sum / PROMPT.length, 1]);
    expect((await scheduler.hiddenState(PROMPT, "last", never))?.[0]).toBe(PROMPT.at(-1));
  });

  test("leaves the text in the cache, and stops between two chunks", async () => {
    const { scheduler, run, backend } = setUp({}, { prefillChunk: 2 });
    await scheduler.hiddenState(PROMPT, "mean", never);
    expect(await run()).toMatchObject({ cachedTokens: 22, ids: expectedIds(PROMPT, 10) });
    backend.calls.length = 0;
    const controller = new AbortController();
    const state = scheduler.hiddenState(PROMPT, "mean", controller.signal);
    await Promise.resolve();
    controller.abort();
    expect(await state).toBeUndefined();
    expect(backend.calls).toHaveLength(1);
  });
});

const rows = (calls: readonly FakeCall[], name: FakeCall["call"]) =>
  calls.reduce((sum, call) => sum + (call.call === name && "length" in call ? call.length : 0), 0);
