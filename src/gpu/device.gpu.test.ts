import { afterEach, describe, expect, test, vi } from "vitest";
import type { WordloomError } from "../errors";
import { attentionDecode, cacheBytes, partialsBytes } from "../kernels/attention";
import { chooseTier } from "../kernels/choose-tier";
import { gemm, gemv } from "../kernels/matmul";
import { sampleDispatches, SUMMARY_BYTES } from "../kernels/sampling";
import { expectRows, F32_SUMS, GpuHarness } from "../testing/gpu-harness";
import { openDevice, requireTier, type GpuDevice } from "./device";
import { makeTier } from "./tier";

const open: GpuDevice[] = [];
afterEach(() => {
  for (const gpu of open.splice(0)) gpu.close();
  vi.unstubAllGlobals();
});

async function opened(options = {}): Promise<GpuDevice> {
  const gpu = await openDevice(options);
  open.push(gpu);
  return gpu;
}

/** A device with the limits every WebGPU has, and no feature. */
async function plainDevice(): Promise<GPUDevice> {
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null) throw new Error("no adapter: GPU tests need one");
  return adapter.requestDevice({ label: "plain" });
}

/** Whether the promise is settled once the event loop has gone round. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pause = new Promise<false>((resolve) => setTimeout(() => resolve(false), 50));
  return Promise.race([promise.then(() => true), pause]);
}

describe("openDevice", () => {
  test("asks for the adapter's limits, and says how large a binding may be", async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const gpu = await opened();
    expect(gpu.device.label).toBe("wordloom");
    for (const name of ["maxBufferSize", "maxStorageBufferBindingSize"] as const) {
      expect(gpu.device.limits[name]).toBe(adapter?.limits[name]);
    }
    const { maxBufferSize, maxStorageBufferBindingSize } = gpu.device.limits;
    expect(gpu.maxBindingBytes).toBe(Math.min(maxBufferSize, maxStorageBufferBindingSize));
    expect(gpu.adapter).not.toBe("");
  });

  test("lists the tiers that run here, a CPU adapter's own first", async () => {
    const gpu = await opened();
    const names = gpu.tiers.map(({ reduction }) => reduction);
    expect(names).toEqual(expect.arrayContaining(["workgroup", "cpu"]));
    expect(names.includes("subgroups")).toBe(gpu.device.features.has("subgroups"));
    expect(names.at(gpu.device.adapterInfo.isFallbackAdapter ? 0 : -1)).toBe("cpu");
    for (const tier of gpu.tiers) expect(tier.f16).toBe(gpu.device.features.has("shader-f16"));
  });

  test("does not count on subgroups where the device has none, or the language lacks subgroup_id", async () => {
    const device = await plainDevice();
    expect((await opened({ device })).tiers.map(({ name }) => name).sort()).toEqual(["cpu", "workgroup"]);
    device.destroy();

    const { device: own } = await opened();
    vi.stubGlobal("navigator", { gpu: { wgslLanguageFeatures: new Set() } });
    expect((await opened({ device: own })).tiers.map(({ reduction }) => reduction)).not.toContain("subgroups");
  });
});

describe("requireTier", () => {
  test("gives the tier that was named, if it runs here", async () => {
    const gpu = await opened();
    for (const { reduction } of gpu.tiers)
      expect(requireTier(gpu, reduction)).toEqual(makeTier(reduction, false, true));
  });

  test("refuses a name that is none, and a tier that this device cannot run", async () => {
    const device = await plainDevice();
    const gpu = await opened({ device });
    const refusal = (message: RegExp): unknown =>
      expect.objectContaining({ code: "option-invalid", message: expect.stringMatching(message) });
    expect(() => requireTier(gpu, "fast")).toThrow(refusal(/"fast" is not a tier/));
    expect(() => requireTier(gpu, "cpu+f16")).toThrow(refusal(/"cpu\+f16" does not run on/));
    expect(() => requireTier(gpu, "subgroups")).toThrow(refusal(/"subgroups" does not run on/));
    device.destroy();
  });
});

describe("what becomes of a device", () => {
  test("its loss is told as device-lost, with the reason", async () => {
    const device = await plainDevice();
    const gpu = await opened({ device });
    device.destroy();
    const error = await gpu.lost;
    expect(error).toMatchObject({ code: "device-lost", message: expect.stringContaining("destroyed") });
  });

  test("closing it is no loss; a device that was passed in outlives that", async () => {
    const own = await opened();
    own.close();
    await own.device.lost;
    expect(await isSettled(own.lost)).toBe(false);

    const device = await plainDevice();
    (await opened({ device })).close();
    expect(await isSettled(device.lost)).toBe(false);
    device.destroy();
  });

  test("an uncaptured error arrives at onError as kernel-failed, until it is closed", async () => {
    const gpu = await opened();
    const { device } = gpu;
    const errors: WordloomError[] = [];
    const told = new Promise<void>((resolve) => {
      gpu.onError = (error) => {
        errors.push(error);
        resolve();
      };
    });
    const fault = async () => {
      device.createBuffer({ label: "faulty", size: 16, usage: 0 }).destroy();
      await device.queue.onSubmittedWorkDone(); // Chromium sends calls on only when there is work for the GPU
    };
    await fault();
    await told;
    expect(errors).toEqual([
      expect.objectContaining({ code: "kernel-failed", message: expect.stringContaining("the GPU reported") }),
    ]);
    gpu.close();
    await fault().catch(() => undefined); // the device is gone with it
    expect(errors.length).toBe(1);
  });
});

test("kernels of the GPU tiers run on a device with default limits and no features", async () => {
  const device = await plainDevice();
  expect(device.limits).toMatchObject({
    maxStorageBuffersPerShaderStage: 8,
    maxComputeWorkgroupStorageSize: 16384,
    maxComputeInvocationsPerWorkgroup: 256,
  });
  const gpu = new GpuHarness();
  await gpu.open({ device });
  const context = gpu.context("workgroup");
  const width = 32;
  const ones = new Float32Array(64 * width).fill(1);
  const sequences = gpu.record();
  const y = gpu.empty(width * 4);
  const matrix = gpu.matrix("q8", ones, 64, width);
  const gated = {
    label: "gated",
    matrix: matrix.part,
    bias: gpu.upload(ones),
    epilogue: { kind: "gated", activation: "gelu" } as const,
    outputs: 32,
    x: gpu.upload(ones),
  };
  const [heads, headDim, splits] = [1, 128, context.tier.attentionSplits];
  const cache = () => gpu.empty(cacheBytes(heads * headDim, 4, "f16"));
  const vocabSize = 32;
  const perId = () => gpu.empty(vocabSize * 4);
  const list = await Promise.all([
    // The most bindings; the most workgroup memory; the most of both a kernel with barriers has; the most invocations.
    gemv(context, { ...gated, y, sequences, norm: { kind: "layer", eps: 1, weights: gpu.upload(ones) } }),
    gemm(context, { ...gated, y: gpu.empty(width * 4), chunk: gpu.chunk(0, new Uint32Array(1)), rows: 1 }),
    attentionDecode(context, {
      sequences,
      layer: {
        headCount: heads,
        keyValueHeadCount: heads,
        headDim,
        scale: 1,
        rope: { pairing: "half-split", pairs: 64, table: gpu.empty(4 * 64 * 8) },
        kv: { format: "f16", capacity: 4, keys: cache(), values: cache() },
      },
      qkv: gpu.empty(3 * headDim * 4),
      partials: gpu.empty(partialsBytes(heads, headDim, splits)),
      y: gpu.empty(headDim * 4),
    }),
    sampleDispatches(
      context,
      {
        sequences: gpu.record(),
        logits: perId(),
        scores: perId(),
        bias: perId(),
        usage: perId(),
        summaries: gpu.empty(context.tier.logitSlices * SUMMARY_BYTES),
        top: gpu.empty(160),
        vocabSize,
      },
      { adjusted: true, lookback: false, processed: false, masked: false, shaped: false, statistics: false, top: true },
    ),
  ]);
  gpu.run(list.flat());
  // A row of equal values has norm 0, and the shift of 1 goes through; gelu(33) is 33.
  const product = width * (matrix.values[0] ?? NaN) + 1;
  expectRows(await gpu.floats(y, 32), new Float32Array(32).fill(product ** 2), 32, F32_SUMS);
  expect(await gpu.takeErrors()).toEqual([]);
  await gpu.release();
  gpu.close();
  device.destroy();
});

test("the tier is chosen among those that run here, by timing", async () => {
  const gpu = await opened();
  const only = { ...gpu, tiers: gpu.tiers.filter(({ reduction }) => reduction === "workgroup") };
  expect(await chooseTier(only)).toBe(only.tiers[0]);
  expect(gpu.tiers).toContain(await chooseTier(gpu));
});
