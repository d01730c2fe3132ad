import { describe, expect, test } from "vitest";
import type { StepResult } from "../backends/backend";
import { FakeBackend, hashNext, type FakeBackendOptions } from "../testing/fake-backend";
import { samplingSettings } from "../testing/sampling-settings";
import { Scheduler, type RunRequest } from "./scheduler";
import { DraftModel, promptLookup, type SpeculationSettings } from "./speculation";

const never = new AbortController().signal;
/** 1 2 3 1 2 3 …, but each eleventh token is the sum of those before it. */
const nearlyPeriodic = (tokens: readonly number[]) =>
  tokens.length % 11 === 0 ? tokens.reduce((sum, token) => sum + token, 0) % 97 : (tokens.length % 3) + 1;
const PROMPT = Uint32Array.from({ length: 9 }, (_, at) => (at % 3) + 1);
const END = 2000;

const lookup = (draftTokens: number): SpeculationSettings => ({
  method: "prompt-lookup",
  draftTokens,
  minNgram: 2,
  maxNgram: 4,
});
const LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8];

function setUp(options: FakeBackendOptions = {}, draft?: FakeBackendOptions, prefillChunk = 64) {
  const backend = new FakeBackend({ next: nearlyPeriodic, takesTime: false, ...options });
  const small = draft && new FakeBackend(draft);
  const scheduler = new Scheduler(backend, { prefillChunk }, small && new DraftModel(small, 10_000));
  const run = async (
    changes: Partial<RunRequest> = {},
    accept: (result: StepResult, ids: number[]) => number | undefined = () => undefined,
    signal = never,
  ) => {
    const ids: number[] = [];
    const before = backend.calls.length;
    const outcome = await scheduler.generate(
      {
        ...{ promptTokens: PROMPT, sampling: samplingSettings(), endTokenIds: [], maxNewTokens: 40 },
        ...{ maxTimeMs: undefined, reusePrefix: true },
        ...changes,
      },
      (result) => {
        ids.push(result.id);
        return accept(result, ids);
      },
      signal,
    );
    return { ids, outcome, calls: backend.calls.slice(before) };
  };
  return { run, small };
}

describe("prompt lookup", () => {
  const guess = (tokens: readonly number[], most = 3, minNgram = 1, maxNgram = 3) =>
    promptLookup({ minNgram, maxNgram })(tokens, most);

  test("gives what followed the longest of the last n-grams", () => {
    expect(guess([1, 2, 3, 7, 8, 9, 5, 3, 4, 4, 4, 1, 2, 3])).toEqual([7, 8, 9]);
  });
  test("of equally long ones, what followed the last", () => {
    expect(guess([5, 1, 2, 7, 1, 2, 8, 9, 6, 1, 2])).toEqual([8, 9, 6]);
  });
  test("looks at maxNgram tokens at most", () => {
    expect(guess([1, 2, 3, 7, 4, 2, 3, 8, 9, 1, 2, 3], 1, 1, 2)).toEqual([8]);
    expect(guess([1, 2, 3, 7, 4, 2, 3, 8, 9, 1, 2, 3], 1, 1, 3)).toEqual([7]);
  });
  test("gives nothing where fewer than minNgram are equal, nor where there is nothing before", () => {
    expect(guess([1, 2, 3, 9, 3], 3, 2)).toEqual([]);
    expect(guess([1, 2, 3, 9, 3], 3, 1)).toEqual([9, 3, 9]);
    expect(guess([1])).toEqual([]);
  });
  test("goes on with a repetition that reaches the end", () => {
    expect(guess([9, 1, 2, 1, 2], 5)).toEqual([1, 2, 1, 2, 1]);
    expect(guess([4, 4], 4)).toEqual([4, 4, 4, 4]);
  });
});

describe("with drafts", () => {
  test.each(LENGTHS)("of %i tokens the ids are the plain ones, in fewer passes than tokens", async (draftTokens) => {
    const plain = await setUp().run();
    const { ids, outcome, calls } = await setUp().run({ speculative: lookup(draftTokens) });
    expect(ids).toEqual(plain.ids);
    expect(outcome).toMatchObject({ finishReason: "length", completionTokens: 40, decodedTokens: 39 });
    const passes = calls.filter(({ call }) => call === "verify" || call === "step").length;
    const { drafted, accepted, verifications } = outcome.speculation ?? {};
    expect(calls.filter(({ call }) => call === "verify")).toHaveLength(verifications ?? NaN);
    expect(passes + (accepted ?? NaN)).toBe(39);
    expect(accepted).toBeGreaterThanOrEqual(10);
    expect(drafted).toBeLessThanOrEqual(draftTokens * (verifications ?? NaN));
    expect(passes).toBeLessThan(30);
  });

  test("that are never right the ids are the plain ones, too", async () => {
    const next = (tokens: readonly number[]) => (tokens.length % 2 === 0 ? 5 : hashNext(tokens));
    const { ids, outcome } = await setUp({ next }).run({
      speculative: { ...lookup(3), minNgram: 1 } as SpeculationSettings,
    });
    expect(ids).toEqual((await setUp({ next }).run()).ids);
    expect(outcome.speculation?.verifications).toBeGreaterThan(3);
  });

  test("a plain run says nothing of speculation", async () => {
    expect((await setUp().run()).outcome).not.toHaveProperty("speculation");
  });

  test.each(LENGTHS.flatMap((drafts) => [1, 2, 3, 4, 5, 6, 7].map((limit) => [limit, drafts] as const)))(
    "a limit of %i ends the answer inside %i of them",
    async (maxNewTokens, drafts) => {
      const { ids, outcome, calls } = await setUp().run({ speculative: lookup(drafts), maxNewTokens });
      expect(ids).toEqual((await setUp().run({ maxNewTokens })).ids);
      expect(outcome).toMatchObject({ finishReason: "length", completionTokens: maxNewTokens });
      // The limit's own token needs no draft.
      const rows = calls.reduce((sum, call) => sum + ("length" in call && call.call === "verify" ? call.length : 0), 0);
      expect(rows).toBeLessThanOrEqual(maxNewTokens - 1 + 6);
    },
  );

  test.each(LENGTHS)("a context that is full inside %i of them ends the answer there", async (drafts) => {
    for (const contextLength of [10, 12, 15, 20, 23]) {
      const plain = await setUp({ contextLength }).run();
      const { ids, outcome } = await setUp({ contextLength }).run({ speculative: lookup(drafts) });
      expect(ids).toEqual(plain.ids);
      expect(ids).toHaveLength(contextLength + 1 - PROMPT.length);
      expect(outcome.finishReason).toBe("length");
    }
  });

  test.each(LENGTHS)("an end token inside %i of them ends the answer there", async (drafts) => {
    for (const place of [10, 13, 14, 15, 16, 17]) {
      // It has been there before, so that it is drafted.
      const next = (tokens: readonly number[]) => (tokens.length === place || tokens.length % 3 === 1 ? END : 1);
      const prompt = Uint32Array.of(...[1, END, 1, 1, END, 1]);
      const request = { promptTokens: prompt, endTokenIds: [END] };
      const plain = await setUp({ next }).run(request);
      const { ids, outcome } = await setUp({ next }).run({ ...request, speculative: lookup(drafts) });
      expect(ids).toEqual(plain.ids);
      expect(outcome).toMatchObject({ finishReason: "stop", completionTokens: ids.length, decodedTokens: plain.outcome.decodedTokens }); // prettier-ignore
    }
  });

  test.each(LENGTHS)("a stop inside %i of them ends it there, and the cache holds what it should", async (drafts) => {
    for (const stopAt of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const { run } = setUp();
      const stop = (_: StepResult, ids: number[]) => (ids.length === stopAt ? Math.max(0, stopAt - 2) : undefined);
      const { ids, outcome } = await run({ speculative: lookup(drafts) }, stop);
      expect(outcome).toMatchObject({ finishReason: "stop", completionTokens: stopAt });
      expect(ids).toEqual((await setUp().run({}, stop)).ids);
      // What comes next is computed from tokens that are really there.
      const longer = Uint32Array.from([...PROMPT, ...ids, 7]);
      const next = await run({ promptTokens: longer });
      expect(next.ids).toEqual((await setUp().run({ promptTokens: longer })).ids);
      expect(next.outcome.cachedTokens).toBe(PROMPT.length + Math.max(0, stopAt - 2));
    }
  });

  test("an abort between two passes leaves a cache that holds what it says", async () => {
    const { run } = setUp();
    const controller = new AbortController();
    const stopping = (_: StepResult, ids: number[]) => void (ids.length === 6 && controller.abort());
    const { ids, outcome } = await run({ speculative: lookup(5) }, stopping, controller.signal);
    expect(outcome).toMatchObject({ finishReason: "abort", completionTokens: 6 });
    const longer = Uint32Array.from([...PROMPT, ...ids]);
    expect((await run({ promptTokens: longer })).ids).toEqual((await setUp().run({ promptTokens: longer })).ids);
  });

  test("a chunk of so few rows bounds them", async () => {
    const { outcome, calls, ids } = await setUp({}, undefined, 3).run({ speculative: lookup(8) });
    expect(ids).toEqual((await setUp().run()).ids);
    expect(outcome.speculation?.accepted).toBeGreaterThan(5);
    expect(calls.every((call) => !("length" in call) || call.length <= 3)).toBe(true);
    expect((await setUp({}, undefined, 1).run({ speculative: lookup(8) })).outcome.speculation?.drafted).toBe(0);
  });
});

describe("a draft model", () => {
  const settings = (draftTokens: number): SpeculationSettings => ({ method: "draft-model", draftTokens });

  test.each(LENGTHS.map((drafts) => [drafts, drafts % 3] as const))(
    "that writes the same has each of its %i tokens accepted, with %i steps ahead",
    async (drafts, runAhead) => {
      const { run } = setUp({}, { next: nearlyPeriodic, runAhead });
      const { ids, outcome } = await run({ speculative: settings(drafts) });
      expect(ids).toEqual((await setUp().run()).ids);
      expect(outcome.speculation?.accepted).toBe(outcome.speculation?.drafted);
      expect(outcome.speculation?.verifications).toBe(Math.floor((39 + drafts - 1) / (drafts + 1)));
    },
  );

  test.each([0, 1, 2])("that is sometimes wrong changes no id, with %i steps ahead", async (runAhead) => {
    const next = (tokens: readonly number[]) => (tokens.length % 5 === 0 ? 77 : nearlyPeriodic(tokens));
    const { run, small } = setUp({}, { next, runAhead });
    for (const maxNewTokens of [40, 41]) {
      const { ids, outcome } = await run({ speculative: settings(4), maxNewTokens });
      expect(ids).toEqual((await setUp().run({ maxNewTokens })).ids);
      expect(outcome.speculation?.accepted).toBeLessThan(outcome.speculation?.drafted ?? NaN);
      expect(outcome.speculation?.accepted).toBeGreaterThan(10);
    }
    // Its cache is gone on with: but for the first prompt, few tokens are run again.
    const lengths = small?.calls.map((call) => ("length" in call ? call.length : 1)) ?? [];
    expect(Math.max(...lengths.slice(1))).toBeLessThanOrEqual(4);
  });

  test("whose context is full guesses no more", async () => {
    const { ids, outcome } = await setUp({}, { next: nearlyPeriodic, contextLength: 20 }).run({
      speculative: settings(4),
    });
    expect(ids).toEqual((await setUp().run()).ids);
    expect(outcome.speculation?.verifications).toBeGreaterThan(0);
    expect(outcome.speculation?.verifications).toBeLessThan(4);
  });

  test("that fails fails the answer, and the next one is whole", async () => {
    const { run } = setUp({}, { next: nearlyPeriodic, failsAt: 6, runAhead: 2 });
    await expect(run({ speculative: settings(4) })).rejects.toMatchObject({ code: "out-of-memory" });
    expect((await run({ speculative: settings(4) })).ids).toEqual((await setUp().run()).ids);
  });

  test("whose device is lost takes the generator with it", async () => {
    const { run, small } = setUp({}, { next: nearlyPeriodic });
    small?.lose(new Error("gone"));
    await expect(run({ speculative: settings(2) })).rejects.toMatchObject({ code: "device-lost" });
  });
});
