/**
 * Tests of what the plain sampler has not: the cuts by a distribution's shape, what looks back at the tokens, statistics
 * and a processor of the caller's. All on one tier, since each way of sampling is compiled for itself.
 */
import { describe, expect, test } from "vitest";
import type { SamplingSettings } from "../backends/backend";
import { processLogits } from "../backends/reference/processors";
import { chooseToken, keptSet, secondUniform, tokenStatistics } from "../backends/reference/sampling";
import type { Reduction } from "../gpu/tier";
import { at } from "./at";
import { expectClose } from "./compare";
import { DISTRIBUTION_CASES, DRAWS, expectFrequencies, LOGITS } from "./distribution-cases";
import type { GpuHarness } from "./gpu-harness";
import { expectDraw, makeSampler } from "./gpu-sampler";
import { normalValues, seededRandom } from "./random";
import { samplingSettings } from "./sampling-settings";

const LOWEST = Math.fround(-3e38);

const isShaped = ({ topNSigma = 0, typicalP = 1, xtcProbability = 0 }: Partial<SamplingSettings>) =>
  topNSigma > 0 || typicalP < 1 || xtcProbability > 0;

export function describeSamplingOptions(gpu: GpuHarness, tier: Reduction): void {
  describe(`sampling options on the tier ${tier}`, () => {
    test("the set that top-n-sigma, typical-p and XTC keep, among the other cuts, is the reference's", async () => {
      const vocabSize = 517;
      const kept = gpu.empty(vocabSize * 4);
      const it = await makeSampler(gpu, tier, vocabSize, { shaped: true, kept });
      const random = seededRandom(31);
      const rounds = 40;
      let equal = 0;
      for (let round = 0; round < rounds; round++) {
        const { logits, settings } = shapedCase(random, vocabSize);
        const position = Math.floor(random() * 1000);
        it.begin({ logits, sampling: settings, position });
        gpu.run(it.list);
        const { scores } = processLogits(logits, settings, [], []);
        const chance = secondUniform(settings.seed[0], settings.seed[1], position + 1);
        const expected = keptSet(scores, settings, chance);
        // A weight that f32 rounds across a border is in one set and not in the other: one or two tokens, seldom.
        const likely = new Set(expected.ids.filter((_, i) => at(expected.weights, i) > 1e-30));
        const weights = await gpu.floats(kept, vocabSize);
        const wrong = Array.from(weights.keys()).filter((id) => at(weights, id) > 1e-30 !== likely.has(id));
        expect(wrong.length, `round ${round}, ${JSON.stringify(settings)}: ${wrong.join()}`).toBeLessThanOrEqual(2);
        if (wrong.length === 0) equal++;
      }
      expect(equal / rounds).toBeGreaterThanOrEqual(0.9);
    });

    test.each(DISTRIBUTION_CASES.filter(([, settings]) => isShaped(settings)))(
      "20,000 draws with %s come as often as their probabilities say (chi², p > 0.001)",
      async (_, sampling, expected) => {
        const it = await makeSampler(gpu, tier, LOGITS.length, { adjusted: true, shaped: true });
        it.begin({ logits: LOGITS, sampling: { ...sampling, seed: [123, 456] } });
        gpu.run(it.list);
        // The token counts of the sampler itself are the histogram: no readback between draws.
        const again = at(it.list, -1);
        for (let drawn = 1; drawn < DRAWS; drawn += 500) gpu.run(Array(Math.min(500, DRAWS - drawn)).fill(again));
        expectFrequencies(await gpu.words(it.buffers.usage, LOGITS.length), expected);
      },
    );

    test("history_scan and logits_adjust: windows, DRY, n-grams, minimum and forced tokens act as in the reference", async () => {
      const vocabSize = 37;
      const it = await makeSampler(gpu, tier, vocabSize, { lookback: true });
      const random = seededRandom(5);
      const pick = <T>(values: readonly T[]): T => at(values, Math.floor(random() * values.length));
      for (let round = 0; round < 24; round++) {
        const logits = normalValues(random, vocabSize, 3);
        const settings = lookbackSettings(random, vocabSize);
        // Few different ids, so that much repeats; and more tokens than there are invocations.
        const some = (count: number) => Array.from({ length: count }, () => Math.floor(random() * pick([2, 3, 37])));
        const promptTokens = some(pick([1, 2, 40, 300]));
        const answerTokens: number[] = [];
        const endTokenIds = [0, 1, 36];
        it.begin({ logits, sampling: settings, promptTokens, endTokenIds: [] });
        gpu.write(it.buffers.sequences, Uint32Array.of(endTokenIds.length), 20 * 4);
        gpu.write(it.buffers.sequences, Uint32Array.from(endTokenIds), 32 * 4);
        for (let step = 0; step < 4; step++) {
          gpu.write(it.buffers.sequences, Uint32Array.of(0), 3 * 4); // an end token does not end it here
          const { id } = await it.step();
          const position = promptTokens.length + answerTokens.length;
          const context = { endTokenIds };
          const { scores } = processLogits(logits, settings, promptTokens, answerTokens, context);
          const label = `round ${round}, step ${step}`;
          try {
            // Roundings in another order, and exp2 of a driver's own.
            expectClose(await gpu.floats(it.buffers.scores, vocabSize), floored(scores), {
              relative: 1e-5,
              absolute: 1e-5,
            });
          } catch (error) {
            throw new Error(`${label}, ${JSON.stringify(settings)}`, { cause: error });
          }
          const forced = settings.forcedTokens[step];
          if (forced !== undefined) expect(id, label).toBe(forced);
          else if (settings.temperature > 0) expectDraw(id, scores, settings, position);
          else expect(id, label).toBe(chooseToken(logits, settings, promptTokens, answerTokens, position, context).id);
          answerTokens.push(id);
        }
      }
    });

    test("after the end a step changes nothing, the history included", async () => {
      const it = await makeSampler(gpu, tier, 37, { lookback: true });
      const logits = Float32Array.from({ length: 37 }, (_, id) => (id === 9 ? 3 : 0));
      it.begin({ logits, promptTokens: [1, 2], maxNewTokens: 1, sampling: { noRepeatNgramSize: 2 } });
      expect(await it.step()).toMatchObject({ id: 9, done: true });
      const before = await it.state();
      await it.step();
      expect(await it.state()).toEqual(before);
    });

    test("rank and entropy are the reference's", async () => {
      const vocabSize = 517;
      const it = await makeSampler(gpu, tier, vocabSize, { statistics: true });
      const random = seededRandom(8);
      for (const deviation of [0.5, 3, 30]) {
        const logits = normalValues(random, vocabSize, deviation).map((logit, id) =>
          id % 5 === 0 ? Math.round(logit) : logit,
        );
        logits[3] = -Infinity;
        for (let position = 0; position < 4; position++) {
          const { id, statistics } = await it.choose({ logits, position, sampling: { temperature: 2, seed: [3, 4] } });
          const expected = tokenStatistics(logits, id);
          expect(statistics?.rank).toBe(expected.rank);
          expectClose([statistics?.entropy ?? NaN], [expected.entropy], { relative: 1e-5, absolute: 1e-5 });
        }
      }
    });

    test("processed logits are chosen from, and the model's own reported", async () => {
      const it = await makeSampler(gpu, tier, 37, { processed: true });
      const logits = Float32Array.from({ length: 37 }, (_, id) => (id === 9 ? 3 : 0));
      gpu.write(it.buffers.processed ?? it.buffers.logits, logits.with(9, -Infinity).with(20, 1));
      const { id, logprob } = await it.choose({ logits, sampling: { logitBias: new Map([[20, 1]]) } });
      expect(id).toBe(20);
      expectClose([logprob], [-Math.log(36 + Math.exp(3))], { absolute: 1e-5 });
    });
  });
}

function shapedCase(random: () => number, vocabSize: number): { logits: Float32Array; settings: SamplingSettings } {
  const pick = <T>(values: readonly T[]): T => at(values, Math.floor(random() * values.length));
  const deviation = pick([0.5, 2, 10]);
  const step = pick([0, 0, 0.5]);
  const logits = normalValues(random, vocabSize, deviation).map((logit) =>
    step === 0 ? logit : Math.round(logit / step) * step,
  );
  if (random() < 0.3) logits[7] = pick([-Infinity, Infinity, NaN]);
  const settings = samplingSettings({
    temperature: pick([0.5, 1, 1, 2]),
    topNSigma: pick([0, 0, 0.5, 1, 2]),
    topK: pick([0, 0, 3, 50, 600]),
    typicalP: pick([1, 0.2, 0.5, 0.9]),
    topP: pick([1, 1, 0.6, 0.95]),
    minP: pick([0, 0, 0.05, 0.5]),
    xtcProbability: pick([0, 0.5, 1]),
    xtcThreshold: pick([0.02, 0.1, 0.3]),
    seed: [Math.floor(random() * 2 ** 32), 9],
  });
  return { logits, settings };
}

function lookbackSettings(random: () => number, vocabSize: number): SamplingSettings {
  const pick = <T>(values: readonly T[]): T => at(values, Math.floor(random() * values.length));
  return samplingSettings({
    temperature: pick([0, 1]),
    repetitionPenalty: pick([1, 1.3]),
    frequencyPenalty: pick([0, 0.4]),
    presencePenalty: pick([0, -0.7]),
    penaltyLastN: pick([Infinity, 0, 1, 5, 64]),
    dryMultiplier: pick([0, 0.8]),
    dryBase: pick([1, 1.75]),
    dryAllowedLength: pick([1, 2, 5]),
    dryPenaltyLastN: pick([Infinity, 0, 1, 20]),
    dryBreakers: pick([new Set<number>(), new Set([1, vocabSize - 1])]),
    noRepeatNgramSize: pick([0, 0, 1, 2, 3]),
    minNewTokens: pick([0, 2]),
    forcedTokens: pick([[], [], [5], [2, 2, 36]]),
    logitBias: pick([new Map(), new Map([[4, 2], [6, -Infinity]])]), // prettier-ignore
    seed: [Math.floor(random() * 2 ** 32), 1],
  });
}

/** A ban as the GPU has it. */
const floored = (scores: Float32Array) => scores.map((score) => (score === -Infinity ? LOWEST : score));
