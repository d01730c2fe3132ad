/** Counts the bytes of weights that dispatches have bound, by wrapping the prototypes of WebGPU's classes. */

/** Of every dispatch from now on, on this thread; of bind groups made before `watch` nothing is known. */
const bound = new WeakMap<GPUBindGroup, number>();
let isWatching = false;

/** From here on it is remembered which weights a bind group holds. */
function watch(): void {
  if (isWatching) return;
  isWatching = true;
  const create = GPUDevice.prototype.createBindGroup;
  GPUDevice.prototype.createBindGroup = function (descriptor) {
    const group = create.call(this, descriptor);
    let bytes = 0;
    for (const { resource } of descriptor.entries) {
      const buffer = (resource as GPUBufferBinding).buffer; // this project binds nothing else
      if (buffer.label.startsWith("weights: ")) bytes += buffer.size;
    }
    bound.set(group, bytes);
    return group;
  };
}
watch();

export function countWeightBytes(): { bytes: () => number; stop: () => void } {
  const { setBindGroup } = GPUComputePassEncoder.prototype;
  let bytes = 0;
  // In this project each dispatch sets its bind group.
  GPUComputePassEncoder.prototype.setBindGroup = function (this: GPUComputePassEncoder, ...values: never[]) {
    const group = values[1] as GPUBindGroup | undefined;
    bytes += (group && bound.get(group)) ?? 0;
    return (setBindGroup as (...values: never[]) => undefined).apply(this, values);
  };
  return { bytes: () => bytes, stop: () => void (GPUComputePassEncoder.prototype.setBindGroup = setBindGroup) };
}
