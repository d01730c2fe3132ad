import { describe, expect, test, vi } from "vitest";
import { gpuHarness } from "../testing/gpu-harness";
import { BufferArena } from "./buffers";
import { gridOf, PipelineCache, pipelinesOf, read, replay, write, type KernelSource } from "./pipelines";
import { ReadbackRing } from "./readback-ring";
import { f32 } from "./wgsl";

const gpu = gpuHarness();

const ADD = `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) workgroup: vec3u) { y[workgroup.x] += x[workgroup.x] + ADDEND; }
`;
const files = (text: Record<string, string>) => new Map(Object.entries(text));
const source = (addend: number, file = "add"): KernelSource => ({
  file,
  defines: {},
  constants: { ADDEND: f32(addend) },
});
const grid = (rows: number) => [rows, 1, 1] as const;

test("these tests notice an error of the device, and which test it came from", async () => {
  gpu.device.createBuffer({ label: "faulty", size: 16, usage: 0 }).destroy();
  expect(await gpu.takeErrors()).toEqual([expect.objectContaining({ code: "kernel-failed" })]);
  expect(await gpu.takeErrors()).toEqual([]);
});

describe("PipelineCache", () => {
  test("compiles each kernel, with its constants, once", async () => {
    const compile = vi.spyOn(gpu.device, "createComputePipelineAsync");
    const cache = new PipelineCache(gpu.device, files({ "add.wgsl": ADD }));
    const [x, y] = [gpu.upload(Float32Array.of(1, 2, 3)), gpu.empty(16)];
    const make = (addend: number) => cache.dispatch("add", source(addend), { 0: read(x), 3: write(y) }, grid);
    const [once, again, other] = await Promise.all([make(10), make(10), make(-0.5)]);
    expect(compile).toHaveBeenCalledTimes(2);
    expect(again.pipeline).toBe(once.pipeline);
    expect(other.pipeline).not.toBe(once.pipeline);
    compile.mockRestore();

    gpu.run([once, again, other], 3); // in order, each seeing what the one before wrote
    expect([...(await gpu.floats(y, 4))]).toEqual([22.5, 25.5, 28.5, 0]);
  });

  test("constants that f32 holds only just reach the kernel", async () => {
    const keep = ADD.replace("+= x[workgroup.x] + ADDEND", "= ADDEND");
    const cache = new PipelineCache(gpu.device, files({ "keep.wgsl": keep }));
    const [x, y] = [gpu.empty(16), gpu.empty(16)];
    for (const value of [1e-30, -0.1, 3e38, 16777216, 1e-38]) {
      const bindings = { 0: read(x), 3: write(y) };
      gpu.run([await cache.dispatch("keep", source(value, "keep"), bindings, grid)]);
      expect((await gpu.floats(y, 1))[0]).toBe(Math.fround(value));
    }
  });

  test("a shader that does not compile is named with file and line, in an included file, too", async () => {
    const broken = ADD.replace("ADDEND; }", "NOTHING; }");
    const cache = new PipelineCache(
      gpu.device,
      files({
        "add.wgsl": broken,
        "outer.wgsl": '// comment\n#include "lib/part.wgsl"',
        "lib/part.wgsl": "\n\nfn f( {",
      }),
    );
    const bindings = { 0: read(gpu.empty(16)), 3: write(gpu.empty(16)) };
    const failure = (message: RegExp): unknown =>
      expect.objectContaining({ code: "kernel-failed", message: expect.stringMatching(message) });
    await expect(cache.dispatch("add", source(1), bindings, grid)).rejects.toEqual(
      failure(/^shaders\/add\.wgsl:5:\d+ error: .*NOTHING/m),
    );
    await expect(cache.dispatch("outer", source(1, "outer"), bindings, grid)).rejects.toEqual(
      failure(/^shaders\/lib\/part\.wgsl:3:\d+ error/m),
    );
  });

  test("a kernel that does not fit its bindings is kernel-failed, with its file", async () => {
    const cache = new PipelineCache(gpu.device, files({ "add.wgsl": ADD }));
    const bindings = { 0: read(gpu.empty(16)), 2: write(gpu.empty(16)) };
    await expect(cache.dispatch("add", source(1), bindings, grid)).rejects.toMatchObject({
      code: "kernel-failed",
      message: expect.stringContaining("shaders/add.wgsl"),
    });
  });

  test("one device has one cache", () => {
    expect(pipelinesOf(gpu.device)).toBe(pipelinesOf(gpu.device));
  });
});

test("replay sets a pipeline only where it changes, and asks each grid for the rows", async () => {
  const cache = new PipelineCache(gpu.device, files({ "add.wgsl": ADD }));
  const bindings = { 0: read(gpu.empty(16)), 3: write(gpu.empty(16)) };
  const [a, b] = await Promise.all([1, 2].map((addend) => cache.dispatch("add", source(addend), bindings, grid)));
  if (a === undefined || b === undefined) throw new Error("there are two");
  const pass = { setPipeline: vi.fn(), setBindGroup: vi.fn(), dispatchWorkgroups: vi.fn() };
  replay(pass as unknown as GPUComputePassEncoder, [a, a, b, a], 7);
  expect(pass.setPipeline.mock.calls).toEqual([[a.pipeline], [b.pipeline], [a.pipeline]]);
  expect(pass.setBindGroup).toHaveBeenCalledTimes(4);
  expect(pass.dispatchWorkgroups.mock.calls).toEqual(Array(4).fill([7, 1, 1]));
});

test.each([
  [1, [1, 1, 1]],
  [65535, [65535, 1, 1]],
  [65536, [65535, 2, 1]],
  [131071, [65535, 3, 1]],
])("%i workgroups make a grid of %j", (count, expected) => {
  expect(gridOf(count)).toEqual(expected);
});

describe("ReadbackRing", () => {
  test("hands out each buffer once, and again after it was read", async () => {
    const ring = new ReadbackRing(gpu.arena, 2, 16);
    const source = gpu.empty(16);
    const taken = [];
    for (const value of [7, 8]) {
      const buffer = ring.take();
      if (buffer === undefined) throw new Error("both were free");
      gpu.write(source, Uint32Array.of(value, value + 1));
      const encoder = gpu.device.createCommandEncoder({ label: "test" });
      encoder.copyBufferToBuffer(source, 0, buffer, 0, 16);
      gpu.device.queue.submit([encoder.finish()]);
      taken.push(buffer);
    }
    expect(ring.take()).toBeUndefined();
    const contents = await Promise.all(taken.map((buffer) => ring.read(buffer, 8)));
    expect(contents.map((bytes) => [...new Uint32Array(bytes)])).toEqual([
      [7, 8],
      [8, 9],
    ]);
    expect(new Set([ring.take(), ring.take()])).toEqual(new Set(taken));
  });
});

test("a buffer that the GPU has no room for is told by settled()", async () => {
  const arena = new BufferArena(gpu.device, "test");
  await arena.settled();
  const limit = gpu.device.limits.maxBufferSize;
  expect(() => arena.storage("too large", limit + 16)).toThrow(expect.objectContaining({ code: "device-limit" }));
  expect(arena.sizeBytes).toBe(0);
});
