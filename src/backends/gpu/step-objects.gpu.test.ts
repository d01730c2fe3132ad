import { afterEach, expect, test, vi } from "vitest";
import { emit } from "../../models/decoder";
import { samplingSettings } from "../../testing/sampling-settings";
import { fillSink, tinyModel } from "../../testing/tiny-models";
import { createGpuBackend } from "./gpu-backend";

const MAKERS = [
  "createBuffer",
  "createBindGroup",
  "createBindGroupLayout",
  "createPipelineLayout",
  "createShaderModule",
  "createComputePipelineAsync",
  "createCommandEncoder",
] as const;

afterEach(() => vi.restoreAllMocks());

/** A device with default limits and no features, that counts what is made and keeps the labels. */
async function watchedDevice() {
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null) throw new Error("no adapter: GPU tests need one");
  const device = await adapter.requestDevice({ label: "plain" });
  const made: { maker: string; label: string | undefined }[] = [];
  for (const maker of MAKERS) {
    const original = device[maker].bind(device) as (descriptor?: GPUObjectDescriptorBase) => unknown;
    vi.spyOn(device, maker).mockImplementation(((descriptor?: GPUObjectDescriptorBase) => {
      made.push({ maker, label: descriptor?.label });
      return original(descriptor);
    }) as never); // every maker takes a descriptor with a label
  }
  const beginPass = GPUCommandEncoder.prototype.beginComputePass;
  vi.spyOn(GPUCommandEncoder.prototype, "beginComputePass").mockImplementation(function (
    this: GPUCommandEncoder,
    pass,
  ) {
    made.push({ maker: "beginComputePass", label: pass?.label });
    return beginPass.call(this, pass);
  });
  return { device, made, submits: vi.spyOn(device.queue, "submit") };
}

test("on a device with default limits a model loads, scores and writes; every object has a label, a step makes none", async () => {
  const { device, made, submits } = await watchedDevice();
  const model = tinyModel({ kind: "llama", layers: 1 });
  const { spec } = model;
  const backend = await createGpuBackend({
    spec,
    program: emit(spec),
    dtype: "q8",
    kvDtype: "f16",
    contextLength: spec.contextLength,
    memoryBudgetBytes: undefined,
    tier: "cpu",
    device,
  });
  await fillSink(backend.weights, model);
  await backend.ready();
  const promptTokens = Uint32Array.of(1, 2, 3);
  const sampling = samplingSettings({ topLogprobs: 2, repetitionPenalty: 1.2 });
  await backend.begin({ sampling, promptTokens, endTokenIds: [], maxNewTokens: 9 });
  expect((await backend.prefill(promptTokens, 0, true)).count).toBe(1);

  const loading = made.splice(0);
  submits.mockClear();
  expect((await backend.step()).count).toBe(2);
  expect(made.map(({ maker }) => maker)).toEqual(["createCommandEncoder", "beginComputePass"]);
  expect(submits).toHaveBeenCalledTimes(1);

  await backend.score(promptTokens, 0, promptTokens);
  await backend.readLogits();
  await backend.dispose();
  expect(await Promise.race([device.lost.then(() => "lost"), device.queue.onSubmittedWorkDone()])).toBe(undefined);
  device.destroy();
  expect([...loading, ...made].filter(({ label }) => !label)).toEqual([]);
  expect(new Set(loading.map(({ maker }) => maker))).toEqual(new Set([...MAKERS, "beginComputePass"]));
});
