/** Quantized safetensors on WebGPU: the logits of the float model with the decoded weights. */
import { afterAll, test } from "vitest";
import { browserDevice } from "../testing/browser-device";
import { GOLDEN_F32 } from "../testing/golden-run";
import { memoryFiles } from "../testing/memory-files";
import { expectLogprobs, runFolder } from "../testing/packed-run";
import { servedBytes, servedJson } from "../testing/served-models";

const device = await browserDevice();
afterAll(() => device.destroy());

test.each(["gptq", "mlx"])(
  "a Llama in %s format",
  async (name) => {
    const folder = `/src/testing/packed/${name}/`;
    const contents = {
      "config.json": await servedBytes(`${folder}config.json`),
      "model.safetensors": await servedBytes(`${folder}model.safetensors`),
    };
    const { cases } = await servedJson<{ cases: { ids: number[]; logprobs_f64: number[] }[] }>(`${folder}golden.json`);
    const backend = await runFolder(memoryFiles(contents), { dtype: "f32", kvDtype: "f32" }, { device, tier: "cpu" });
    await expectLogprobs(backend, cases, GOLDEN_F32);
    await backend.dispose();
  },
  120_000,
);
