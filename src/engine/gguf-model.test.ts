import { readFileSync } from "node:fs";
import { test } from "vitest";
import { GOLDEN_MODELS, goldenCases, goldenFolder } from "../testing/golden-models";
import { expectGolden, F32 } from "../testing/golden-run";
import { runGguf } from "../testing/gguf-run";

test.each(GOLDEN_MODELS)(
  "the golden %s from its GGUF file gives the golden ids and log-probabilities",
  async (model) => {
    const { backend } = await runGguf(readFileSync(`${goldenFolder(model)}model-F32.gguf`), F32);
    await expectGolden(backend, goldenCases(model));
  },
);
