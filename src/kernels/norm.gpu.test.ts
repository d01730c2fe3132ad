import { describe, expect, test } from "vitest";
import { add as addTo, layerNorm, rmsNorm } from "../backends/reference/operations";
import { at } from "../testing/at";
import { expectRows, F32_SUMS, gpuHarness, padded, TIERS } from "../testing/gpu-harness";
import { normalValues, seededRandom } from "../testing/random";
import { paddedWidth, type QueryKeyNormInput } from "./kernel";
import { norm, queryKeyNorm } from "./norm";

const gpu = gpuHarness();
const EPS = 1e-3; // large enough that leaving it out shows

function weightsOf(kind: "rms" | "layer", width: number) {
  const random = seededRandom(width);
  const weight = normalValues(random, width, 0.2, 1);
  const shift = kind === "layer" ? normalValues(random, width, 0.5) : new Float32Array(width);
  const both = new Float32Array([...weight, ...shift]);
  const input = { kind, eps: EPS, weights: gpu.upload(padded(both, width, paddedWidth(width))) };
  const expected = (x: Float32Array) => (kind === "rms" ? rmsNorm(x, weight, EPS) : layerNorm(x, weight, shift, EPS));
  return { input, expected };
}

describe.each(TIERS)("on the tier %s", (tier) => {
  // Both sides of a vector of 4, of the padding to 32, and of a workgroup of 64 vectors.
  test.each([
    ["rms", 1],
    ["layer", 1],
    ["rms", 31],
    ["layer", 32],
    ["rms", 33],
    ["layer", 35],
    ["rms", 260],
    ["layer", 261],
  ] as const)("%s norm of %i columns equals the reference, for a prompt's rows", async (kind, width) => {
    const { input, expected } = weightsOf(kind, width);
    const rows = 5;
    const x = normalValues(seededRandom(2), rows * width, 3, 1);
    x.fill(0, width, 2 * width); // a row of zeros gives the shift alone
    for (let i = 2 * width; i < 3 * width; i++) x[i] = 1e4 * (x[i] ?? 0); // outliers, whose squares f32 still holds
    const y = gpu.empty(rows * paddedWidth(width) * 4);
    const step = { kind: "prefill", chunk: gpu.chunk(0, new Uint32Array(rows)) } as const;
    gpu.run([await norm(gpu.context(tier), { step, norm: input, x: gpu.rows(x, width), y, rows, width })], rows);
    expectRows(await gpu.unpadded(y, rows, width), expected(x), width, F32_SUMS);
  });

  test.each(["rms", "layer"] as const)("%s norm of one token equals the reference", async (kind) => {
    const width = 100;
    const { input, expected } = weightsOf(kind, width);
    const x = normalValues(seededRandom(4), width, 0.01, kind === "layer" ? 10 : 0); // a large mean cancels
    const y = gpu.empty(paddedWidth(width) * 4);
    const step = { kind: "decode", sequences: gpu.record() } as const;
    gpu.run([await norm(gpu.context(tier), { step, norm: input, x: gpu.rows(x, width), y, rows: 1, width })]);
    // Subtracting a mean of 10 from values 0.01 apart leaves 1e-3 of f32's digits.
    expectRows(await gpu.unpadded(y, 1, width), expected(x), width, kind === "layer" ? 1e-4 : F32_SUMS);
  });
});

describe.each(TIERS)("on the tier %s", (tier) => {
  test.each([
    ["rms", 33, 1],
    ["layer", 35, -0.25],
  ] as const)("%s norm of %i columns is added with a factor of %f", async (kind, width, add) => {
    const { input, expected } = weightsOf(kind, width);
    const rows = 3;
    const x = normalValues(seededRandom(2), rows * width, 3, 1);
    const before = normalValues(seededRandom(3), rows * width);
    const y = gpu.rows(before, width);
    const step = { kind: "prefill", chunk: gpu.chunk(0, new Uint32Array(rows)) } as const;
    gpu.run([await norm(gpu.context(tier), { step, norm: input, x: gpu.rows(x, width), y, rows, width, add })], rows);
    expectRows(await gpu.unpadded(y, rows, width), addTo(before, expected(x), add), width, F32_SUMS);
  });

  // Both sides of a workgroup of 64; heads of q and k, or all of q (heads · width) and all of k at once.
  test.each([
    ["rms", "head", 4],
    ["layer", "head", 68],
    ["rms", "all", 64],
    ["layer", "all", 60],
  ] as const)(
    "query_key_norm, %s over %s, heads of %i, equals the reference and leaves v",
    async (kind, over, width) => {
      const [heads, kvHeads, rows] = [3, 2, 3];
      const random = seededRandom(width);
      const [queryWidth, keyWidth] = over === "head" ? [width, width] : [heads * width, kvHeads * width];
      const weights = [queryWidth, keyWidth].map((each) => ({
        weight: normalValues(random, each, 0.2, 1),
        shift: normalValues(random, each, 0.5),
      }));
      const row = (heads + 2 * kvHeads) * width;
      const before = normalValues(random, rows * row, 2, 0.5);
      const expected = Float32Array.from(before);
      for (let t = 0; t < rows; t++) {
        let first = t * row;
        [heads, kvHeads].forEach((count, index) => {
          const { weight, shift } = at(weights, index);
          const part = before.subarray(first, first + count * width);
          expected.set(kind === "rms" ? rmsNorm(part, weight, EPS) : layerNorm(part, weight, shift, EPS), first);
          first += count * width;
        });
      }
      const norm: QueryKeyNormInput = {
        kind,
        eps: EPS,
        query: { parts: over === "head" ? heads : 1, width: queryWidth },
        key: { parts: over === "head" ? kvHeads : 1, width: keyWidth },
        weights: gpu.upload(Float32Array.from(weights.flatMap(({ weight, shift }) => [...weight, ...shift]))),
      };
      const qkv = gpu.rows(before, row);
      const chunk = gpu.chunk(0, new Uint32Array(rows - 1), rows); // the last row is beyond the chunk
      const step = { kind: "prefill", chunk } as const;
      gpu.run([await queryKeyNorm(gpu.context(tier), { step, norm, qkv, rows, width: row })], rows);
      expected.set(before.subarray((rows - 1) * row), (rows - 1) * row);
      const y = await gpu.unpadded(qkv, rows, row);
      expectRows(y, expected, row, F32_SUMS);
      const ofValues = row - kvHeads * width;
      for (let t = 0; t < rows; t++) {
        expect(y.subarray(t * row + ofValues, (t + 1) * row)).toEqual(
          before.subarray(t * row + ofValues, (t + 1) * row),
        );
      }

      const [one, done] = [gpu.rows(before.subarray(0, row), row), gpu.upload(Uint32Array.of(0, 0, 0, 1), 256)];
      const decode = (sequences: GPUBuffer) =>
        queryKeyNorm(gpu.context(tier), { step: { kind: "decode", sequences }, norm, qkv: one, rows: 1, width: row });
      gpu.run([await decode(done)]);
      expect(await gpu.unpadded(one, 1, row)).toEqual(before.subarray(0, row));
      gpu.run([await decode(gpu.record())]);
      expectRows(await gpu.unpadded(one, 1, row), expected.subarray(0, row), row, F32_SUMS);
    },
  );
});

test("buffers too small for q, k and v, or for their norms' weights, are refused", () => {
  const norm = { kind: "rms", eps: EPS, query: { parts: 2, width: 8 }, key: { parts: 1, width: 8 } } as const;
  const shared = { step: { kind: "decode", sequences: gpu.record() }, rows: 1, width: 32 } as const;
  const kernel = (qkv: GPUBuffer, weights: GPUBuffer) => () =>
    queryKeyNorm(gpu.context("cpu"), { ...shared, qkv, norm: { ...norm, weights } });
  expect(kernel(gpu.empty(64), gpu.empty(128))).toThrow(/64 bytes, 128 are read/);
  expect(kernel(gpu.empty(128), gpu.empty(64))).toThrow(/64 bytes, 128 are read/);
});

test("rows beyond the chunk's, and a step past the end, write nothing", async () => {
  const width = 32;
  const { input } = weightsOf("rms", width);
  const x = gpu.upload(new Float32Array(3 * width).fill(1));
  const y = gpu.empty(3 * width * 4);
  const shared = { norm: input, x, y, width };
  const chunk = gpu.chunk(0, new Uint32Array(1), 3);
  const prefill = await norm(gpu.context("cpu"), { ...shared, step: { kind: "prefill", chunk }, rows: 3 });
  gpu.run([prefill], 3);
  expect((await gpu.floats(y)).map((value) => (value === 0 ? 0 : 1)).reduce((a, b) => a + b)).toBe(width);

  const done = gpu.upload(Uint32Array.of(0, 0, 0, 1), 256);
  const before = await gpu.words(y);
  gpu.write(x, new Float32Array(width).fill(7));
  gpu.run([await norm(gpu.context("cpu"), { ...shared, step: { kind: "decode", sequences: done }, rows: 1 })]);
  expect(await gpu.words(y)).toEqual(before);
});
