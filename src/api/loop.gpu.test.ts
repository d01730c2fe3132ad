/** The loop on WebGPU: the same answers however it is run, stopped, shared or lost. One device, the tier "cpu". */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TextGenerator, type Chunk, type GenerateOptions } from "../index";
import type { LoadOptions } from "./options";
import { browserDevice } from "../testing/browser-device";
import { expectClose } from "../testing/compare";
import type { GoldenCase, GoldenModel } from "../testing/golden-case";
import { expectGolden, F32, GOLDEN_F32, gpuBackendOf } from "../testing/golden-run";
import { countGpuCalls, countsSince } from "../testing/gpu-counts";
import { filesOf } from "../testing/scripted-checkpoint";
import { goldenCasesServed, goldenFilesServed, goldenUrl, servedCheckpoint } from "../testing/served-models";

const F32_OPTIONS = { dtype: "f32", kvDtype: "f32" } as const;
const MODELS = ["llama", "gpt2"] as const;

const NO_CASE = { ids: [], greedy_ids: [] } as Pick<GoldenCase, "ids" | "greedy_ids">;

const device = await browserDevice();
const open: TextGenerator[] = [];
const load = async (model: GoldenModel, { internal, ...options }: LoadOptions = {}) => {
  const generator = await TextGenerator.load(goldenUrl(model), {
    ...F32_OPTIONS,
    device,
    ...options,
    internal: { tier: "cpu", ...internal },
  });
  open.push(generator);
  return generator;
};
const loadReference = async (model: GoldenModel, options: LoadOptions = {}) => {
  const generator = await TextGenerator.load(goldenUrl(model), { backend: "reference", worker: false, ...options });
  open.push(generator);
  return generator;
};

let cases: Record<(typeof MODELS)[number], GoldenCase[]>;
let llama: TextGenerator;
let reference: TextGenerator;
beforeAll(async () => {
  cases = { llama: await goldenCasesServed("llama"), gpt2: await goldenCasesServed("gpt2") };
  llama = await load("llama");
  reference = await loadReference("llama");
}, 120_000);
afterAll(async () => {
  await Promise.all(open.map((generator) => generator.dispose()));
  device.destroy();
});

async function readAll(run: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of run) chunks.push(chunk);
  return chunks;
}
async function write(generator: TextGenerator, ids: readonly number[], options: GenerateOptions = {}) {
  const run = generator.generate(ids, { maxNewTokens: 24, ignoreEos: true, ...options });
  const tokens = (await readAll(run)).flatMap((chunk) => chunk.tokens);
  return { ids: tokens.map(({ id }) => id), tokens, end: await run.end };
}
/** The golden case of the llama with a prompt of 40 ids. */
const prompt = () => cases.llama[2]?.ids.slice(0, 40) ?? [];

describe.each(MODELS)("the golden %s", (model) => {
  test.each([0, 1, 2, 4])("gives its ids with %i steps in flight, and the same draws", async (runAhead) => {
    const generator = await load(model, { internal: { runAhead } });
    const plain = await load(model);
    for (const { ids, greedy_ids } of cases[model]) {
      expect((await write(generator, ids)).ids).toEqual(greedy_ids);
      for (const options of [
        { temperature: 1, seed: 11 },
        { temperature: 1.3, seed: 12, topK: 40, topP: 0.9, minP: 0.01, repetitionPenalty: 1.2, frequencyPenalty: 0.3 },
      ]) {
        expect((await write(generator, ids, options)).ids).toEqual((await write(plain, ids, options)).ids);
      }
    }
  });

  test.each([1, 7, 64, undefined])("gives its ids with a prompt read %s at a time, cached or not", async (chunk) => {
    const generator = await load(model, chunk === undefined ? {} : { internal: { prefillChunk: chunk } });
    for (const { ids, greedy_ids } of cases[model]) {
      const anew = await write(generator, ids, { reusePrefix: false });
      expect(anew.ids).toEqual(greedy_ids);
      expect(anew.end.usage.cachedTokens).toBe(0);
      // Its own answer's beginning, and then half of the prompt, are in the cache.
      const further = await write(generator, [...ids, ...greedy_ids.slice(0, 5)], { maxNewTokens: 19 });
      expect(further.ids).toEqual(greedy_ids.slice(5));
      expect(further.end.usage.cachedTokens).toBe(ids.length + 4);
      const shorter = await write(generator, ids);
      expect(shorter.ids).toEqual(greedy_ids);
      expect(shorter.end.usage.cachedTokens).toBe(ids.length - 1);
    }
  });

  test.each([20_000, 50_000])("gives the golden values where a binding holds %i bytes", async (bytes) => {
    const checkpoint = await servedCheckpoint(goldenUrl(model));
    const limits = { contextLength: 64, maxBindingBytes: bytes };
    const backend = await gpuBackendOf(checkpoint, F32, { device, tier: "cpu", ...limits });
    await expectGolden(
      backend,
      cases[model].filter(({ ids, greedy_ids }) => ids.length + greedy_ids.length <= 64),
    );
    await backend.dispose();
  });
});

/** Greedy, so that both backends must write the same. */
const LOOKING_BACK: [string, GenerateOptions][] = [
  ["a window of the penalties", { repetitionPenalty: 1.4, frequencyPenalty: 1, penaltyLastN: 6 }],
  ["DRY", { dryMultiplier: 4, dryAllowedLength: 1, drySequenceBreakers: [] }],
  ["noRepeatNgramSize", { noRepeatNgramSize: 2 }],
  ["forcedTokens", { forcedTokens: [9, 8, 7] }],
  ["minNewTokens", { minNewTokens: 12, endTokenIds: [244, 136, 209], ignoreEos: false }],
];

describe("options", () => {
  test.each<[string, GenerateOptions]>([
    ["repetitionPenalty", { repetitionPenalty: 1.4 }],
    ["frequencyPenalty", { frequencyPenalty: 1.5 }],
    ["presencePenalty", { presencePenalty: 2 }],
    ["logitBias", { logitBias: { 50: 100 } }],
    ["all of them", { repetitionPenalty: 1.2, frequencyPenalty: 0.5, presencePenalty: 0.5, logitBias: { 7: 3 } }],
  ])("%s changes the answer as on the reference", async (_, options) => {
    for (const { ids, greedy_ids } of cases.llama.slice(0, 2)) {
      const ours = await write(llama, ids, { temperature: 0, ...options });
      const theirs = await write(reference, ids, { temperature: 0, ...options });
      expect(ours.ids).toEqual(theirs.ids);
      expect(ours.ids).not.toEqual(greedy_ids);
      expectClose(
        ours.tokens.map(({ logprob }) => logprob),
        theirs.tokens.map(({ logprob }) => logprob),
        GOLDEN_F32,
      );
    }
  });

  test.each(LOOKING_BACK)(
    "%s changes the answer as on the reference, however far steps run ahead",
    async (_, options) => {
      const { ids, greedy_ids } = cases.llama[1] ?? NO_CASE;
      const theirs = await write(reference, ids, { temperature: 0, ...options });
      expect(theirs.ids).not.toEqual(greedy_ids);
      for (const runAhead of [0, 4]) {
        const generator = await load("llama", { internal: { runAhead } });
        expect((await write(generator, ids, { temperature: 0, ...options })).ids).toEqual(theirs.ids);
        const plain = await write(generator, ids);
        expect(plain.ids).toEqual(greedy_ids); // what the run before had set leaves no trace
      }
    },
  );

  test("typicalP, topNSigma, XTC, statistics and a logitsProcessor give the reference's draws and numbers", async () => {
    const { ids } = cases.llama[1] ?? NO_CASE;
    const shape: GenerateOptions = { typicalP: 0.9, topNSigma: 2, xtcProbability: 0.5, xtcThreshold: 0.05, seed: 3 };
    const logitsProcessor: GenerateOptions["logitsProcessor"] = (logits, { tokens }) =>
      logits.map((logit, id) => (id % 2 === tokens.length % 2 ? -Infinity : logit));
    for (const options of [
      { ...shape, tokenStatistics: true },
      { logitsProcessor, topLogprobs: 2 },
    ]) {
      const [ours, theirs] = [await write(llama, ids, options), await write(reference, ids, options)];
      expect(ours.ids).toEqual(theirs.ids);
      expect(ours.tokens.map(({ rank }) => rank)).toEqual(theirs.tokens.map(({ rank }) => rank));
      for (const key of ["logprob", "entropy", "probability"] as const) {
        const [our, their] = [ours, theirs].map(({ tokens }) => tokens.map((token) => token[key] ?? 0));
        expectClose(our ?? [], their ?? [], GOLDEN_F32);
      }
    }
    const processed = await write(llama, ids, { logitsProcessor });
    processed.ids.forEach((id, at) => expect(id % 2).toBe((ids.length + at + 1) % 2));
  });

  test("a bias of -Infinity bans: the next best is written instead", async () => {
    for (const { ids, greedy_ids } of cases.llama.slice(0, 2)) {
      const logitBias = new Map(greedy_ids.slice(0, 3).map((id) => [id, -Infinity]));
      const ours = await write(llama, ids, { temperature: 0, logitBias });
      expect(ours.ids).toEqual((await write(reference, ids, { temperature: 0, logitBias })).ids);
      expect(ours.ids.some((id) => logitBias.has(id))).toBe(false);
    }
  });

  test.each([1, 5, 20])("topLogprobs %i gives the model's own, with and without a bias", async (topLogprobs) => {
    for (const options of [{}, { temperature: 0, logitBias: { 9: 5 } }]) {
      const ours = await write(llama, prompt(), { topLogprobs, ...options });
      const theirs = await write(reference, prompt(), { topLogprobs, ...options });
      expect(ours.ids).toEqual(theirs.ids);
      ours.tokens.forEach(({ top = [] }, at) => {
        const expected = theirs.tokens[at]?.top ?? [];
        expect(top).toHaveLength(topLogprobs);
        expectClose(top.map(({ logprob }) => logprob), expected.map(({ logprob }) => logprob), GOLDEN_F32); // prettier-ignore
        const sure = top.filter(({ logprob }, place) => isolated(expected, place, logprob));
        expect(sure.length).toBeGreaterThan(0);
        for (const { id } of sure) expect(expected.map((each) => each.id)).toContain(id);
      });
    }
  });

  /** Whether its neighbours are so far off that rounding cannot have changed the order. */
  const isolated = (list: readonly { logprob: number }[], place: number, logprob: number) =>
    place + 1 < list.length ? logprob - (list[place + 1]?.logprob ?? -Infinity) > 2e-3 : place === 0;

  test("the end tokens of generation_config.json end an answer, and ignoreEos lets it run on", async () => {
    const { ids, greedy_ids } = cases.llama[1] ?? NO_CASE;
    const files = await goldenFilesServed("llama");
    const listed = { eos_token_id: [0, greedy_ids[4]] };
    files.set("generation_config.json", new TextEncoder().encode(JSON.stringify(listed)));
    const generator = await TextGenerator.load(filesOf(files), { ...F32_OPTIONS, device, internal: { tier: "cpu" } });
    open.push(generator);
    const ended = await write(generator, ids, { ignoreEos: false });
    expect(ended.ids).toEqual(greedy_ids.slice(0, greedy_ids.indexOf(greedy_ids[4] ?? -1)));
    expect(ended.end.finishReason).toBe("stop");
    expect((await write(generator, ids)).ids).toEqual(greedy_ids);
  });

  test("a full context ends an answer with length", async () => {
    const small = await load("llama", { contextLength: 16 });
    const { ids, greedy_ids } = cases.llama[1] ?? NO_CASE;
    expect(ids).toHaveLength(7);
    const { ids: written, end } = await write(small, ids, { maxNewTokens: 100 });
    expect(written).toEqual(greedy_ids.slice(0, 10)); // 9 go into the cache, and one more follows from them
    expect(end).toMatchObject({ finishReason: "length", usage: { completionTokens: 10 } });
    const whole = await write(small, [...ids, ...greedy_ids.slice(0, 9)], { maxNewTokens: 100 });
    expect(whole.ids).toEqual(greedy_ids.slice(9, 10));
  });
});

test("a score is one prefill of its text, and of the head for 32 rows at a time", async () => {
  const ids = Array.from({ length: 131 }, (_, i) => (i * 7) % 90); // three chunks of this tier, of 64, 64 and 2
  await llama.score(ids); // its kernels are compiled at the first use
  const counted = async (run: () => Promise<unknown>) => {
    const { counts, stop } = countGpuCalls();
    await run().finally(stop);
    return counts;
  };
  const prefill = await counted(() => llama.generate(ids, { maxNewTokens: 1, reusePrefix: false }).end);
  const score = await counted(() => llama.score(ids));
  const sampling = 3; // head, reduction and choice of the one token
  const slices = 2 + 2 + 1;
  expect(score.dispatch).toBe(prefill.dispatch - sampling + 3 + 2 * slices); // a norm for each chunk, head and statistics for each slice
  expect(score).toMatchObject({ submit: 3, mapAsync: 3 });
});

test("choose and embed give what the reference gives", async () => {
  const ids = prompt();
  const [ours, theirs] = await Promise.all([llama, reference].map((one) => one.choose(ids, ["a", " the", "b c"])));
  const sorted = (choice: typeof ours) => [...(choice?.candidates ?? [])].sort((a, b) => a.index - b.index);
  expect(ours?.index).toBe(theirs?.index);
  expectClose(sorted(ours).map(({ logprob }) => logprob), sorted(theirs).map(({ logprob }) => logprob), GOLDEN_F32); // prettier-ignore
  for (const pooling of ["mean", "last"] as const) {
    const long = Array.from({ length: 70 }, (_, i) => (i * 11) % 90); // two chunks
    const [state, expected] = await Promise.all([llama, reference].map((one) => one.embed(long, { pooling })));
    expectClose([...(state ?? [])], [...(expected ?? [])], { absolute: 1e-4 });
  }
});

test("score is what the steps say, and null for the first token", async () => {
  for (const ids of [prompt(), cases.llama[2]?.ids ?? []]) {
    const { ids: answer, tokens } = await write(llama, ids);
    const ours = await llama.score([...ids, ...answer]);
    expect(ours.tokens[0]?.logprob).toBeNull();
    const scored = ours.tokens.map(({ logprob }) => logprob ?? 0);
    expectClose(scored.slice(ids.length), tokens.map(({ logprob }) => logprob), GOLDEN_F32); // prettier-ignore
    const theirs = await reference.score([...ids, ...answer]);
    expectClose(scored, theirs.tokens.map(({ logprob }) => logprob ?? 0), GOLDEN_F32); // prettier-ignore
    expectClose(ours.tokens.map(({ entropy }) => entropy ?? 0), theirs.tokens.map(({ entropy }) => entropy ?? 0), GOLDEN_F32); // prettier-ignore
    expect(ours.tokens.map((token) => token.rank)).toEqual(theirs.tokens.map((token) => token.rank));
    expect((await write(llama, ids)).ids).toEqual(answer); // a score leaves no trace
  }
});

describe("stopping", () => {
  test.each([0, 2, 4])(
    "with %i steps in flight: hardly a step is submitted, and the next answer is right",
    async (runAhead) => {
      const generator = await load("llama", { internal: { runAhead } });
      const { ids, greedy_ids } = cases.llama[1] ?? NO_CASE;
      const controller = new AbortController();
      const { counts, stop } = countGpuCalls();
      try {
        const run = generator.generate(ids, { maxNewTokens: 300, ignoreEos: true, signal: controller.signal });
        let before = counts;
        let seen = 0;
        const reading = (async () => {
          for await (const { tokens } of run) {
            seen += tokens.length;
            if (seen < 5) continue;
            before = { ...counts };
            controller.abort("enough");
          }
        })();
        await expect(reading).rejects.toBe("enough");
        expect((await run.end).finishReason).toBe("abort");
        expect(countsSince(before, counts).submit).toBeLessThanOrEqual(runAhead + 1);
        expect(counts.submit).toBeLessThanOrEqual(seen + runAhead + 1);
      } finally {
        stop();
      }
      expect((await write(generator, ids)).ids).toEqual(greedy_ids);
    },
  );

  test("a second answer waits its turn, and a score after it", async () => {
    const [first, second] = [cases.llama[0], cases.llama[1]] as [GoldenCase, GoldenCase]; // there are three
    const [one, two, score] = await Promise.all([
      write(llama, first.ids),
      write(llama, second.ids),
      llama.score(second.ids),
    ]);
    expect(one.ids).toEqual(first.greedy_ids);
    expect(two.ids).toEqual(second.greedy_ids);
    expect(score.tokens).toHaveLength(second.ids.length);
  });

  test("two generators on one device do not disturb each other", async () => {
    const gpt2 = await load("gpt2");
    for (const [at, { ids, greedy_ids }] of cases.llama.entries()) {
      const other = cases.gpt2[at] as GoldenCase; // both have three
      const [ours, theirs] = await Promise.all([write(llama, ids), write(gpt2, other.ids)]);
      expect(ours.ids).toEqual(greedy_ids);
      expect(theirs.ids).toEqual(other.greedy_ids);
    }
  });

  test("dispose destroys every buffer that was created, also of scores and logits, and leaves the device alive", async () => {
    const { counts, stop } = countGpuCalls();
    try {
      const generator = await TextGenerator.load(goldenUrl("llama"), {
        ...F32_OPTIONS,
        device,
        internal: { tier: "cpu" },
      });
      await write(generator, prompt());
      await generator.score(prompt());
      expect(counts.createBuffer).toBeGreaterThan(20);
      await generator.dispose();
      await generator.dispose();
      expect(counts.destroyBuffer).toBe(counts.createBuffer);
      await expect(generator.generate([5]).text()).rejects.toMatchObject({ code: "disposed" });
    } finally {
      stop();
    }
    expect((await write(llama, prompt())).ids).toHaveLength(24);
  });

  test("a device lost in the middle of an answer is said of it and of everything later", async () => {
    const doomed = await browserDevice();
    const generator = await load("llama", { device: doomed });
    const run = generator.generate(prompt(), { maxNewTokens: 300, ignoreEos: true });
    const waiting = generator.generate(prompt(), { maxNewTokens: 2 });
    const reading = (async () => {
      let seen = 0;
      for await (const { tokens } of run) if ((seen += tokens.length) > 3) doomed.destroy();
    })();
    const lost = { code: "device-lost" };
    await expect(reading).rejects.toMatchObject(lost);
    await expect(run.end).rejects.toMatchObject(lost);
    await expect(waiting.text()).rejects.toMatchObject(lost);
    await expect(generator.generate([5]).text()).rejects.toMatchObject(lost);
    await expect(generator.score([5, 6])).rejects.toMatchObject(lost);
    await generator.dispose();
  });
});
