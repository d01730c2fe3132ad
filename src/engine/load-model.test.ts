import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TextGenerator, type LoadProgress } from "../index";
import { goldenFolder } from "../testing/golden-models";

const folder = goldenFolder("llama");
const fileOf = (name: string) => new File([readFileSync(`${folder}/${name}`)], name);

test.each([
  ["config.json", ["config.json", "tokenizer.json", "model.safetensors"].map(fileOf)],
  ["model-F32.gguf", [fileOf("model-F32.gguf")]],
])("the first report names the file that is read first: %s", async (name, files) => {
  const reports: LoadProgress[] = [];
  const onProgress = (report: LoadProgress) => reports.push({ ...report });
  const generator = await TextGenerator.load(files, { backend: "reference", onProgress });
  await generator.dispose();
  expect(reports[0]).toEqual({ phase: "config", file: name, loadedBytes: 0, totalBytes: undefined });
  expect(reports.map(({ phase }) => phase)).toEqual(
    expect.arrayContaining(["config", "device", "tokenizer", "weights", "warmup"]),
  );
});
