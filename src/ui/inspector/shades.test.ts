import { expect, test } from "vitest";
import { SHADE_BOUNDS, SHADE_COUNT, highlightRules, shadeName, shadeOf } from "./shades";

test("shades grow stronger as tokens grow less likely, and each bound belongs to the lighter one", () => {
  expect([1, 0.9, 0.89, 0.3, 0.29, 0.015, 0.0149, 0].map(shadeOf)).toEqual([0, 0, 1, 3, 4, 6, 7, 7]);
  expect(SHADE_COUNT).toBe(SHADE_BOUNDS.length + 1);
});

test("each shade but the first has a rule, and one for forced colours with an underline of its own weight", () => {
  const rules = highlightRules();
  for (let shade = 1; shade < SHADE_COUNT; shade++) {
    expect(rules.split(`::highlight(${shadeName(shade)})`)).toHaveLength(3);
    expect(rules).toContain(`underline ${shade}px`);
  }
});
