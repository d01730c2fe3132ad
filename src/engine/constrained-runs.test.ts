/** How the loop goes about a constraint: one step at a time, and what is forced in a chunk of its own. */
import { expect, test } from "vitest";
import type { StepResult } from "../backends/backend";
import { FakeBackend, type FakeBackendOptions } from "../testing/fake-backend";
import { samplingSettings } from "../testing/sampling-settings";
import type { TokenConstraint } from "../structured/constrain";
import { Scheduler } from "./scheduler";

/** Forces what the script has after so many tokens; over after `length`. */
function scripted(length: number, forced: Readonly<Record<number, number[]>> = {}) {
  const written: number[] = [];
  const constraint: TokenConstraint = {
    takeForced(most) {
      const ids = (forced[written.length] ?? []).slice(0, most);
      written.push(...ids);
      return ids;
    },
    allowed: () => (written.length < length ? new Uint32Array(4).fill(0xffffffff) : undefined),
    accept: (id) => void written.push(id),
    isOver: () => written.length >= length,
    dispose: () => {},
  };
  return { constraint, written };
}

async function run(options: FakeBackendOptions, script: ReturnType<typeof scripted>, maxNewTokens = 50) {
  const backend = new FakeBackend({ runAhead: 2, next: (tokens) => tokens.length, ...options });
  const results: StepResult[] = [];
  const outcome = await new Scheduler(backend).generate(
    {
      ...{ promptTokens: Uint32Array.of(5, 6, 7), sampling: samplingSettings({}), endTokenIds: [], maxNewTokens },
      ...{ maxTimeMs: undefined, reusePrefix: true, constraint: script.constraint },
    },
    (result) => void results.push(result),
    new AbortController().signal,
  );
  return { backend, outcome, ids: results.map(({ id }) => id), results };
}

test("one step is under way at a time, and the end is where nothing can follow", async () => {
  const { backend, outcome, ids } = await run({}, scripted(3));
  expect(ids).toEqual([3, 4, 5]);
  expect(backend.mostInFlight).toBe(1);
  expect(outcome).toMatchObject({ finishReason: "stop", constraint: "complete", completionTokens: 3 });
});

test("what is forced is appended in one chunk, first after the prompt, then between steps", async () => {
  const script = scripted(7, { 0: [90, 91], 3: [92, 93, 94] });
  const { backend, outcome, ids, results } = await run({}, script);
  expect(ids).toEqual([90, 91, 5, 92, 93, 94, 9]);
  expect(script.written).toEqual(ids);
  expect(backend.calls).toEqual([
    { call: "prefill", start: 0, length: 2 },
    { call: "append", start: 2, length: 2 },
    { call: "step" },
    { call: "append", start: 5, length: 3 },
    { call: "step" },
    { call: "step" },
  ]);
  expect(results.map(({ count, logprob }) => [count, logprob])).toEqual(
    [1, 2, 3, 4, 5, 6, 7].map((count) => [count, [3, 7].includes(count) ? -0.5 : -0.25]),
  );
  expect(outcome).toMatchObject({ finishReason: "stop", constraint: "complete" });
});

test("what is forced stops at the answer's limit and where the context is full", async () => {
  const long = { 0: [90, 91, 92, 93, 94, 95] };
  const limited = await run({}, scripted(9, long), 4);
  expect(limited.ids).toEqual([90, 91, 92, 93]);
  expect(limited.outcome).toMatchObject({ finishReason: "length", constraint: "cut" });
  const full = await run({ contextLength: 5 }, scripted(9, long));
  expect(full.ids).toEqual([90, 91, 92]);
  expect(full.outcome).toMatchObject({ finishReason: "length", constraint: "cut" });
});

test("an answer that is over just at its limit is complete", async () => {
  const { outcome } = await run({}, scripted(3), 3);
  expect(outcome).toMatchObject({ finishReason: "stop", constraint: "complete", completionTokens: 3 });
});
