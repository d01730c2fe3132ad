import { expect, test } from "vitest";
import { DISTRIBUTION_CASES, DRAWS, expectFrequencies, LOGITS, PROBABILITIES } from "../../testing/distribution-cases";
import { samplingSettings } from "../../testing/sampling-settings";
import { chooseToken } from "./sampling";

test("the vocabulary's probabilities sum to 1", () => {
  expect(PROBABILITIES.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 12);
});

test.each(DISTRIBUTION_CASES)(
  "20,000 draws with %s come as often as their probabilities say",
  (_, changes, expected) => {
    const settings = samplingSettings({ seed: [2024, 7], ...changes });
    const counts = new Uint32Array(LOGITS.length);
    for (let position = 0; position < DRAWS; position++) {
      const { id } = chooseToken(LOGITS, settings, [], [], position);
      counts[id] = (counts[id] ?? 0) + 1;
    }
    expectFrequencies(counts, expected);
  },
);
