/** Counts what is asked of WebGPU, by wrapping the prototypes of its classes. In browsers. */

export interface GpuCounts {
  submit: number;
  writeBuffer: number;
  mapAsync: number;
  /** Bytes of the ranges that were mapped for reading. */
  mappedBytes: number;
  dispatch: number;
  computePass: number;
  createBuffer: number;
  destroyBuffer: number;
  createBindGroup: number;
  createPipeline: number;
  createShaderModule: number;
}

const NONE: GpuCounts = {
  submit: 0,
  writeBuffer: 0,
  mapAsync: 0,
  mappedBytes: 0,
  dispatch: 0,
  computePass: 0,
  createBuffer: 0,
  destroyBuffer: 0,
  createBindGroup: 0,
  createPipeline: 0,
  createShaderModule: 0,
};

type Method = (this: unknown, ...values: never[]) => unknown;

/** Counts from now on, on this thread; `stop` puts everything back. */
export function countGpuCalls(): { counts: GpuCounts; stop: () => void } {
  const counts = { ...NONE };
  const restore: (() => void)[] = [];
  const wrap = (
    type: { prototype: object },
    name: string,
    count: (self: unknown, values: readonly unknown[]) => void,
  ) => {
    const prototype = type.prototype as Record<string, Method>; // only methods are named below
    const original = prototype[name];
    if (original === undefined) throw new Error(`there is no ${name} to count`);
    prototype[name] = function (...values) {
      count(this, values);
      return original.apply(this, values);
    };
    restore.push(() => (prototype[name] = original));
  };
  const add = (key: keyof GpuCounts) => () => void counts[key]++;
  wrap(GPUQueue, "submit", add("submit"));
  wrap(GPUQueue, "writeBuffer", add("writeBuffer"));
  wrap(GPUBuffer, "mapAsync", (self, [, offset = 0, size]) => {
    counts.mapAsync++;
    counts.mappedBytes += Number(size ?? (self as GPUBuffer).size - Number(offset)); // mapAsync's own defaults
  });
  wrap(GPUComputePassEncoder, "dispatchWorkgroups", add("dispatch"));
  wrap(GPUComputePassEncoder, "dispatchWorkgroupsIndirect", add("dispatch"));
  wrap(GPUCommandEncoder, "beginComputePass", add("computePass"));
  wrap(GPUDevice, "createBuffer", add("createBuffer"));
  const destroyed = new WeakSet<object>();
  wrap(GPUBuffer, "destroy", (self) => {
    const buffer = self as GPUBuffer; // GPUBuffer.destroy is called on one
    if (!destroyed.has(buffer)) counts.destroyBuffer++; // twice is once
    destroyed.add(buffer);
  });
  wrap(GPUDevice, "createBindGroup", add("createBindGroup"));
  wrap(GPUDevice, "createComputePipeline", add("createPipeline"));
  wrap(GPUDevice, "createComputePipelineAsync", add("createPipeline"));
  wrap(GPUDevice, "createShaderModule", add("createShaderModule"));
  return { counts, stop: () => restore.forEach((putBack) => putBack()) };
}

/** Each count of `after` less that of `before`. */
export function countsSince(before: GpuCounts, after: GpuCounts): GpuCounts {
  const difference = { ...NONE };
  for (const key of Object.keys(NONE) as (keyof GpuCounts)[]) difference[key] = after[key] - before[key];
  return difference;
}
