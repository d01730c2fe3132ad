import { afterAll, describe, test } from "vitest";
import { browserDevice } from "../../testing/browser-device";
import { GOLDEN_MODELS } from "../../testing/golden-case";
import { expectGolden, F32, gpuBackendOf, tiersOf } from "../../testing/golden-run";
import { goldenCasesServed, goldenUrl, servedCheckpoint } from "../../testing/served-models";

const device = await browserDevice();
afterAll(() => device.destroy());

describe.each(tiersOf(device).filter((tier) => tier !== "cpu"))("on the tier %s", (tier) => {
  test.each(GOLDEN_MODELS)("the golden %s gives the golden ids and log-probabilities", async (model) => {
    const backend = await gpuBackendOf(await servedCheckpoint(goldenUrl(model)), F32, { device, tier });
    await expectGolden(backend, await goldenCasesServed(model));
    await backend.dispose();
  });
});
