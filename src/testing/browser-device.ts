/** The browser's GPU for tests that share one device; in browsers. */

/** A device with the adapter's limits and features, as the library asks for them. @throws where there is no GPU */
export async function browserDevice(): Promise<GPUDevice> {
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null) throw new Error("this Chromium has no GPU adapter; a GPU test does not pass without one");
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const requiredFeatures = (["subgroups", "shader-f16"] as const).filter((name) => adapter.features.has(name));
  return adapter.requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize }, requiredFeatures });
}
