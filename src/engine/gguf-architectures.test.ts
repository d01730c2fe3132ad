/**
 * Architectures of which no GGUF file here was read by llama.cpp: the golden checkpoints of transformers, converted as
 * llama.cpp's script does, give what their Hugging Face folders give.
 */
import { expect, test } from "vitest";
import { convertToGguf } from "../testing/convert-to-gguf";
import { expectClose } from "../testing/compare";
import type { GoldenModel } from "../testing/golden-case";
import { goldenCases, goldenFolder, readCheckpoint, readFolderJson } from "../testing/golden-models";
import { F32, greedyRun, referenceBackendOf } from "../testing/golden-run";
import { runGguf } from "../testing/gguf-run";

const pieces = Array.from({ length: 320 }, (_, id) => `piece${id}`);

test.each<[GoldenModel, Record<string, unknown>, string]>([
  ["llama", {}, "llama"],
  ["mistral", {}, "mistral"],
  // GGUF has no place for this number where it is not the head's size.
  ["gemma2", { query_pre_attn_scalar: 16 }, "gemma2"],
  ["smollm3", {}, "smollm3"],
  ["granite", {}, "granite"],
  ["stablelm", {}, "stablelm"],
  ["stablelm-parallel", {}, "stablelm"],
  ["phi", {}, "phi"],
  ["phi3-longrope", {}, "phi3"],
  ["lfm2", {}, "lfm2"],
])("the golden %s as GGUF is what it is as safetensors", async (model, changes, modelType) => {
  const config = { ...readFolderJson(goldenFolder(model), "config.json"), ...changes };
  const tensors = readCheckpoint(goldenFolder(model));
  const reference = await referenceBackendOf({ config, tensors }, F32);
  const { backend, parts } = await runGguf(convertToGguf(config, tensors, { pieces }), F32);
  expect(parts.spec.modelType).toBe(modelType);
  for (const { ids } of goldenCases(model)) {
    const [ours, theirs] = [await greedyRun(backend, ids, 8), await greedyRun(reference, ids, 8)];
    expectClose(ours.logprobs, theirs.logprobs, { absolute: 1e-4 }); // settings are float32 in GGUF
    expect(ours.ids).toEqual(theirs.ids);
  }
});
