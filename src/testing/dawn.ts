/** WebGPU in Node: Dawn on the Vulkan driver that VK_ICD_FILENAMES names. Node only. */
import { create, globals } from "webgpu";

Object.assign(globalThis, globals); // GPUBufferUsage, GPUMapMode, … as a browser has them; `navigator.gpu` stays missing

/** Kept for good: with it collected, Dawn's devices go, too. */
const gpu = create([]);

const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
] as const;
const FEATURES = ["subgroups", "shader-f16"] as const;

/** A device with what the driver has of subgroups and half floats. @throws where there is no adapter */
export async function dawnDevice(): Promise<GPUDevice> {
  const adapter = await gpu.requestAdapter();
  if (adapter === null) throw new Error("Dawn found no Vulkan driver; see npm run test:lavapipe");
  return adapter.requestDevice({
    label: "dawn in node",
    requiredLimits: Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]])),
    requiredFeatures: FEATURES.filter((name) => adapter.features.has(name)),
  });
}
