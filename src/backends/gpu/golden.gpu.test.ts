/** Golden values on WebGPU in a browser, in each tier that runs there; see src/testing/golden/PROVENANCE.md. */
import { afterAll, inject, test } from "vitest";
import { browserDevice } from "../../testing/browser-device";
import { GOLDEN_MODELS } from "../../testing/golden-case";
import { expectGolden, F32, GOLDEN_F32, gpuBackendOf, tiersOf } from "../../testing/golden-run";
import { goldenCasesServed, goldenUrl, servedCheckpoint, servedJson } from "../../testing/served-models";
import { expectStories, type StoriesGolden } from "../../testing/stories-golden";

const device = await browserDevice();
afterAll(() => device.destroy());

const storiesUrl = inject("storiesUrl");
if (storiesUrl === "") console.warn("\n*** NOT TESTED in the browser: stories260k, which is absent\n");

/** The other models on the other tiers: golden.gpu.long.test.ts; their kernels compile slowly on a software adapter. */
test.each([
  ...GOLDEN_MODELS.map((model) => [model, "cpu"] as const),
  // Norms of heads, and norms over all heads and after blocks.
  ...tiersOf(device).flatMap((tier) =>
    tier === "cpu" ? [] : [[tier.startsWith("subgroups") ? "qwen3" : "olmo2", tier] as const],
  ),
])(
  "the golden %s on the tier %s gives the golden ids and log-probabilities",
  async (model, tier) => {
    const backend = await gpuBackendOf(await servedCheckpoint(goldenUrl(model)), F32, { device, tier });
    await expectGolden(backend, await goldenCasesServed(model));
    await backend.dispose();
  },
  120_000,
);

test.runIf(storiesUrl !== "")("stories260k gives the golden ids and log-probabilities", async () => {
  const backend = await gpuBackendOf(await servedCheckpoint(storiesUrl), F32, { device, tier: "cpu" });
  await expectStories(backend, await servedJson<StoriesGolden>(`${storiesUrl}golden.json`), GOLDEN_F32.absolute);
  await backend.dispose();
});
