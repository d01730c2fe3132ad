import { afterAll, describe, test } from "vitest";
import { TextGenerator } from "../index";
import { browserDevice } from "../testing/browser-device";
import { tiersOf } from "../testing/golden-run";
import { BUNDLED_URL, goldenUrl } from "../testing/served-models";
import { expectLeanSteps } from "../testing/step-counts";

const device = await browserDevice();
afterAll(() => device.destroy());

describe.each(tiersOf(device))("on the tier %s", (tier) => {
  test.each([
    ["the bundled model", BUNDLED_URL],
    ["the golden gpt2", goldenUrl("gpt2")],
  ])("a step of %s is one submit, one small readback, and nothing is made or written", async (_, url) => {
    const generator = await TextGenerator.load(url, { device, internal: { tier } });
    await expectLeanSteps(generator);
    await generator.dispose();
  });
});
