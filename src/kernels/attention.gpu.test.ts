import { describe, expect, test } from "vitest";
import * as reference from "../backends/reference/operations";
import type { Values } from "../backends/reference/operations";
import { f16ToNumber, numberToF16 } from "../formats/floats";
import { makeTier, type Tier } from "../gpu/tier";
import { inverseFrequencies, ropeTable } from "../models/rope-frequencies";
import type { RopeSpec } from "../models/decoder-spec";
import { at } from "../testing/at";
import { expectRows, F16_CACHE, F32_SUMS, gpuHarness, TIERS } from "../testing/gpu-harness";
import { normalValues, seededRandom } from "../testing/random";
import {
  attentionDecode,
  attentionPrefill,
  cacheBytes,
  kvWrite,
  partialsBytes,
  type AttentionLayer,
  type KvFormat,
} from "./attention";
import { paddedWidth, type QueryKeyNormInput } from "./kernel";
import { queryKeyNorm } from "./norm";

const gpu = gpuHarness();
/** Two more than a tile of 64 positions. */
const CAPACITY = 66;
/** Both sides of one position a split (8), of a tile (64), and the last there is room for. */
const LENGTHS = [1, 7, 8, 9, 63, 64, 65, CAPACITY];

interface Shape {
  heads: number;
  kvHeads: number;
  headDim: number;
  pairing: RopeSpec["pairing"] | undefined;
  /** Of the head, rotated. */
  rotary: number;
  kv: KvFormat;
  window?: number;
  softcap?: number;
  /** Of each head of q and k. */
  norm?: "rms" | "layer";
}

const shape = (
  [heads, kvHeads]: [number, number],
  headDim: number,
  pairing: Shape["pairing"],
  rotary: number,
  kv: KvFormat,
  more: Pick<Shape, "window" | "softcap" | "norm"> = {},
): [string, Shape] => [
  [
    `${heads} heads on ${kvHeads} of ${headDim}, ${pairing ?? "no RoPE"} ${rotary}, ${kv} cache`,
    ...Object.entries(more).map(([name, value]) => `${name} ${value}`),
  ].join(", "),
  { heads, kvHeads, headDim, pairing, rotary, kv, ...more },
];

// Each head size, one to four heads on a key/value head, each rotation, each cache.
const SHAPES = [
  shape([2, 2], 4, "half-split", 4, "f32"),
  shape([3, 1], 8, "interleaved", 8, "f16"),
  shape([4, 1], 16, undefined, 0, "f32"),
  shape([6, 2], 32, "half-split", 16, "f16"),
  shape([2, 2], 64, "interleaved", 32, "f32"),
  shape([4, 1], 80, "half-split", 80, "f16"),
  // LENGTHS are on both sides of these windows; scores reach 3 to 5, so that a softcap is felt.
  shape([6, 2], 16, "half-split", 8, "f16", { window: 8, softcap: 1.5, norm: "rms" }),
  shape([2, 2], 20, "interleaved", 20, "f32", { window: 64, norm: "layer" }),
  shape([2, 1], 256, "half-split", 256, "f16", { norm: "rms" }),
];

const NORM_EPS = 0.1; // large enough that leaving it out shows

/** What a cache holds of a value. */
const held = (format: KvFormat, values: Float32Array) =>
  format === "f32" ? values : values.map((value) => f16ToNumber(numberToF16(value)));

/** [kv heads, capacity, headDim] in the GPU's layout, of [capacity, kv heads, headDim]; and back. */
function transposed(values: Float32Array, outer: number, inner: number, headDim: number): Float32Array {
  const y = new Float32Array(values.length);
  for (let a = 0; a < outer; a++) {
    for (let b = 0; b < inner; b++) {
      const from = (a * inner + b) * headDim;
      y.set(values.subarray(from, from + headDim), (b * outer + a) * headDim);
    }
  }
  return y;
}

function pack(format: KvFormat, values: Float32Array): Float32Array | Uint32Array {
  if (format === "f32") return values;
  const words = new Uint32Array(values.length / 2);
  values.forEach((value, i) => {
    words[i >> 1] = (words[i >> 1] ?? 0) | (numberToF16(value) << (16 * (i & 1)));
  });
  return words;
}

function unpack(format: KvFormat, words: Uint32Array, length: number): Float32Array {
  if (format === "f32") return new Float32Array(words.buffer, 0, length);
  return Float32Array.from({ length }, (_, i) => f16ToNumber(((words[i >> 1] ?? 0) >>> (16 * (i & 1))) & 0xffff));
}

/** One layer with a cache full of random keys and values, on the GPU and on the host. */
function layerOf({ heads, kvHeads, headDim, pairing, rotary, kv, window, softcap, norm: kind }: Shape) {
  const random = seededRandom(headDim);
  const rope: RopeSpec | undefined = pairing && {
    pairing,
    inverseFrequencies: inverseFrequencies(10000, rotary, undefined),
  };
  const filled = () => held(kv, normalValues(random, CAPACITY * kvHeads * headDim));
  const cache = { keys: filled(), values: filled() };
  const bytes = cacheBytes(kvHeads * headDim, CAPACITY, kv);
  const onGpu = (values: Float32Array) => pack(kv, transposed(values, CAPACITY, kvHeads, headDim));
  const layer: AttentionLayer = {
    headCount: heads,
    keyValueHeadCount: kvHeads,
    headDim,
    scale: 1 / Math.sqrt(headDim),
    window,
    softcap,
    rope: rope && { pairing: rope.pairing, pairs: rope.inverseFrequencies.length, table: uploadTable(rope) },
    kv: {
      format: kv,
      capacity: CAPACITY,
      keys: gpu.upload(onGpu(cache.keys), bytes),
      values: gpu.upload(onGpu(cache.values), bytes),
    },
  };
  const shape = { headCount: heads, keyValueHeadCount: kvHeads, headDim, scale: layer.scale, window, softcap };
  const width = kvHeads * headDim;
  const [qWeight, qShift, kWeight, kShift] = [1, 0, 1, 0].map((mean) =>
    kind === "rms" && mean === 0 ? new Float32Array(headDim) : normalValues(random, headDim, 0.3, mean),
  ) as [Float32Array, Float32Array, Float32Array, Float32Array]; // as many as the means
  const norm: QueryKeyNormInput | undefined = kind && {
    kind,
    eps: NORM_EPS,
    query: { parts: heads, width: headDim },
    key: { parts: kvHeads, width: headDim },
    weights: gpu.upload(Float32Array.of(...qWeight, ...qShift, ...kWeight, ...kShift)),
  };
  const normalize = (x: Float32Array, weight: Float32Array, shift: Float32Array): Values => {
    if (kind === undefined) return x;
    return kind === "rms" ? reference.rmsNorm(x, weight, NORM_EPS) : reference.layerNorm(x, weight, shift, NORM_EPS);
  };

  /** Rotates and appends rows of q · k · v from `start` on, and attends; all on the host, into `cache`. */
  const expected = (qkv: Float32Array, start: number): Float64Array => {
    const row = (heads + 2 * kvHeads) * headDim;
    const rows = qkv.length / row;
    const part = (first: number, count: number) =>
      Float32Array.from(
        { length: rows * count },
        (_, i) => qkv[Math.floor(i / count) * row + first + (i % count)] ?? NaN,
      );
    const rotate = (x: Values, headCount: number) =>
      rope === undefined ? Float64Array.from(x) : reference.rope(x, rope, { headCount, headDim, start });
    const q = rotate(normalize(part(0, heads * headDim), qWeight, qShift), heads);
    const k = Float32Array.from(rotate(normalize(part(heads * headDim, width), kWeight, kShift), kvHeads));
    cache.keys.set(held(kv, k), start * width);
    cache.values.set(held(kv, part((heads + kvHeads) * headDim, width)), start * width);
    return reference.attention(q, cache.keys, cache.values, { ...shape, start });
  };

  /** The caches as the GPU has them, [capacity, kv heads, headDim]. */
  const download = async () => {
    const back = async (buffer: GPUBuffer) =>
      transposed(
        unpack(kv, await gpu.words(buffer, bytes / 4), bytes / (kv === "f16" ? 2 : 4)),
        kvHeads,
        CAPACITY,
        headDim,
      );
    return { keys: await back(layer.kv.keys), values: await back(layer.kv.values) };
  };
  return { layer, norm, cache, expected, download, width, tolerance: kv === "f16" ? F16_CACHE : F32_SUMS };
}

function uploadTable(rope: RopeSpec): GPUBuffer {
  const { cos, sin } = ropeTable(rope, CAPACITY);
  const pairs = new Float32Array(2 * cos.length);
  cos.forEach((value, i) => pairs.set([value, sin[i] ?? NaN], 2 * i));
  return gpu.upload(pairs);
}

const qkvOf = ({ heads, kvHeads, headDim }: Shape, seed: number, rows = 1) =>
  normalValues(seededRandom(seed), rows * (heads + 2 * kvHeads) * headDim);

/** The dispatches of one decode step, and its buffers; `splits` of 1 leaves the combining out. */
async function decoder(
  tier: Tier,
  { heads, kvHeads, headDim }: Shape,
  { layer, norm }: Pick<ReturnType<typeof layerOf>, "layer" | "norm">,
) {
  const bytes = partialsBytes(heads, headDim, tier.attentionSplits);
  const sequences = gpu.record();
  const qkv = gpu.empty((heads + 2 * kvHeads) * headDim * 4);
  const y = gpu.empty(heads * headDim * 4);
  const partials = bytes === 0 ? undefined : gpu.empty(bytes);
  const list = await attentionDecode(gpu.context(tier), { sequences, layer, qkv, norm, partials, y });
  return async (position: number, values: Float32Array) => {
    gpu.setStep(sequences, position);
    gpu.write(qkv, values);
    gpu.run(list);
    return gpu.floats(y, heads * headDim);
  };
}

describe.each(TIERS)("attention_decode on the tier %s", (tier) => {
  test.each(SHAPES)(
    "equals the reference at every length, and changes nothing of the cache but its own position: %s",
    async (_, shape) => {
      const { layer, norm, cache, expected, download, width, tolerance } = layerOf(shape);
      const step = await decoder(makeTier(tier, false), shape, { layer, norm });
      for (const length of LENGTHS) {
        const qkv = qkvOf(shape, length);
        const before = { keys: cache.keys.slice(), values: cache.values.slice() };
        const y = await step(length - 1, qkv);
        expectRows(y, expected(qkv, length - 1), shape.headDim, tolerance);
        const after = await download();
        for (const name of ["keys", "values"] as const) {
          const [begin, end] = [(length - 1) * width, length * width];
          expectRows(after[name].subarray(begin, end), cache[name].subarray(begin, end), width, tolerance);
          // Later steps read what the GPU rounded itself.
          cache[name].set(after[name].subarray(begin, end), begin);
          expect(after[name].subarray(0, begin)).toEqual(before[name].subarray(0, begin));
          expect(after[name].subarray(end)).toEqual(before[name].subarray(end));
        }
      }
    },
  );

  test("one huge score takes all the weight, in whatever split and tile it is", async () => {
    const shape: Shape = { heads: 1, kvHeads: 1, headDim: 4, pairing: undefined, rotary: 0, kv: "f32" };
    const { layer, cache } = layerOf(shape);
    const step = await decoder(makeTier(tier, false), shape, { layer, norm: undefined });
    const loud = Float32Array.of(300, 300, 300, 300);
    for (const position of [0, 8, 63, 64]) {
      const keys = cache.keys.slice();
      keys.set(loud, 4 * position);
      gpu.write(layer.kv.keys, keys);
      // Scores of ±1e5 beside ones near 0: their exponentials are far outside f32.
      const y = await step(65, Float32Array.of(...loud, 0, 0, 0, 0, 9, 9, 9, 9));
      expectRows(y, cache.values.subarray(4 * position, 4 * position + 4), 4, F32_SUMS);
    }
  });
});

test("attention_combine makes of 8 splits of the context, and of 3, what it gives unsplit", async () => {
  const shape: Shape = { heads: 3, kvHeads: 1, headDim: 20, pairing: "half-split", rotary: 20, kv: "f32" };
  const onGpu = layerOf(shape);
  const steps = await Promise.all(
    [1, 3, 8].map((attentionSplits) => decoder({ ...makeTier("workgroup", false), attentionSplits }, shape, onGpu)),
  );
  for (const length of LENGTHS) {
    const ys = [];
    for (const step of steps) ys.push(await step(length - 1, qkvOf(shape, length)));
    const [unsplit = new Float32Array(), ...others] = ys;
    for (const y of others) expectRows(y, unsplit, shape.headDim, F32_SUMS);
  }
});

/** A prompt in chunks of these sizes; after each, its rows. */
async function prefill(
  tier: Tier,
  shape: Shape,
  { layer, norm }: Pick<ReturnType<typeof layerOf>, "layer" | "norm">,
  qkv: Float32Array,
  sizes: readonly number[],
) {
  const most = Math.max(...sizes);
  const row = (shape.heads + 2 * shape.kvHeads) * shape.headDim;
  const out = shape.heads * shape.headDim;
  const stride = paddedWidth(row);
  const chunk = gpu.chunk(0, new Uint32Array(most));
  const buffers = { chunk, layer, qkv: gpu.empty(most * stride * 4), rows: most };
  const y = gpu.empty(most * paddedWidth(out) * 4);
  const step = { kind: "prefill", chunk } as const;
  const list = await Promise.all([
    ...(norm ? [queryKeyNorm(gpu.context(tier), { step, norm, qkv: buffers.qkv, rows: most, width: row })] : []),
    kvWrite(gpu.context(tier), buffers),
    attentionPrefill(gpu.context(tier), { ...buffers, y }),
  ]);
  const all: number[] = [];
  let start = 0;
  for (const rows of sizes) {
    gpu.setChunk(chunk, start, new Uint32Array(rows));
    for (let t = 0; t < rows; t++) {
      gpu.write(buffers.qkv, qkv.subarray((start + t) * row, (start + t + 1) * row), t * stride * 4);
    }
    gpu.run(list, rows);
    all.push(...(await gpu.unpadded(y, most, out)).subarray(0, rows * out));
    start += rows;
  }
  return Float32Array.from(all);
}

describe.each(TIERS)("kv_write and attention_prefill on the tier %s", (tier) => {
  // Chunks on both sides of a workgroup of 64 rows (of 4, on the tier cpu) and of a tile of 8 keys.
  test.each([
    [...at(SHAPES, 0), [65, 1]],
    [...at(SHAPES, 3), [5, 4, 3, 8, 9]],
    [...at(SHAPES, 4), [9, 8, 1]],
    [...at(SHAPES, 6), [5, 4, 3, 8, 9]],
    [...at(SHAPES, 7), [65, 1]],
    [...at(SHAPES, 8), [9]],
  ] as const)("in chunks equals the reference, and the cache with it: %s", async (_, shape, sizes) => {
    const { layer, norm, cache, expected, download, width, tolerance } = layerOf(shape);
    const length = sizes.reduce((a: number, b) => a + b, 0);
    const qkv = qkvOf(shape, 5, length);
    const y = await prefill(makeTier(tier, false), shape, { layer, norm }, qkv, sizes);
    expectRows(y, expected(qkv, 0), shape.headDim, tolerance);
    const after = await download();
    for (const name of ["keys", "values"] as const) {
      expectRows(after[name].subarray(0, length * width), cache[name].subarray(0, length * width), width, tolerance);
      expect(after[name].subarray(length * width)).toEqual(cache[name].subarray(length * width));
    }
  });

  test.each<[string, Partial<Shape>, number]>([
    ["plain", { kv: "f16" }, 0],
    // Normalized by two kernels, whose roundings may differ.
    ["windowed, softcapped and normalized", { window: 5, softcap: 2, norm: "layer" }, F32_SUMS],
  ])("of n rows is n decode steps: %s", async (_, more, cacheTolerance) => {
    const shape: Shape = { heads: 4, kvHeads: 2, headDim: 8, pairing: "half-split", rotary: 4, kv: "f32", ...more };
    const [together, alone] = [layerOf(shape), layerOf(shape)];
    const length = 19;
    const qkv = qkvOf(shape, 6, length);
    const rows = await prefill(makeTier(tier, false), shape, together, qkv, [length]);
    const step = await decoder(makeTier(tier, false), shape, alone);
    const [row, out] = [(4 + 2 * 2) * 8, 4 * 8];
    for (let t = 0; t < length; t++) {
      const y = await step(t, qkv.subarray(t * row, (t + 1) * row));
      expectRows(rows.subarray(t * out, (t + 1) * out), y, shape.headDim, F32_SUMS); // both round keys the same way
    }
    const [ofChunk, ofSteps] = [await together.download(), await alone.download()];
    for (const name of ["keys", "values"] as const) {
      expectRows(ofChunk[name], ofSteps[name], shape.headDim, cacheTolerance);
    }
  });
});

test("values beyond a half float's range are kept as its largest, not as infinity", async () => {
  const shape: Shape = { heads: 1, kvHeads: 1, headDim: 4, pairing: undefined, rotary: 0, kv: "f16" };
  const { layer, download } = layerOf(shape);
  const step = await decoder(makeTier("cpu", false), shape, { layer, norm: undefined });
  const y = await step(0, Float32Array.of(0, 0, 0, 0, 1e5, -1e5, 65504, 1, 7e4, -7e4, 2, -3));
  expect([...y]).toEqual([65504, -65504, 2, -3]);
  expect([...(await download()).keys.subarray(0, 4)]).toEqual([65504, -65504, 65504, 1]);
});

test("a step past the end leaves output and cache alone", async () => {
  const shape: Shape = { heads: 2, kvHeads: 1, headDim: 4, pairing: undefined, rotary: 0, kv: "f32" };
  const { layer, cache, download } = layerOf(shape);
  for (const tier of TIERS) {
    const { attentionSplits } = makeTier(tier, false);
    const bytes = partialsBytes(2, 4, attentionSplits);
    const y = gpu.upload(new Float32Array(8).fill(5));
    const list = await attentionDecode(gpu.context(tier), {
      sequences: gpu.upload(Uint32Array.of(3, 0, 0, 1), 256),
      layer,
      qkv: gpu.upload(qkvOf(shape, 1)),
      partials: bytes === 0 ? undefined : gpu.empty(bytes),
      y,
    });
    gpu.run(list);
    expect([...(await gpu.floats(y))]).toEqual(Array(8).fill(5));
  }
  expect(await download()).toEqual(cache);
});

test("heads that are no multiple of 4 are refused", () => {
  const { layer } = layerOf({ heads: 1, kvHeads: 1, headDim: 4, pairing: undefined, rotary: 0, kv: "f32" });
  const chunk = gpu.chunk(0, new Uint32Array(1));
  const odd = { chunk, layer: { ...layer, headDim: 6 }, qkv: gpu.empty(128), rows: 1 };
  expect(() => kvWrite(gpu.context("cpu"), odd)).toThrow(
    expect.objectContaining({ code: "model-unsupported", message: expect.stringContaining("6 dimensions") }),
  );
});
