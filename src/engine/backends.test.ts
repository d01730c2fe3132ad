import { expect, test } from "vitest";
import { WordloomError } from "../errors";
import { FakeBackend } from "../testing/fake-backend";
import { tinyModel } from "../testing/tiny-models";
import { BACKEND_MAKERS, chooseBackend, referenceContextLength, type BackendRequest } from "./backends";

const { spec } = tinyModel({ kind: "llama" });
const REQUEST: BackendRequest = {
  backend: "auto",
  allowReference: false,
  dtype: "auto",
  kvDtype: "auto",
  contextLength: undefined,
  memoryBudgetBytes: undefined,
  powerPreference: undefined,
  device: undefined,
  tier: undefined,
};
const gpu = new FakeBackend();
const reference = new FakeBackend();
const unavailable = new WordloomError("webgpu-unavailable", "no adapter");
const tooSmall = new WordloomError("device-limit", "too small");
const device = {} as GPUDevice; // only passed on

test.each([
  ["auto takes the GPU", {}, undefined, gpu],
  ["auto takes the GPU though the reference is allowed", { allowReference: true }, undefined, gpu],
  ["auto without WebGPU fails", {}, unavailable, unavailable],
  ["auto without WebGPU takes the reference where it is allowed", { allowReference: true }, unavailable, reference],
  ["a model too large for the GPU is not run on the CPU", { allowReference: true }, tooSmall, tooSmall],
  ["a device that was passed is used or refused", { allowReference: true, device }, unavailable, unavailable],
  ["webgpu never falls back", { backend: "webgpu", allowReference: true }, unavailable, unavailable],
  ["reference needs no GPU and no permission", { backend: "reference" }, unavailable, reference],
] as const)("%s", async (_, changes, gpuFails, expected) => {
  const choice = chooseBackend(
    spec,
    { ...REQUEST, ...changes },
    {
      webgpu: async () => {
        if (gpuFails) throw gpuFails;
        return gpu;
      },
      reference: async () => reference,
    },
  );
  if (expected instanceof WordloomError) await expect(choice).rejects.toBe(expected);
  else expect((await choice).backend).toBe(expected);
});

test("the reason says what was missing", async () => {
  const { reason } = await chooseBackend(
    spec,
    { ...REQUEST, allowReference: true },
    {
      webgpu: async () => Promise.reject(unavailable),
      reference: async () => reference,
    },
  );
  expect(reason).toContain("no adapter");
});

test.each([
  ["auto", "auto", "f32", "f32"],
  ["f32", "f16", "f32", "f16"],
  ["q8", "auto", "q8", "f16"],
  ["q4", "f32", "q4", "f32"],
] as const)("the reference holds %s weights and %s cache as %s and %s", async (dtype, kvDtype, heldAs, cachedAs) => {
  const { facts } = await BACKEND_MAKERS.reference(spec, { ...REQUEST, dtype, kvDtype });
  expect(facts).toMatchObject({ dtype: heldAs, kvDtype: cachedAs, contextLength: spec.contextLength });
});

test("the reference's context is cut to a quarter of the budget", () => {
  const bytesPerPosition = 2 * 2 * 12 * 4; // keys and values, two layers, one head of 12, float32
  expect(referenceContextLength(spec, 4 * bytesPerPosition * 10)).toBe(10);
  expect(referenceContextLength(spec, 4 * bytesPerPosition * 10 - 1)).toBe(9);
  expect(referenceContextLength(spec, 1)).toBe(1);
  expect(referenceContextLength(spec, undefined)).toBe(spec.contextLength);
});
