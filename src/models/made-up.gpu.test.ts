/** The made-up architecture of testing/made-up-architecture.ts on WebGPU: no file beside that one knows of it. */
import { afterAll, expect, test } from "vitest";
import { createGpuBackend } from "../backends/gpu/gpu-backend";
import { createReferenceBackend } from "../backends/reference/reference-backend";
import { openDevice } from "../gpu/device";
import { expectClose } from "../testing/compare";
import { greedyRun } from "../testing/golden-run";
import { madeUpSpec } from "../testing/made-up-architecture";
import { seededRandom } from "../testing/random";
import { fillSink, tinyValues } from "../testing/tiny-models";
import { emit } from "./decoder";

const shared = await openDevice({});
afterAll(() => shared.close());

test("it gives the log-probabilities and the ids of the reference", async () => {
  const spec = madeUpSpec();
  const { contextLength } = spec;
  const options = { spec, program: emit(spec), dtype: "f32", kvDtype: "f32", contextLength } as const;
  const gpu = { ...options, memoryBudgetBytes: undefined, tier: "cpu", device: shared.device };
  const random = seededRandom(5);
  const weights = new Map(spec.tensors.map((tensor) => [tensor.name, tinyValues(tensor, random)]));
  const prompt = Array.from({ length: 20 }, (_, index) => (7 * index + 3) % spec.vocabSize);
  const runs = [];
  for (const backend of [createReferenceBackend(options), await createGpuBackend(gpu)]) {
    await fillSink(backend.weights, { spec, weights });
    await backend.ready();
    runs.push(await greedyRun(backend, prompt, 8));
    await backend.dispose();
  }
  const [expected, actual] = runs;
  expectClose(actual?.logprobs ?? [], expected?.logprobs ?? [], { absolute: 1e-4 });
  expect(actual?.ids).toEqual(expected?.ids);
});
