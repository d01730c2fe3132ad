import { afterEach, expect, test, vi } from "vitest";
import { openDevice } from "./device";

afterEach(() => vi.unstubAllGlobals());

const refusal = (message: RegExp, remedy = /./): unknown =>
  expect.objectContaining({
    code: "webgpu-unavailable",
    message: expect.stringMatching(message),
    remedy: expect.stringMatching(remedy),
  });

const withGpu = (gpu: unknown) => vi.stubGlobal("navigator", { gpu });

test("without navigator.gpu there is no WebGPU, and the remedy says what has it", async () => {
  withGpu(undefined);
  await expect(openDevice({})).rejects.toEqual(refusal(/does not offer WebGPU/, /Chrome or Edge/));
});

test("without a navigator at all, the same", async () => {
  vi.stubGlobal("navigator", undefined);
  await expect(openDevice({})).rejects.toEqual(refusal(/does not offer WebGPU/));
});

test("on plain http the message says that this is why", async () => {
  withGpu(undefined);
  vi.stubGlobal("isSecureContext", false);
  await expect(openDevice({})).rejects.toEqual(refusal(/plain http/));
});

test("no adapter", async () => {
  withGpu({ requestAdapter: async () => null });
  await expect(openDevice({})).rejects.toEqual(refusal(/found no usable GPU/));
});

test("an adapter that refuses a device gives its reason", async () => {
  const requestDevice = async () => {
    throw new Error("out of devices");
  };
  const wgslLanguageFeatures = new Set(["packed_4x8_integer_dot_product"]);
  const requestAdapter = async () => ({ limits: {}, features: new Set(), requestDevice });
  withGpu({ wgslLanguageFeatures, requestAdapter });
  await expect(openDevice({})).rejects.toEqual(refusal(/refused a device: Error: out of devices/));
  wgslLanguageFeatures.clear();
  await expect(openDevice({})).rejects.toEqual(refusal(/too old: its shaders cannot unpack bytes/, /123/));
});

test("the power preference is passed on, and none means none", async () => {
  const requestAdapter = vi.fn(async () => null);
  withGpu({ requestAdapter });
  await expect(openDevice({ powerPreference: "low-power" })).rejects.toThrow();
  await expect(openDevice({})).rejects.toThrow();
  expect(requestAdapter.mock.calls).toEqual([[{ powerPreference: "low-power" }], [{}]]);
});
