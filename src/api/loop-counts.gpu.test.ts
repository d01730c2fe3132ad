import { afterAll, test } from "vitest";
import { TextGenerator } from "../index";
import { browserDevice } from "../testing/browser-device";
import { BUNDLED_URL, goldenUrl } from "../testing/served-models";
import { expectLeanSteps } from "../testing/step-counts";

const device = await browserDevice();
afterAll(() => device.destroy());

/** The other tiers: loop-counts.gpu.long.test.ts; their kernels compile slowly on a software adapter. */
test.each([
  ["the bundled model", BUNDLED_URL],
  ["the golden gpt2", goldenUrl("gpt2")],
])("a step of %s is one submit, one small readback, and nothing is made or written", async (_, url) => {
  const generator = await TextGenerator.load(url, { device, internal: { tier: "cpu" } });
  await expectLeanSteps(generator);
  await generator.dispose();
});
