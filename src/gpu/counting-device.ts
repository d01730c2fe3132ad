/**
 * A device that makes nothing: buffers are sizes, pipelines are names. What would be allocated is found by allocating it
 * here, with the very code that allocates it on a GPU, so that a plan cannot drift from what happens.
 */
import type { GpuDevice } from "./device";

/** As `gpu`, with these limits; nothing reaches the GPU. */
export function countingDevice(gpu: GpuDevice, { maxBufferSize, maxBindingBytes }: Limits): GpuDevice {
  const nothing = () => undefined;
  const named = ({ label }: { label?: string }) => ({ label });
  const done = Promise.resolve();
  const device = {
    label: "counting",
    features: gpu.device.features,
    limits: { maxBufferSize },
    queue: { writeBuffer: nothing, onSubmittedWorkDone: () => done },
    createBuffer: ({ label, size, usage }: GPUBufferDescriptor) => ({ label, size, usage, destroy: nothing }),
    createBindGroupLayout: named,
    createBindGroup: named,
    createShaderModule: named,
    createPipelineLayout: named,
    createComputePipelineAsync: (descriptor: { label?: string }) => Promise.resolve(named(descriptor)),
    pushErrorScope: nothing,
    popErrorScope: () => Promise.resolve(null),
  };
  return {
    ...gpu,
    device: device as unknown as GPUDevice, // of a device only what allocating and recording ask for
    maxBindingBytes,
    lost: new Promise(() => undefined),
    onError: nothing,
    close: nothing,
  };
}

interface Limits {
  maxBufferSize: number;
  maxBindingBytes: number;
}
