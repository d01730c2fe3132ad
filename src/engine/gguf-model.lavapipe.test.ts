/** ggml's K types on Dawn in Node, in all tiers that the driver runs: those with half floats, too. */
import { afterAll, expect, test } from "vitest";
import { expectClose } from "../testing/compare";
import { dawnDevice } from "../testing/dawn";
import { runGguf } from "../testing/gguf-run";
import { F32, greedyRun, tiersOf } from "../testing/golden-run";
import { kModelGguf, MIXTURE } from "../testing/k-model";

const device = await dawnDevice();
afterAll(() => device.destroy());

test.each(tiersOf(device))("on the tier %s a mixture of K types gives what the reference makes of it", async (tier) => {
  const bytes = kModelGguf(MIXTURE);
  const onGpu = await runGguf(bytes, { dtype: "auto", kvDtype: "f32" }, { device, tier });
  expect(onGpu.backend.facts.formats).toEqual(["q4_k", "q5_k", "q6_k"]);
  const reference = await runGguf(bytes, F32);
  const prompt = [1, 40, 7, 66, 12];
  const [ours, theirs] = [await greedyRun(onGpu.backend, prompt, 8), await greedyRun(reference.backend, prompt, 8)];
  expectClose(ours.logprobs, theirs.logprobs, { absolute: 1e-4 });
  expect(ours.ids).toEqual(theirs.ids);
  await onGpu.backend.dispose();
});
