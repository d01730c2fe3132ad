/** Golden values on Dawn in Node, in all tiers that the driver runs; half floats and quantized weights, too. */
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import type { WeightDtype } from "../backend";
import { expectClose } from "../../testing/compare";
import { dawnDevice } from "../../testing/dawn";
import {
  GOLDEN_MODELS,
  type GoldenModel,
  goldenCases,
  goldenFolder,
  readCheckpoint,
  readFolderJson,
} from "../../testing/golden-models";
import {
  expectGolden,
  F32,
  GOLDEN_F16,
  GOLDEN_F32,
  gpuBackendOf,
  greedyRun,
  margin,
  referenceBackendOf,
  tiersOf,
  type Checkpoint,
} from "../../testing/golden-run";
import { sharedDataOrWarn } from "../../testing/shared-data";
import { expectStories, type StoriesGolden } from "../../testing/stories-golden";

const device = await dawnDevice();
afterAll(() => device.destroy());

const stories = sharedDataOrWarn("stories260k", "a trained model's golden ids and log-probabilities on WebGPU");
const F16 = { dtype: "f16", kvDtype: "f16" } as const;

const checkpointOf = (folder: string): Checkpoint => ({
  config: readFolderJson(folder, "config.json"),
  tensors: readCheckpoint(folder),
});

/** In float32 and in half floats on every tier; the others in what their tier is for, since compiling takes its time. */
const IN_BOTH: readonly GoldenModel[] = ["llama", "llama-rope3", "gpt2"];
const testedIn = (half: boolean, tier: string) =>
  GOLDEN_MODELS.filter((model) => IN_BOTH.includes(model) || tier.endsWith("+f16") === half);

describe.each(tiersOf(device))("on the tier %s", (tier) => {
  test.each(testedIn(false, tier))("the golden %s gives the golden ids and log-probabilities", async (model) => {
    const backend = await gpuBackendOf(checkpointOf(goldenFolder(model)), F32, { device, tier });
    await expectGolden(backend, goldenCases(model));
    await backend.dispose();
  });

  test.each(testedIn(true, tier))(
    "the golden %s in half floats stays near them, and gives the ids that the margin allows",
    async (model) => {
      const backend = await gpuBackendOf(checkpointOf(goldenFolder(model)), F16, { device, tier });
      await expectGolden(backend, goldenCases(model), GOLDEN_F16);
      await backend.dispose();
    },
  );

  test.each<[(typeof GOLDEN_MODELS)[number], WeightDtype]>([
    ["llama", "q8"],
    ["llama", "q4"],
    ["gpt2", "q8"],
    ["gpt2", "q4"],
  ])("%s held as %s is the reference on the same dequantized weights", async (model, dtype) => {
    const checkpoint = checkpointOf(goldenFolder(model));
    const backend = await gpuBackendOf(checkpoint, { dtype, kvDtype: "f32" }, { device, tier });
    const reference = await referenceBackendOf(checkpoint, { dtype, kvDtype: "f32" });
    let compared = 0;
    for (const { ids } of goldenCases(model)) {
      const path = [...ids];
      const ours = await greedyRun(backend, ids, 8);
      for (const id of ours.ids) {
        const theirs = await greedyRun(reference, path, 1);
        if (path.length === ids.length) expectClose(ours.logprobs, theirs.logprobs, GOLDEN_F32);
        if (margin(theirs.logprobs) < 2 * GOLDEN_F32.absolute) break; // beyond a tie the paths may part
        expect(id).toBe(theirs.ids[0]);
        compared++;
        path.push(id);
      }
    }
    expect(compared).toBeGreaterThan(12);
    await backend.dispose();
  });

  test.runIf(stories)("stories260k gives the golden ids and log-probabilities, also in half floats", async () => {
    if (stories === undefined) return;
    const checkpoint = checkpointOf(stories);
    const golden = JSON.parse(readFileSync(`${stories}/golden.json`, "utf8")) as StoriesGolden; // as its provenance says
    for (const [held, tolerance] of [
      [F32, GOLDEN_F32],
      [F16, GOLDEN_F16],
    ] as const) {
      const backend = await gpuBackendOf(checkpoint, held, { device, tier });
      await expectStories(backend, golden, tolerance.absolute);
      await backend.dispose();
    }
  });
});
