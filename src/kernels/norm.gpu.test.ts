import { describe, expect, test } from "vitest";
import { layerNorm, rmsNorm } from "../backends/reference/operations";
import { expectRows, F32_SUMS, gpuHarness, padded, TIERS } from "../testing/gpu-harness";
import { normalValues, seededRandom } from "../testing/random";
import { paddedWidth } from "./kernel";
import { norm } from "./norm";

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
