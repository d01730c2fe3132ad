/** WebGPU devices that are lost at a chosen moment; in browsers. Undone by vi.restoreAllMocks. */
import { vi } from "vitest";
import type { Recovery } from "../engine/recovery";

/** Devices that were asked for since. */
export function watchDevices(): GPUDevice[] {
  const devices: GPUDevice[] = [];
  const request = GPUAdapter.prototype.requestDevice;
  vi.spyOn(GPUAdapter.prototype, "requestDevice").mockImplementation(async function (this: GPUAdapter, ...options) {
    const made = await request.apply(this, options);
    devices.push(made);
    return made;
  });
  return devices;
}

/** Destroys the newest device right after the n-th call from now on. */
export function loseAfter(devices: readonly GPUDevice[], kind: "submit" | "compile" | "upload", n: number): void {
  let count = 0;
  const happened = (spy: { mockRestore: () => void }) => {
    if (++count !== n) return;
    spy.mockRestore();
    newest(devices).destroy();
  };
  if (kind === "compile") {
    const compile = GPUDevice.prototype.createComputePipelineAsync;
    const spy = vi.spyOn(GPUDevice.prototype, "createComputePipelineAsync");
    spy.mockImplementation(function (this: GPUDevice, what) {
      const pipeline = compile.call(this, what);
      happened(spy);
      return pipeline;
    });
  } else if (kind === "upload") {
    const write = GPUQueue.prototype.writeBuffer;
    const spy = vi.spyOn(GPUQueue.prototype, "writeBuffer");
    spy.mockImplementation(function (this: GPUQueue, ...what) {
      write.apply(this, what);
      happened(spy);
    });
  } else {
    const submit = GPUQueue.prototype.submit;
    const spy = vi.spyOn(GPUQueue.prototype, "submit");
    spy.mockImplementation(function (this: GPUQueue, what) {
      submit.call(this, what);
      happened(spy);
    });
  }
}

/** The one in use. */
export function newest(devices: readonly GPUDevice[]): GPUDevice {
  const last = devices.at(-1);
  if (last === undefined) throw new Error("no device was asked for");
  return last;
}

/** What was told, without repeats while weights come. */
export function statesOf(told: readonly Recovery[]): string[] {
  return told.map(({ state, attempt }) => `${state} ${attempt}`).filter((one, at, all) => one !== all[at - 1]);
}

/** Buffers that were made and have not been destroyed, from now on. */
export function countLiveBuffers(): () => number {
  const live = new Set<GPUBuffer>();
  const [create, free] = [GPUDevice.prototype.createBuffer, GPUBuffer.prototype.destroy];
  vi.spyOn(GPUDevice.prototype, "createBuffer").mockImplementation(function (this: GPUDevice, what) {
    const buffer = create.call(this, what);
    live.add(buffer);
    return buffer;
  });
  vi.spyOn(GPUBuffer.prototype, "destroy").mockImplementation(function (this: GPUBuffer) {
    live.delete(this);
    free.call(this);
  });
  return () => live.size;
}
