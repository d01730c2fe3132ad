/** The GPU as the rest sees it: one device, what it can do, and what became of it. */
import { WordloomError } from "../errors";
import { makeTier, tierNamed, type Tier } from "./tier";

export interface GpuDevice {
  readonly device: GPUDevice;
  /** The adapter's own words, e.g. "nvidia ada-lovelace". */
  readonly adapter: string;
  /** The browser's own word for "this adapter is software". */
  readonly isFallback: boolean;
  /** Tiers this device can run, best guess first. */
  readonly tiers: readonly Tier[];
  /** Bytes one tensor part may have: the smaller of a buffer's and a binding's limit. */
  readonly maxBindingBytes: number;
  /** Resolves when the device is lost for any reason but `close`. */
  readonly lost: Promise<WordloomError>;
  /** Called on validation and other uncaptured errors, which are faults of ours. */
  onError: (error: WordloomError) => void;
  /** Destroys a device of our own; leaves one that was passed in alone. */
  close(): void;
}

export interface OpenDeviceOptions {
  /** Use this device instead of requesting one. */
  device?: GPUDevice | undefined;
  powerPreference?: GPUPowerPreference | undefined;
}

/** Limits worth having where the adapter has them; the defaults of the specification do. */
const WANTED_LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
] as const;
const WANTED_FEATURES = ["subgroups", "shader-f16", "timestamp-query"] as const;

export async function openDevice({ device: given, powerPreference }: OpenDeviceOptions): Promise<GpuDevice> {
  if (given !== undefined) return wrapDevice(given, false);
  const gpu = (globalThis.navigator as Navigator | undefined)?.gpu;
  if (gpu === undefined) {
    const insecure = globalThis.isSecureContext === false;
    throw new WordloomError(
      "webgpu-unavailable",
      insecure
        ? "WebGPU is only offered on https and on localhost; this page came over plain http"
        : "this browser does not offer WebGPU here",
    );
  }
  const adapter = await gpu.requestAdapter(powerPreference === undefined ? {} : { powerPreference });
  if (adapter === null)
    throw new WordloomError("webgpu-unavailable", "the browser has WebGPU, but found no usable GPU");
  // In the language since Chrome 123 (before 115 there was not even the list); quantized weights are unpacked with it.
  const language = gpu.wgslLanguageFeatures as WGSLLanguageFeatures | undefined;
  if (language?.has("packed_4x8_integer_dot_product") !== true) {
    throw new WordloomError("webgpu-unavailable", "this browser's WebGPU is too old: its shaders cannot unpack bytes");
  }
  const requiredLimits = Object.fromEntries(WANTED_LIMITS.map((name) => [name, adapter.limits[name]]));
  const requiredFeatures = WANTED_FEATURES.filter((name) => adapter.features.has(name));
  let device: GPUDevice;
  try {
    device = await adapter.requestDevice({ label: "wordloom", requiredLimits, requiredFeatures });
  } catch (error) {
    throw new WordloomError("webgpu-unavailable", `the GPU refused a device: ${String(error)}`, { cause: error });
  }
  return wrapDevice(device, true);
}

function wrapDevice(device: GPUDevice, owned: boolean): GpuDevice {
  const { limits } = device;
  // Missing in older browsers, although the types promise it.
  const info = device.adapterInfo as GPUAdapterInfo | undefined;
  let closed = false;
  const lost = new Promise<WordloomError>((resolve) => {
    void device.lost.then(({ reason, message }) => {
      if (closed) return;
      resolve(new WordloomError("device-lost", `the GPU device was lost (${reason}): ${message || "no reason given"}`));
    });
  });
  const gpuDevice: GpuDevice = {
    device,
    adapter: [info?.vendor, info?.architecture, info?.description].filter(Boolean).join(" ") || "unnamed adapter",
    isFallback: info?.isFallbackAdapter === true,
    tiers: usableTiers(device, info),
    maxBindingBytes: Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize),
    lost,
    onError: (error) => console.error(error),
    close() {
      closed = true;
      device.removeEventListener("uncapturederror", onUncaptured);
      if (owned) device.destroy();
    },
  };
  const onUncaptured = (event: GPUUncapturedErrorEvent) => {
    const { error } = event;
    const code =
      typeof GPUOutOfMemoryError !== "undefined" && error instanceof GPUOutOfMemoryError
        ? "out-of-memory"
        : "kernel-failed";
    gpuDevice.onError(new WordloomError(code, `the GPU reported: ${error.message}`));
  };
  device.addEventListener("uncapturederror", onUncaptured);
  return gpuDevice;
}

/** Which tiers run here; a CPU adapter prefers its own, others lanes over workgroups (timing settles the rest, see kernels/choose-tier). */
function usableTiers(device: GPUDevice, info: GPUAdapterInfo | undefined): readonly Tier[] {
  const f16 = device.features.has("shader-f16");
  const language = (globalThis.navigator as Navigator | undefined)?.gpu?.wgslLanguageFeatures;
  // Without navigator.gpu (Dawn in Node) the language is this package's own, which has subgroup_id.
  const subgroups = device.features.has("subgroups");
  const numbered = language === undefined || language.has("subgroup_id");
  const tiers = [
    ...(subgroups && numbered ? [makeTier("subgroups", f16, subgroups)] : []),
    makeTier("workgroup", f16, subgroups),
    makeTier("cpu", f16, subgroups),
  ];
  return info?.isFallbackAdapter === true ? tiers.reverse() : tiers;
}

/** The tier that was asked for, if this device can run it. */
export function requireTier(gpu: GpuDevice, name: string): Tier {
  const tier = tierNamed(name, gpu.device.features.has("subgroups"));
  if (tier === undefined) throw new WordloomError("option-invalid", `tier: "${name}" is not a tier`);
  const reductionRuns = gpu.tiers.some((each) => each.reduction === tier.reduction);
  if (!reductionRuns || (tier.f16 && !gpu.device.features.has("shader-f16"))) {
    throw new WordloomError("option-invalid", `tier: "${name}" does not run on ${gpu.adapter}`);
  }
  return tier;
}
