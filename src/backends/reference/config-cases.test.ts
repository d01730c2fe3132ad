/** Faults that users of comparable software reported about config.json, tried on the golden checkpoints. */
import { describe, expect, test } from "vitest";
import { emit } from "../../models/decoder";
import { readModelConfig } from "../../models/registry";
import { fillFromCheckpoint } from "../../testing/checkpoint";
import { caseOf } from "../../testing/cases/case-file";
import {
  type GoldenModel,
  goldenCases,
  goldenFolder,
  readCheckpoint,
  readFolderJson,
} from "../../testing/golden-models";
import { greedyRun } from "../../testing/golden-run";
import { createReferenceBackend } from "./reference-backend";

type Config = Record<string, unknown>;

const edited = (model: GoldenModel, changes: Config): Config => ({
  ...readFolderJson(goldenFolder(model), "config.json"),
  ...changes,
});

/** As many greedy ids as are expected, after the prompt, from a golden checkpoint under another config.json. */
async function idsWith(
  model: GoldenModel,
  config: Config,
  prompt: readonly number[],
  count: number,
): Promise<number[]> {
  const { spec } = readModelConfig(config, undefined);
  const { contextLength } = spec;
  const backend = createReferenceBackend({ spec, program: emit(spec), dtype: "f32", kvDtype: "f32", contextLength });
  fillFromCheckpoint(backend.weights, spec, readCheckpoint(goldenFolder(model)));
  await backend.ready();
  return (await greedyRun(backend, prompt, count)).ids;
}

/** The numbers of the first list in a text: "golden ids: [1,2] gives [3]". */
function listsIn(text: string): number[][] {
  return [...text.matchAll(/\[[\d,]+\]/g)].map(([list]) => JSON.parse(list) as number[]); // digits and commas
}

describe("cfg-head-dim: a head's size that is null, absent, or cannot be", () => {
  const { expected } = caseOf<unknown, { first_two: string }>("cfg-head-dim");
  const [prompt = [], ids = []] = listsIn(expected.first_two);
  const without = (key: string) => {
    const config = edited("llama", {});
    delete config[key];
    return config;
  };

  test.each<[string, Config]>([
    ["head_dim null", edited("llama", { head_dim: null })],
    ["head_dim removed", without("head_dim")],
    ["rope_scaling removed", without("rope_scaling")],
    [
      "pad_token_id, attention_bias and mlp_bias null",
      edited("llama", { pad_token_id: null, attention_bias: null, mlp_bias: null }),
    ],
  ])("%s leaves the ids as they are", async (_, config) => {
    expect(ids.length).toBe(6);
    expect(await idsWith("llama", config, prompt, ids.length)).toEqual(ids);
  });

  test("num_key_value_heads null means 6, which the tensors deny, with both shapes", async () => {
    await expect(idsWith("llama", edited("llama", { num_key_value_heads: null }), prompt, 1)).rejects.toThrow(
      "the checkpoint has [32,96], the config says [96,96]",
    );
  });

  test.each<[string, Config]>([
    ["num_attention_heads, 7", { ...without("head_dim"), num_attention_heads: 7 }],
    ["num_attention_heads is 0", edited("llama", { num_attention_heads: 0 })],
    ["num_key_value_heads is 4", edited("llama", { num_key_value_heads: 4 })],
  ])("%s is refused by the config alone", (message, config) => {
    expect(() => readModelConfig(config, undefined)).toThrow(message);
  });
});

describe("cfg-window-off: a window that is present, and switched off", () => {
  const { expected } = caseOf<unknown, { results: string[] }>("cfg-window-off");
  const golden = listsIn(expected.results[0] ?? "")[0] ?? [];
  const windowed = listsIn(expected.results[2] ?? "")[0] ?? [];
  const prompt = goldenCases("qwen2").find(({ ids }) => ids.length === 40)?.ids ?? [];
  const sliding = { layer_types: Array(3).fill("sliding_attention") };
  const on = { sliding_window: 8, use_sliding_window: true };
  const run = (changes: Config) => idsWith("qwen2", edited("qwen2", changes), prompt, 6);

  test("it leaves the ids as they are", async () => {
    expect(golden.length).toBe(6);
    expect(await run({ sliding_window: 8, use_sliding_window: false })).toEqual(golden);
  });

  test("null is no window, switched on or not", async () => {
    expect(await run({ sliding_window: null, use_sliding_window: true })).toEqual(golden);
  });

  test.each<[string, Config]>([
    ["layers from max_window_layers on", { ...on, max_window_layers: 0, layer_types: null }],
    ["the layers that layer_types names", { ...on, ...sliding }],
  ])("switched on it holds for %s", async (_, changes) => {
    expect(windowed.length).toBe(6);
    expect(await run(changes)).toEqual(windowed);
  });

  test("layers that slide, and a window that is switched off, contradict each other: refused", async () => {
    await expect(run({ sliding_window: 8, use_sliding_window: false, ...sliding })).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringContaining("sliding_attention needs a sliding_window") as string,
    });
  });
});
