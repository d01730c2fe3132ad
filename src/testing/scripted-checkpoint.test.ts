import { describe, expect, test } from "vitest";
import { createReferenceBackend } from "../backends/reference/reference-backend";
import { emit } from "../models/decoder";
import { readModelConfig } from "../models/registry";
import { createTokenizer } from "../tokenizer/load-tokenizer";
import { fillFromCheckpoint, readFloat32Safetensors } from "./checkpoint";
import { chain, filesOf, modelFilesOf, scriptedCheckpoint } from "./scripted-checkpoint";

const json = (bytes: Uint8Array | undefined) => JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;

describe("the scripted checkpoint", () => {
  test.each([
    [32, 32],
    [96, 32],
  ])("gives the table's logits after any ids, with %i ids and hidden size %i", async (size, hidden) => {
    const table = (last: number, next: number) => ((last * 7 + next * 3) % 11) - 5;
    const files = scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>"], size, hidden, table });
    const { spec } = readModelConfig(json(files.get("config.json")), undefined);
    const { contextLength } = spec;
    const backend = createReferenceBackend({ spec, program: emit(spec), dtype: "f32", kvDtype: "f32", contextLength });
    fillFromCheckpoint(
      backend.weights,
      spec,
      readFloat32Safetensors(files.get("model.safetensors") ?? new Uint8Array()),
    );
    await backend.ready();
    for (const [position, id] of [1, 5, 31, size - 1].entries()) {
      await backend.prefill(Uint32Array.of(id), position, false);
      const logits = await backend.readLogits();
      expect(logits).toHaveLength(size);
      logits.forEach((logit, next) => expect(logit).toBeCloseTo(table(id % hidden, next), 5));
    }
  });

  test("a chain follows id k by k + 1, and the last piece by the end", () => {
    const table = chain(4);
    const follower = (last: number) => Array.from({ length: 8 }, (_, next) => table(last, next)).indexOf(8);
    expect([0, 1, 2, 3, 4].map(follower)).toEqual([1, 2, 3, 0, 0]);
  });

  test("has a tokenizer whose pieces are as given, the rest F and their id, ids 0 and 1 special", () => {
    const files = scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "Ġa"], size: 32, table: () => 0 });
    const tokenizer = createTokenizer({ tokenizerJson: json(files.get("tokenizer.json")), tokenizerConfig: undefined });
    expect(tokenizer.vocabSize).toBe(32);
    expect(tokenizer.decode([0, 1, 2, 12, 31])).toBe(" aF12F31");
  });

  test("comes as File objects and as a source", async () => {
    const files = scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>"], size: 32, table: () => 0 });
    const names = ["config.json", "tokenizer.json", "model.safetensors"];
    expect(filesOf(files).map(({ name }) => name)).toEqual(names);
    const source = modelFilesOf(files);
    expect(await source.find("generation_config.json")).toBeUndefined();
    const weights = await source.find("model.safetensors");
    const bytes = await new Response(await weights?.stream()).bytes();
    expect(bytes).toEqual(files.get("model.safetensors"));
  });
});
