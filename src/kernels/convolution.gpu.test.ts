import { describe, expect, test } from "vitest";
import * as reference from "../backends/reference/operations";
import { f16ToNumber, numberToF16 } from "../formats/floats";
import { expectRows, F16_CACHE, F32_SUMS, gpuHarness, padded, TIERS } from "../testing/gpu-harness";
import { normalValues, seededRandom } from "../testing/random";
import { cacheBytes, type KvFormat } from "./attention";
import { convolution, type ConvolutionLayer } from "./convolution";
import { paddedWidth } from "./kernel";

const gpu = gpuHarness();
const CAPACITY = 14;

/** A layer on the GPU, the projections of CAPACITY rows, and what the reference makes of them. */
function layerOf(width: number, taps: number, format: KvFormat, hasBias: boolean) {
  const random = seededRandom(width + taps);
  const weight = normalValues(random, taps * width);
  const bias = hasBias ? normalValues(random, width) : undefined;
  const projections = normalValues(random, CAPACITY * 3 * width);
  const part = (index: number) =>
    Float32Array.from({ length: CAPACITY * width }, (_, i) => {
      const [row, column] = [Math.floor(i / width), i % width];
      return projections[row * 3 * width + index * width + column] ?? NaN;
    });
  const held = (value: number) => (format === "f32" ? value : f16ToNumber(numberToF16(value)));
  const gated = Float32Array.from(reference.multiply(part(0), part(2)), held);
  const layer: ConvolutionLayer = {
    width,
    taps,
    weight: gpu.upload(weight),
    bias: bias && gpu.upload(bias),
    kv: { format, capacity: CAPACITY, gated: gpu.empty(cacheBytes(width, CAPACITY, format)) },
  };
  return {
    layer,
    projections,
    gated,
    expected: reference.convolution(part(1), gated, weight, bias, { width, start: 0 }),
  };
}

describe.each(TIERS)("on the tier %s", (tier) => {
  // Both sides of a vector of 4, of the padding to 32 and of a workgroup of 64 vectors; taps on both sides of a chunk's
  // length, and more of them than there are positions.
  test.each([
    [4, 3, "f32", false],
    [36, 4, "f16", true],
    [256, 1, "f32", true],
    [260, 3, "f16", false],
    [32, 20, "f32", true],
  ] as const)(
    "%i columns with %i taps and a cache of %s equal the reference, in chunks, then token by token",
    async (width, taps, format, hasBias) => {
      const { layer, projections, gated, expected } = layerOf(width, taps, format, hasBias);
      const rowsOf = (first: number, rows: number) =>
        projections.subarray(first * 3 * width, (first + rows) * 3 * width);
      const tolerance = format === "f32" ? F32_SUMS : F16_CACHE;
      const context = gpu.context(tier);
      const check = async (y: GPUBuffer, first: number, rows: number) =>
        expectRows(
          await gpu.unpadded(y, rows, width),
          expected.subarray(first * width, (first + rows) * width),
          width,
          tolerance,
        );
      const chunk = gpu.chunk(0, new Uint32Array(0), 8);
      const many = gpu.empty(8 * paddedWidth(3 * width) * 4);
      const y = gpu.empty(8 * paddedWidth(width) * 4);
      const prefill = await convolution(context, {
        ...{ step: { kind: "prefill", chunk }, layer, projections: many, y, rows: 8 },
      });
      let start = 0;
      for (const rows of [1, 2, 8]) {
        gpu.setChunk(chunk, start, new Uint32Array(rows));
        gpu.write(many, padded(rowsOf(start, rows), 3 * width, paddedWidth(3 * width)));
        gpu.run([prefill], rows);
        await check(y, start, rows);
        start += rows;
      }
      const sequences = gpu.record();
      const one = gpu.empty(paddedWidth(3 * width) * 4);
      const decode = await convolution(context, {
        ...{ step: { kind: "decode", sequences }, layer, projections: one, y, rows: 1 },
      });
      // The last two again, as after going back.
      for (const position of [11, 12, 11, 12, 13]) {
        gpu.setStep(sequences, position);
        gpu.write(one, padded(rowsOf(position, 1), 3 * width, paddedWidth(3 * width)));
        gpu.run([decode]);
        await check(y, position, 1);
      }
      const words = await gpu.words(layer.kv.gated);
      const kept = Float32Array.from(gated, (_, i) =>
        format === "f32"
          ? (new Float32Array(words.buffer)[i] ?? NaN)
          : f16ToNumber(((words[i >> 1] ?? 0) >>> (16 * (i & 1))) & 0xffff),
      );
      expectRows(kept, gated, width, tolerance);
    },
  );
});

test("rows beyond the chunk's, and a step past the end, write nothing", async () => {
  const width = 32;
  const { layer, projections } = layerOf(width, 3, "f32", false);
  const y = gpu.empty(3 * width * 4);
  const shared = { layer, projections: gpu.upload(projections), y };
  const chunk = gpu.chunk(0, new Uint32Array(1), 3);
  gpu.run([await convolution(gpu.context("cpu"), { ...shared, step: { kind: "prefill", chunk }, rows: 3 })], 3);
  const before = [await gpu.words(y), await gpu.words(layer.kv.gated)];
  for (const words of before) expect(words.findLastIndex((word) => word !== 0)).toBeLessThan(width);

  const done = gpu.upload(Uint32Array.of(1, 0, 0, 1), 256);
  gpu.run([await convolution(gpu.context("cpu"), { ...shared, step: { kind: "decode", sequences: done }, rows: 1 })]);
  expect([await gpu.words(y), await gpu.words(layer.kv.gated)]).toEqual(before);
});

test("a width that is no multiple of 4 is refused, and buffers that are too small", () => {
  const { layer } = layerOf(32, 3, "f32", true);
  const step = { kind: "decode", sequences: gpu.record() } as const;
  const [projections, y] = [gpu.empty(96 * 4), gpu.empty(32 * 4)];
  const kernel =
    (changes: Partial<ConvolutionLayer>, out = y) =>
    () =>
      convolution(gpu.context("cpu"), { step, layer: { ...layer, ...changes }, projections, y: out, rows: 1 });
  expect(kernel({ width: 30 })).toThrow("30 columns: the WebGPU kernels want a multiple of 4");
  expect(kernel({ taps: 4 })).toThrow(/384 bytes, 512 are read/);
  expect(kernel({ kv: { ...layer.kv, capacity: 15 } })).toThrow(/1792 bytes, 1920 are read/);
  expect(kernel({ bias: gpu.empty(64) })).toThrow(/64 bytes, 128 are read/);
  expect(kernel({}, gpu.empty(64))).toThrow(/64 bytes, 128 are read/);
});
