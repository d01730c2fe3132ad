import { readFileSync } from "node:fs";
import { TextGenerator } from "../index";
import { describeCases } from "../testing/describe-cases";
import { goldenCases, goldenFolder } from "../testing/golden-models";
import { modelFolder } from "../testing/model-folder";

const NAMES = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];

describeCases({
  load: (files) => TextGenerator.load(modelFolder(files), { backend: "reference" }),
  llama: {
    files: new Map(NAMES.map((name) => [name, new Uint8Array(readFileSync(`${goldenFolder("llama")}/${name}`))])),
    cases: goldenCases("llama"),
  },
});
