import { describe, expect, test, vi } from "vitest";
import { WordloomError } from "../errors";
import { FakeBackend, hashNext, type FakeBackendOptions } from "../testing/fake-backend";
import { samplingSettings } from "../testing/sampling-settings";
import type { TokenConstraint } from "../structured/constrain";
import { chunkAfterLoss, MOST_ATTEMPTS, recover, RecoveryBudget, WINDOW_MS, type Recovery } from "./recovery";
import { Scheduler, type RunRequest } from "./scheduler";

const never = new AbortController().signal;
const PROMPT = Uint32Array.from({ length: 23 }, (_, at) => (at * 7) % 50);
const LOSS = new WordloomError("device-lost", "the GPU device was lost (unknown): the test says so");

function expectedIds(prompt: Uint32Array, count: number): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < count; i++) tokens.push(hashNext(tokens));
  return tokens.slice(prompt.length);
}

/** A scheduler on devices of which the n-th is lost with its call number `lostAt[n]`. */
function losing(lostAt: readonly number[], options: FakeBackendOptions = {}) {
  const backends: FakeBackend[] = [];
  const make = () => {
    const at = lostAt[backends.length];
    const backend: FakeBackend = new FakeBackend({
      maxPrefillTokens: 8,
      ...options,
      onCall: (count) => count === at && backend.lose(LOSS),
    });
    backends.push(backend);
    return backend;
  };
  const scheduler = new Scheduler(make(), {}, undefined, async () => make());
  const request = (changes: Partial<RunRequest> = {}): RunRequest => ({
    promptTokens: PROMPT,
    sampling: samplingSettings(),
    endTokenIds: [],
    maxNewTokens: 10,
    maxTimeMs: undefined,
    reusePrefix: true,
    ...changes,
  });
  const run = async (changes: Partial<RunRequest> = {}, signal = never) => {
    const ids: number[] = [];
    const outcome = await scheduler.generate(request(changes), ({ id }) => void ids.push(id), signal);
    return { ids, ...outcome };
  };
  return { scheduler, backends, run };
}

describe("an answer goes on after a lost device, nothing twice and nothing missing", () => {
  const calls = Array.from({ length: 13 }, (_, at) => at + 1); // three chunks of the prompt, nine steps, and none
  test.each(calls)("that is lost with its call %i", async (call) => {
    const { backends, run } = losing([call]);
    const { ids, finishReason, completionTokens } = await run();
    expect(ids).toEqual(expectedIds(PROMPT, 10));
    expect({ finishReason, completionTokens }).toEqual({ finishReason: "length", completionTokens: 10 });
    const [first] = backends;
    expect(first?.disposed).toBe(call < 13);
  });

  test("that is lost three times", async () => {
    const { backends, run } = losing([2, 5, 6]);
    expect((await run()).ids).toEqual(expectedIds(PROMPT, 10));
    expect(backends.length).toBe(4);
  });

  test("that answers nothing any more", async () => {
    const { backends, run } = losing([], { hangsFrom: 4 });
    const whole = run({ maxNewTokens: 6 });
    for (const at of [0, 1]) {
      await vi.waitFor(() => expect(backends[at]?.calls.length ?? 0).toBeGreaterThan(5));
      backends[at]?.lose(LOSS);
    }
    expect((await whole).ids).toEqual(expectedIds(PROMPT, 6));
  });

  test("and what was said is given as prompt and answer apart, and prefilled together", async () => {
    const { backends, run } = losing([8]);
    await run();
    const second = backends[1];
    const answered = second?.begins[0]?.answeredTokens ?? [];
    expect(second?.begins[0]?.promptTokens).toEqual(PROMPT);
    expect([...answered]).toEqual(expectedIds(PROMPT, 10).slice(0, answered.length));
    const prefilled = second?.calls.reduce((sum, call) => sum + (call.call === "prefill" ? call.length : 0), 0);
    expect(prefilled).toBe(PROMPT.length + answered.length);
  });
});

test("a device that is lost while nothing runs is replaced when it is next needed", async () => {
  const { scheduler, backends, run } = losing([]);
  await run();
  backends[0]?.lose(LOSS);
  await vi.waitFor(() => expect(backends[0]?.disposed).toBe(true));
  expect(backends.length).toBe(1);
  const { ids, cachedTokens } = await run();
  expect({ ids, cachedTokens }).toEqual({ ids: expectedIds(PROMPT, 10), cachedTokens: 0 });
  expect((await run()).cachedTokens).toBe(PROMPT.length - 1);
  expect((await scheduler.score(PROMPT, 1, never))?.logprobs.length).toBe(PROMPT.length - 1);
});

test("those who wait keep their order, and scores and states are whole", async () => {
  const { scheduler, run } = losing([2, 3, 1]);
  const order: string[] = [];
  const asked = [
    run().then(({ ids }) => (order.push("answer"), ids)),
    scheduler.score(PROMPT, 1, never).then((rows) => (order.push("score"), Array.from(rows?.logprobs ?? []))),
    scheduler.hiddenState(PROMPT, "last", never).then((state) => (order.push("state"), Array.from(state ?? []))),
  ];
  const last = [...PROMPT].at(-1);
  expect(await Promise.all(asked)).toEqual([
    expectedIds(PROMPT, 10),
    [...PROMPT].slice(1).map((id) => -id),
    [last, PROMPT.length % 8],
  ]);
  expect(order).toEqual(["answer", "score", "state"]);
});

test.each([1, 2, 3, 4, 5, 6])("what a constraint forces is written once, lost with call %i", async (call) => {
  const FORCED = [70, 71, 72];
  const taken: number[] = [];
  const constraint: TokenConstraint = {
    takeForced: (most) => {
      const next = taken.length === 2 ? FORCED.slice(0, most) : [];
      taken.push(...next);
      return next;
    },
    allowed: () => new Uint32Array(4).fill(0xffffffff),
    accept: (id) => void taken.push(id),
    isOver: () => false,
    dispose: () => {},
  };
  const { run } = losing([call]);
  const { ids } = await run({ constraint, maxNewTokens: 7, promptTokens: PROMPT.subarray(0, 4) });
  expect(ids).toEqual(taken);
  expect(ids.slice(2, 5)).toEqual(FORCED);
  expect(ids.length).toBe(7);
});

test("an abort does not wait for a device that never comes, and dispose ends the waiting", async () => {
  const backend = new FakeBackend({ hangsFrom: 3 });
  const asked: AbortSignal[] = [];
  const scheduler = new Scheduler(backend, {}, undefined, (_, signal) => {
    asked.push(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  });
  const controller = new AbortController();
  const generate = (signal: AbortSignal) =>
    scheduler.generate(
      {
        promptTokens: PROMPT,
        sampling: samplingSettings(),
        endTokenIds: [],
        maxNewTokens: 10,
        maxTimeMs: undefined,
        reusePrefix: true,
      },
      () => undefined,
      signal,
    );
  const stopped = generate(controller.signal);
  const waiting = generate(never);
  waiting.catch(() => {});
  await vi.waitFor(() => expect(backend.calls.length).toBeGreaterThan(2));
  backend.lose(LOSS);
  await vi.waitFor(() => expect(asked.length).toBe(1));
  controller.abort();
  expect(await stopped).toMatchObject({ finishReason: "abort", completionTokens: 2 });
  await Promise.all([scheduler.dispose(), scheduler.dispose()]);
  await expect(waiting).rejects.toMatchObject({ code: "disposed" });
  expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
});

test("where no device can be had, all that wait and come later are told device-lost", async () => {
  const backend = new FakeBackend({ hangsFrom: 3 });
  const gone = new WordloomError("device-lost", "no more");
  const scheduler = new Scheduler(backend, {}, undefined, () => Promise.reject(gone));
  const asked = [scheduler.score(PROMPT, 1, never), scheduler.hiddenState(PROMPT, "mean", never)];
  backend.lose(LOSS);
  for (const one of asked) await expect(one).rejects.toBe(gone);
  await expect(scheduler.score(PROMPT, 1, never)).rejects.toBe(gone);
  expect(backend.disposed).toBe(true);
  await scheduler.dispose();
});

describe("the attempts", () => {
  test("are counted within five minutes", () => {
    const budget = new RecoveryBudget();
    const at = [0, 1, 2, 3, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1, WINDOW_MS + 2, WINDOW_MS + 3];
    expect(at.map((ms) => budget.take(ms))).toEqual([1, 2, 3, undefined, undefined, 3, 3, 3, undefined]);
  });

  test.each([
    ["an idle device", 256, LOSS, undefined, 256],
    ["a short wait", 256, LOSS, 300, 256],
    ["a chunk that took long", 256, LOSS, 2000, 128],
    ["a driver that calls it a timeout", 256, new WordloomError("device-lost", "DXGI_ERROR_DEVICE_HUNG"), 10, 128],
    ["the smallest chunk", 16, LOSS, 9000, 16],
    ["a chunk of an odd size", 33, LOSS, 9000, 17],
    ["a chunk below the smallest", 5, LOSS, 9000, 5],
  ])("take a chunk half as long only after what looks like a timeout: %s", (_, chunk, loss, waited, expected) => {
    expect(chunkAfterLoss(chunk, loss, waited)).toBe(expected);
  });

  const setUp = () => {
    const told: Recovery[] = [];
    return { told, options: { budget: new RecoveryBudget(), tell: (one: Recovery) => told.push(one), signal: never } };
  };

  test("go on while what fails may pass, and each is told", async () => {
    vi.useFakeTimers();
    const { told, options } = setUp();
    const failures = [new WordloomError("webgpu-unavailable", "no adapter yet"), LOSS];
    const whole = recover(
      LOSS,
      async (onBytes) => {
        const failure = failures.shift();
        if (failure) throw failure;
        onBytes(5, 10);
        return "here";
      },
      options,
    );
    await vi.runAllTimersAsync();
    expect(await whole).toBe("here");
    expect(told.map(({ state, attempt, loadedBytes }) => [state, attempt, loadedBytes])).toEqual([
      ["reloading", 1, 0],
      ["reloading", 2, 0],
      ["reloading", 3, 0],
      ["reloading", 3, 5],
      ["recovered", 3, 0],
    ]);
    vi.useRealTimers();
  });

  test("end in device-lost after the last, with how many there were", async () => {
    vi.useFakeTimers();
    const { told, options } = setUp();
    const reload = vi.fn(() => Promise.reject(new WordloomError("webgpu-unavailable", "no adapter")));
    const whole = recover(LOSS, reload, options);
    whole.catch(() => {});
    await vi.runAllTimersAsync();
    await expect(whole).rejects.toMatchObject({
      code: "device-lost",
      message: expect.stringContaining("3 times in 5 minutes"),
    });
    expect(reload).toHaveBeenCalledTimes(MOST_ATTEMPTS);
    expect(told.at(-1)?.state).toBe("failed");
    vi.useRealTimers();
  });

  test("are not repeated where the files are at fault", async () => {
    const { told, options } = setUp();
    const reload = vi.fn(() => Promise.reject(new WordloomError("model-not-found", "no config.json")));
    await expect(recover(LOSS, reload, options)).rejects.toMatchObject({
      code: "device-lost",
      message: expect.stringContaining("model-not-found"),
    });
    expect(reload).toHaveBeenCalledTimes(1);
    expect(told.map(({ state }) => state)).toEqual(["reloading", "failed"]);
  });
});
