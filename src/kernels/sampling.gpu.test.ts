import { beforeEach, describe, expect, test } from "vitest";
import type { SamplingSettings } from "../backends/backend";
import { processLogits } from "../backends/reference/processors";
import { chooseToken, keptSet, logSoftmaxAt } from "../backends/reference/sampling";
import { at } from "../testing/at";
import { expectClose } from "../testing/compare";
import { gpuHarness, TIERS } from "../testing/gpu-harness";
import { expectDraw, makeSampler, type Sampler } from "../testing/gpu-sampler";
import { normalValues, seededRandom } from "../testing/random";
import { describeSamplingOptions } from "../testing/sampling-options";
import { samplingSettings } from "../testing/sampling-settings";

const gpu = gpuHarness();
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
/** Log-probabilities near 10 in f32, from a sum of up to 70000 exponentials. */
const LOGPROBS = { absolute: 2e-5, relative: 1e-6 };

const sampler = makeSampler.bind(undefined, gpu);

const SETTINGS: [string, Partial<SamplingSettings>][] = [
  ["temperature alone", { temperature: 0.8 }],
  ["top-k", { temperature: 1, topK: 7 }],
  ["top-p", { temperature: 1.3, topP: 0.8 }],
  ["min-p", { temperature: 1, minP: 0.1 }],
  ["all three", { temperature: 1.5, topK: 12, topP: 0.9, minP: 0.05 }],
];

describe.each(TIERS)("on the tier %s", (tier) => {
  // Fewer than there are slices or invocations, and many more; the one kernel is slow to compile in the GPU's tiers.
  test.each({ cpu: [32, 65, 4096, 70000], workgroup: [65, 70000], subgroups: [65, 4096] }[tier])(
    "logits_reduce and sample choose of %i ids the reference's, with its log-probability",
    async (vocabSize) => {
      const it = await sampler(tier, vocabSize);
      const random = seededRandom(vocabSize);
      const logits = normalValues(random, vocabSize, 3);
      const largest = logits.reduce((a, b) => Math.max(a, b));
      const [first, last] = [Math.floor(vocabSize / 3), vocabSize - 1];
      for (const id of [first, first + 1, last]) logits[id] = largest + 1; // equal ones in several slices
      const greedy = await it.choose({ logits });
      expect(greedy).toMatchObject({ id: first, count: 1, done: false, invalid: false });
      expectClose([greedy.logprob], [logSoftmaxAt(logits, first)], LOGPROBS);

      for (const [, changes] of SETTINGS) {
        for (const position of vocabSize < 10_000 ? [0, 1, 77] : [5]) {
          const sampling = { ...changes, seed: [vocabSize, position] as const };
          const { id, logprob } = await it.choose({ logits, sampling, position });
          expectDraw(id, logits, samplingSettings(sampling), position + 1);
          expectClose([logprob], [logSoftmaxAt(logits, id)], LOGPROBS);
        }
      }
    },
  );

  describe("odd logits", () => {
    let it: Sampler;
    beforeEach(async () => {
      it = await sampler(tier, 65);
    });
    const logitsOf = (listed: Record<number, number>, other = 0) =>
      Float32Array.from({ length: 65 }, (_, id) => listed[id] ?? other);

    test.each([
      ["all equal", logitsOf({}), 0, false],
      ["−0 is 0", logitsOf({ 3: -0, 5: 0 }, -1), 3, false],
      ["+inf is the largest, and invalid", logitsOf({ 9: inf, 20: 1e38, 40: inf }), 9, true],
      ["−inf is never chosen beside a finite one", logitsOf({ 64: -1e30 }, -inf), 64, false],
      ["−inf everywhere: the lowest id, and invalid", logitsOf({}, -inf), 0, true],
      ["+inf everywhere: the lowest id, and invalid", logitsOf({}, inf), 0, true],
      ["NaN counts as lowest, and is invalid", logitsOf({ 0: nan, 7: 1 }), 7, true],
      ["NaN everywhere", logitsOf({}, nan), 0, true],
    ] as const)("%s: greedy", async (_, logits, id, invalid) => {
      const result = await it.choose({ logits });
      expect(result).toMatchObject({ id, invalid, done: invalid });
      expect(chooseToken(logits, samplingSettings(), [], [], 1)).toMatchObject({ id, invalid });
    });

    test("−0 and 0 are equal scores to top-k, too", async () => {
      const logits = logitsOf({ 3: -0, 5: 0 }, -1);
      for (let position = 0; position < 8; position++) {
        expect((await it.choose({ logits, sampling: { temperature: 1, topK: 1 }, position })).id).toBe(3);
      }
    });

    test("draws as the reference draws, whatever the logits", async () => {
      const cases = [
        logitsOf({}),
        logitsOf({ 9: inf, 40: inf }),
        logitsOf({ 9: inf, 40: 3e38 }, -3e38),
        logitsOf({ 64: -1e30 }, -inf),
        logitsOf({}, -inf),
        logitsOf({ 0: nan, 7: 1, 30: 0.5 }, -inf),
      ];
      for (const logits of cases) {
        for (const [, changes] of SETTINGS) {
          const settings = samplingSettings({ ...changes, seed: [5, 6] });
          const { id } = await it.choose({ logits, sampling: settings });
          expectDraw(id, processLogits(logits, settings, [], []).scores, settings, 1);
        }
      }
    });

    test.each([1e-3, 1e-6, 1e-20, 1e-38, 1e-45])("temperature %f takes the highest, and is not NaN", async (cold) => {
      const logits = logitsOf({ 2: 60, 3: 59.9, 4: -100 }, -4);
      for (let seed = 0; seed < 5; seed++) {
        const { id, logprob } = await it.choose({ logits, sampling: { temperature: cold, seed: [seed, 0] } });
        expect(id).toBe(2);
        expectClose([logprob], [-0.644397], LOGPROBS);
      }
    });
  });

  test("logits_adjust: biases, bans and penalties give the reference's scores and choice", async () => {
    const vocabSize = 65;
    const it = await sampler(tier, vocabSize, { adjusted: true });
    const random = seededRandom(9);
    const some = (count: number) => Array.from({ length: count }, () => Math.floor(random() * vocabSize));
    for (let round = 0; round < 12; round++) {
      const logits = normalValues(random, vocabSize, 2);
      logits[at(some(1), 0)] = -inf;
      logits[at(some(1), 0)] = inf;
      const [promptTokens, answerTokens] = [some(9), some(7)];
      const sampling: Partial<SamplingSettings> = {
        temperature: round % 2,
        repetitionPenalty: at([1, 1.3, 0.5, 2], round % 4),
        frequencyPenalty: at([0, 0.4, -0.3], round % 3),
        presencePenalty: at([0.7, 0, -9], round % 3),
        // Bans, among them of tokens that were used: no penalty may lift a ban, nor any bias a logit of −inf.
        logitBias: new Map([...some(4).map((id) => [id, 3 * random() - 1] as const), [at(promptTokens, 0), -inf]]),
        seed: [round, 1],
      };
      const settings = samplingSettings(sampling);
      const result = await it.choose({ logits, sampling, promptTokens, answerTokens, position: round });
      const { scores } = processLogits(logits, settings, promptTokens, answerTokens);
      const lowest = Math.fround(-3e38);
      // Two roundings in another order: a unit or two of f32.
      expectClose(
        await gpu.floats(it.buffers.scores, vocabSize),
        scores.map((score) => (score === -inf ? lowest : score)),
        { relative: 3e-7, absolute: 1e-6 },
      );
      if (settings.temperature === 0)
        expect(result.id).toBe(chooseToken(logits, settings, promptTokens, answerTokens, 0).id);
      else expectDraw(result.id, scores, settings, round + 1);
      expectClose([result.logprob], [logSoftmaxAt(logits, result.id)], LOGPROBS);

      const used = await gpu.words(it.buffers.usage, vocabSize);
      for (let id = 0; id < vocabSize; id++) {
        const times = answerTokens.filter((token) => token === id).length + (id === result.id ? 1 : 0);
        expect(used[id], `uses of ${id}`).toBe(((promptTokens.includes(id) ? 0x80000000 : 0) + times) >>> 0);
      }
    }
  });

  test("logits_top: the likeliest are the reference's, equal ones by id, with their log-probabilities", async () => {
    const vocabSize = 65;
    const it = await sampler(tier, vocabSize, { top: true });
    const random = seededRandom(12);
    const cases = [
      normalValues(random, vocabSize, 2),
      normalValues(random, vocabSize, 2).map((logit) => Math.round(logit)),
      Float32Array.from({ length: vocabSize }, (_, id) => (id % 8 === 3 ? id : -inf)), // 8 finite ones
      Float32Array.from({ length: vocabSize }, (_, id) => (id === 5 ? inf : id === 4 ? nan : 0)),
    ];
    for (const logits of cases) {
      for (const topLogprobs of [1, 20]) {
        const sampling = { topLogprobs, temperature: 2 };
        const { top } = await it.choose({ logits, sampling });
        const expected = chooseToken(logits, samplingSettings(sampling), [], [], 1).top;
        expect(top.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
        expectClose(
          top.map(({ logprob }) => logprob),
          expected.map(({ logprob }) => logprob),
          LOGPROBS,
        );
      }
    }
  });

  test("a run is done at an end token, at its limit and when the cache is full; then a step changes nothing", async () => {
    const vocabSize = 65;
    const it = await sampler(tier, vocabSize, { adjusted: true, top: true });
    const logits = Float32Array.from({ length: vocabSize }, (_, id) => (id === 41 ? 5 : 0));
    const shared = { logits, position: 10, sampling: { topLogprobs: 3 } };
    const ends = Array.from({ length: 32 }, (_, i) => (i === 31 ? 41 : i));
    for (const [run, counts] of [
      [{ endTokenIds: ends }, [1]],
      [{ endTokenIds: ends.slice(0, 31), maxNewTokens: 3 }, [1, 2, 3]],
      [{ maxNewTokens: 1 }, [1]],
      [{ capacity: 12 }, [1, 2]], // a token at position 12 could not be run
    ] as const) {
      it.begin({ ...shared, ...run });
      for (const count of counts) {
        expect(await it.step(3)).toMatchObject({ id: 41, count, done: count === counts.length, invalid: false });
      }
      expect((await gpu.words(it.buffers.sequences))[0]).toBe(10 + counts.length);
      const before = await it.state();
      gpu.write(
        it.buffers.logits,
        logits.map((logit) => -logit),
      ); // what a step would choose differs
      await it.step(3);
      expect(await it.state()).toEqual(before);
    }
  });
});

test("261 thousand ids: more workgroups than one side of a grid takes", async () => {
  const vocabSize = 4 * 65535 + 9;
  const it = await sampler("cpu", vocabSize, { adjusted: true });
  const logits = new Float32Array(vocabSize);
  const last = vocabSize - 1;
  expect(at(it.list, 0).grid(1)).toEqual([65535, 2, 1]);
  expect((await it.choose({ logits, sampling: { logitBias: new Map([[last, 2]]) } })).id).toBe(last);
});

// --- the kept set ---

/** Weights this small are never drawn; f32 may hold them as 0. */
const NEGLIGIBLE = 1e-36;
/** Rounding of the exponent, and of exp: relative to a weight. */
const WEIGHT_ROUNDING = 1e-4;

function distribution(random: () => number, vocabSize: number): Float32Array {
  const deviation = at([1e-3, 0.5, 2, 10, 40], Math.floor(random() * 5));
  const logits = normalValues(random, vocabSize, deviation);
  const step = at([0.25, 0.5, 2], Math.floor(random() * 3)) * deviation;
  const shapes: ((logit: number, id: number) => number)[] = [
    (logit) => logit,
    (logit) => Math.round(logit / step) * step, // ties
    () => 1.5, // all equal
    (logit, id) => (id % 97 === 5 ? logit : -12), // a flat tail
    (_, id) => -0.05 * (id % 400), // a geometric one, in ties
  ];
  const shape = at(shapes, Math.floor(random() * shapes.length));
  const odd = [-inf, inf, nan].filter(() => random() < 0.3);
  return logits.map((logit, id) => (odd.length > 0 && random() < 0.1 ? at(odd, id % odd.length) : shape(logit, id)));
}

function drawSettings(random: () => number, vocabSize: number): SamplingSettings {
  const pick = <T>(values: readonly T[]) => at(values, Math.floor(random() * values.length));
  return samplingSettings({
    temperature: pick([0.1, 0.7, 1, 1, 1.5, 3]),
    topK: random() < 0.5 ? 0 : pick([1, 2, 5, 40, 100, vocabSize - 1, vocabSize, vocabSize + 5]),
    topP: random() < 0.4 ? 1 : pick([0.05, 0.5, 0.9, 0.95, 0.999]),
    minP: random() < 0.6 ? 0 : pick([0.001, 0.05, 0.3, 1]),
  });
}

/**
 * The GPU's kept set must be the reference's. Where the sum of weights comes within rounding of p, a token more or less
 * is either's right; where a weight comes within rounding of min-p, too.
 *
 * @returns whether nothing was within rounding: then the sets were equal
 */
function expectKept(gpuWeights: Float32Array, scores: Float32Array, settings: SamplingSettings): boolean {
  const { ids, weights: all } = keptSet(scores, { ...settings, topP: 1, minP: 0 });
  const weightOf = new Map(Array.from(ids, (id, i) => [id, at(all, i)]));
  const order = Array.from(ids).sort((a, b) => at(scores, b) - at(scores, a) || a - b);
  const weights = order.map((id) => weightOf.get(id) ?? nan);
  const total = weights.reduce((a, b) => a + b);
  const { minP } = settings;

  /** How many come first until their share reaches p. */
  const reaching = (p: number): number => {
    let sum = 0;
    const last = weights.findIndex((weight) => (sum += weight) >= p * total);
    return last === -1 ? weights.length : last + 1;
  };
  // f32 rounds p; fixed-point weights lose up to 2^-31 each.
  const rounding = 1e-6 + scores.length * 2 ** -31;
  const [least, most] =
    settings.topP < 1
      ? [reaching(settings.topP - rounding), reaching(settings.topP + rounding)]
      : [order.length, order.length];

  let clear = least === most;
  let ended = false;
  order.forEach((id, i) => {
    const [mine, theirs] = [at(gpuWeights, id), weights[i] ?? nan];
    if (theirs < NEGLIGIBLE) {
      expect(mine, `weight of ${id}`).toBeLessThanOrEqual(2 * NEGLIGIBLE);
      return;
    }
    if (mine > 0) expectClose([mine], [theirs], { relative: WEIGHT_ROUNDING });
    if (Math.abs(theirs - minP) <= WEIGHT_ROUNDING * minP && theirs !== 1) {
      clear = false;
      return;
    }
    const isKept = mine > 0;
    if (i < least) expect(isKept, `${id}, number ${i} of ${least}, weight ${theirs}`).toBe(theirs >= minP);
    else if (i >= most) expect(isKept, `${id}, number ${i}, beyond ${most}`).toBe(false);
    else if (theirs >= minP) {
      expect(isKept && ended, `${id} is kept, one before it is not`).toBe(false);
      ended ||= !isKept;
    }
  });
  const outside = new Set(order);
  gpuWeights.forEach((weight, id) => {
    if (!outside.has(id)) expect(weight, `weight of ${id}, which is cut off`).toBe(0);
  });
  return clear;
}

test.each([
  ["cpu", 200],
  ["workgroup", 40],
  ["subgroups", 40],
] as const)("on the tier %s the kept set of %i distributions equals the reference's", async (tier, count) => {
  const vocabSize = 1031; // no multiple of any size there is
  const kept = gpu.empty(vocabSize * 4);
  const it = await sampler(tier, vocabSize, { kept });
  const random = seededRandom(2026);
  let clear = 0;
  for (let i = 0; i < count; i++) {
    const logits = distribution(random, vocabSize);
    const settings = drawSettings(random, vocabSize);
    const { scores } = processLogits(logits, settings, [], []);
    it.begin({ logits, sampling: settings });
    gpu.run(it.list);
    try {
      if (expectKept(await gpu.floats(kept, vocabSize), scores, settings)) clear++;
    } catch (error) {
      throw new Error(`distribution ${i}, ${JSON.stringify(settings)}: ${String(error)}`, { cause: error });
    }
  }
  expect(clear / count, "share of distributions where rounding had no say").toBeGreaterThan(0.8);
});

// --- frequencies ---

/** The value that chi² exceeds once in 1000. Source: Wilson & Hilferty 1931; 3.0902 is the normal quantile. */
function criticalChiSquared(freedom: number): number {
  const spread = 2 / (9 * freedom);
  return freedom * (1 - spread + 3.0902 * Math.sqrt(spread)) ** 3;
}

describe("20,000 draws come as often as their probabilities say (chi², p > 0.001)", () => {
  const VOCAB = 65;
  const DRAWS = 20_000;
  const logits = normalValues(seededRandom(77), VOCAB, 1.5);
  logits[8] = logits[9] = 2; // equal ones
  logits[50] = -inf;

  test.each<
    [string, Partial<SamplingSettings>, (probabilities: { id: number; p: number }[]) => { id: number; p: number }[]]
  >([
    ["over the whole vocabulary", { temperature: 1.2 }, (all) => all],
    ["with top-k", { temperature: 1.2, topK: 10 }, (all) => all.slice(0, 10)],
    [
      "with top-p",
      { temperature: 1.2, topP: 0.7 },
      (all) => {
        let sum = 0;
        return all.filter(({ p }) => (sum += p) - p < 0.7);
      },
    ],
    ["with min-p", { temperature: 1.2, minP: 0.2 }, (all) => all.filter(({ p }) => p >= 0.2 * at(all, 0).p)],
  ])("%s", async (_, sampling, cut) => {
    // Worked out here, not by the reference.
    const weights = Array.from(logits, (logit) => Math.exp(logit / 1.2));
    const sum = weights.reduce((a, b) => a + b);
    const all = weights.map((weight, id) => ({ id, p: weight / sum })).sort((a, b) => b.p - a.p || a.id - b.id);
    const kept = cut(all);
    const keptSum = kept.reduce((total, { p }) => total + p, 0);

    // The token counts of the sampler itself are the histogram: no readback between draws.
    const it = await sampler("cpu", VOCAB, { adjusted: true });
    it.begin({ logits, sampling: { ...sampling, seed: [123, 456] } });
    gpu.run(it.list);
    const again = at(it.list, -1);
    for (let drawn = 1; drawn < DRAWS; drawn += 500) gpu.run(Array(Math.min(500, DRAWS - drawn)).fill(again));
    const counts = await gpu.words(it.buffers.usage, VOCAB);
    expect(counts.reduce((a, b) => a + b)).toBe(DRAWS);

    let chi = 0;
    let bins = 0;
    const rare = { expected: 0, count: 0 }; // fewer than 5 expected: together
    let outside = DRAWS;
    for (const { id, p } of kept) {
      const [expected, count] = [(p / keptSum) * DRAWS, at(counts, id)];
      outside -= count;
      if (expected < 5) {
        rare.expected += expected;
        rare.count += count;
      } else {
        chi += (count - expected) ** 2 / expected;
        bins++;
      }
    }
    if (rare.expected >= 5) {
      chi += (rare.count - rare.expected) ** 2 / rare.expected;
      bins++;
    }
    expect(outside, "draws of what was cut off").toBe(0);
    expect(bins).toBeGreaterThan(4);
    expect(chi).toBeLessThan(criticalChiSquared(bins - 1));
  });
});

// history_scan, and the variants of logits_adjust and sample. The other tiers, slow to compile for a CPU: *.gpu.long.
describeSamplingOptions(gpu, "cpu");
