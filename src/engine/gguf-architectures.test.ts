/**
 * Architectures of which no GGUF file here was read by llama.cpp: the golden checkpoints of transformers, converted as
 * llama.cpp's script does, give what their Hugging Face folders give.
 */
import { describe, expect, test } from "vitest";
import { convertToGguf } from "../testing/convert-to-gguf";
import { expectClose } from "../testing/compare";
import type { GoldenModel } from "../testing/golden-case";
import { goldenCases, goldenFolder, readCheckpoint, readFolderJson } from "../testing/golden-models";
import { F32, greedyRun, referenceBackendOf } from "../testing/golden-run";
import { editGguf } from "../testing/edit-gguf";
import { openGgufBytes, runGguf } from "../testing/gguf-run";
import type { MadeValue } from "../testing/make-gguf";

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

describe("a list of key/value heads, one a layer,", () => {
  const folder = goldenFolder("lfm2");
  const file = convertToGguf(readFolderJson(folder, "config.json"), readCheckpoint(folder), { pieces });
  const heads = (counts: readonly number[]): MadeValue => ["array", ["i32", counts]];
  const open = (counts: readonly number[]) =>
    openGgufBytes(editGguf(file, { "lfm2.attention.head_count_kv": heads(counts) }));

  test("says which layers of lfm2 are convolutions", async () => {
    const kinds = async (counts: readonly number[]) => (await open(counts)).spec.layers.map(({ mixer }) => mixer.kind);
    const [attention, convolution] = ["attention", "convolution"];
    expect(await kinds([0, 2, 0, 0, 2])).toEqual([convolution, attention, convolution, convolution, attention]);
    expect(await kinds([2, 2, 2, 2, 2])).toEqual(Array(5).fill(attention));
  });

  test.each([
    [[0, 2, 0, 2], "5 entries are expected, 0 or all the same"],
    [[0, 2, 0, 0, 4], "5 entries are expected, 0 or all the same"],
    [[0, 0, 0, 0, 0], "num_key_value_heads is 0"],
  ])("%j is refused", async (counts, message) => {
    await expect(open(counts)).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringContaining(message),
    });
  });

  test("is refused of an architecture that has no convolutions", async () => {
    const llama = goldenFolder("llama");
    const bytes = convertToGguf(readFolderJson(llama, "config.json"), readCheckpoint(llama), { pieces });
    const changed = editGguf(bytes, { "llama.attention.head_count_kv": heads([0, 2, 2]) });
    await expect(openGgufBytes(changed)).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringContaining("llama.attention.head_count_kv is [0,2,2]; a number"),
    });
  });
});
