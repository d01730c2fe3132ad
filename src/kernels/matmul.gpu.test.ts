import { describe, expect, test } from "vitest";
import { activation, add, layerNorm, linear, logits, rmsNorm } from "../backends/reference/operations";
import { makeTier, type Reduction } from "../gpu/tier";
import {
  expectRows,
  F32_SUMS,
  gpuHarness,
  K_FORMATS,
  largestOfRows,
  padded,
  TIERS,
  WEIGHT_FORMATS,
} from "../testing/gpu-harness";
import { normalValues, seededRandom } from "../testing/random";
import type { HeldDtype } from "../formats/quantization";
import { DONE_OFFSET } from "../backends/gpu/sequence-record";
import { paddedWidth, RECORD_BYTES } from "./kernel";
import { gemm, gemv, type Epilogue } from "./matmul";

const gpu = gpuHarness();
const EPS = 1e-3;

const EPILOGUES: readonly (readonly [name: string, Epilogue])[] = [
  ["store", { kind: "store" }],
  ["residual", { kind: "residual" }],
  ["activation gelu_tanh", { kind: "activation", activation: "gelu_tanh" }],
  ["gated silu", { kind: "gated", activation: "silu" }],
];
/** Of one format, since none of them knows of formats; products are of size 1, so that the softcap is felt. */
const SCALED: readonly (readonly [name: string, Epilogue])[] = [
  ["residual of a factor", { kind: "residual", scale: 0.22 }],
  ["logits of a factor", { kind: "logits", scale: -0.5, softcap: undefined }],
  ["softcapped logits", { kind: "logits", scale: 1, softcap: 1.5 }],
];
const NORMS = [undefined, "rms", "layer"] as const;
type Norm = (typeof NORMS)[number];
// Both sides of a block of 4 rows and of a workgroup's 16; of a vector of 4, of a group of 32, of an odd number of groups.
const OUTPUTS = [1, 3, 4, 5, 15, 16, 17];
const INPUTS = [1, 31, 32, 33, 36, 64, 172];

interface Case {
  format: HeldDtype;
  epilogue: Epilogue;
  norm: Norm;
  bias: boolean;
  outputs: number;
  inputs: number;
}

/** Everything a product needs, uploaded, and what it must give, on the weights as the format holds them. */
function product({ format, epilogue, norm, bias: withBias, outputs, inputs }: Case, rows: number) {
  const random = seededRandom(1000 * outputs + inputs);
  const gated = epilogue.kind === "gated";
  const matrixRows = gated ? 2 * outputs : outputs;
  const raw = normalValues(random, matrixRows * inputs, 1 / Math.sqrt(inputs));
  const { part, values: weights } = gpu.matrix(format, raw, matrixRows, inputs);
  const bias = withBias ? normalValues(random, matrixRows, 0.5) : undefined;
  const x = normalValues(random, rows * inputs, 2, 0.3);
  const before = normalValues(random, rows * outputs);
  const normWeight = normalValues(random, inputs, 0.2, 1);
  const normShift = norm === "layer" ? normalValues(random, inputs, 0.3) : new Float32Array(inputs);

  let input: Float32Array | Float64Array = x;
  if (norm === "rms") input = rmsNorm(x, normWeight, EPS);
  if (norm === "layer") input = layerNorm(x, normWeight, normShift, EPS);
  const all = linear(input, weights, bias, inputs);
  const half = (first: number) =>
    Float64Array.from({ length: rows * outputs }, (_, i) => {
      const [row, column] = [Math.floor(i / outputs), i % outputs];
      return all[row * matrixRows + first + column] ?? NaN;
    });
  const [gates, ups] = gated ? [half(0), half(outputs)] : [all, all];
  let expected = all;
  if (epilogue.kind === "residual") expected = add(before, all, epilogue.scale);
  if (epilogue.kind === "logits") expected = logits(all, epilogue.scale, epilogue.softcap);
  if (epilogue.kind === "activation") expected = activation(all, undefined, epilogue.activation);
  if (epilogue.kind === "gated") expected = activation(gates, ups, epilogue.activation);
  // An activation's tail is small where what it was made of, and the rounding of that, is not.
  let scale = largestOfRows(expected, outputs);
  if (epilogue.kind === "activation") scale = largestOfRows(all, outputs);
  if (gated) scale = largestOfRows(gates, outputs).map((gate, row) => gate * (largestOfRows(ups, outputs)[row] ?? 0));

  return {
    expected,
    scale,
    raw,
    y: gpu.rows(before, outputs),
    before,
    options: {
      label: "product",
      matrix: part,
      bias: bias && gpu.upload(bias),
      epilogue,
      outputs,
      x: gpu.rows(x, inputs),
    },
    norm:
      norm &&
      ({
        kind: norm,
        eps: EPS,
        weights: gpu.upload(padded([...normWeight, ...normShift], inputs, paddedWidth(inputs))),
      } as const),
  };
}

/** Each format with each epilogue; norms, biases and sizes go round, so that each meets each format. */
const pairs = (offset: number): [string, Case][] =>
  WEIGHT_FORMATS.flatMap((format, f) =>
    EPILOGUES.map(([name, epilogue], e): [string, Case] => {
      const i = f * EPILOGUES.length + e + offset;
      const [norm, bias] = [NORMS[(f + e) % 3], (f + e + offset) % 2 === 0];
      const [outputs, inputs] = [OUTPUTS[i % 7] ?? 1, INPUTS[(3 * i + f) % 7] ?? 1];
      const sizes = `${outputs} × ${inputs}`;
      const title = `${format}, ${name}, norm ${norm ?? "none"}, ${bias ? "bias" : "no bias"}, ${sizes}`;
      return [title, { format, epilogue, norm, bias, outputs, inputs }];
    }),
  );

describe.each(TIERS.map((tier, index): [Reduction, number] => [tier, index]))(
  "gemv on the tier %s equals the reference for",
  (tier, index) => {
    test.each(pairs(3 * index))("%s", async (_, options) => {
      const { expected, scale, options: shared, y, norm } = product(options, 1);
      gpu.run([await gemv(gpu.context(tier), { ...shared, y, norm, sequences: gpu.record() })]);
      expectRows(await gpu.unpadded(y, 1, options.outputs), expected, options.outputs, F32_SUMS, scale);
    });

    test.each(SCALED)("f32, %s", async (_, epilogue) => {
      const options = { format: "f32", epilogue, norm: "rms", bias: true, outputs: 17, inputs: 36 } as const;
      const { expected, scale, options: shared, y, norm } = product(options, 1);
      gpu.run([await gemv(gpu.context(tier), { ...shared, y, norm, sequences: gpu.record() })]);
      expectRows(await gpu.unpadded(y, 1, 17), expected, 17, F32_SUMS, scale);
    });

    test("more blocks of rows than there are to work on them", async () => {
      const gemvRows = { subgroups: 128, workgroup: 8, cpu: 32 }[tier];
      const options = {
        format: "f16",
        epilogue: { kind: "gated", activation: "silu" },
        norm: "rms",
        bias: false,
      } as const;
      const { expected, scale, options: shared, y, norm } = product({ ...options, outputs: 131, inputs: 33 }, 1);
      const context = gpu.context({ ...makeTier(tier, false), gemvRows });
      gpu.run([await gemv(context, { ...shared, y, norm, sequences: gpu.record() })]);
      expectRows(await gpu.unpadded(y, 1, 131), expected, 131, F32_SUMS, scale);
    });

    test("2049 outputs of 2048 inputs", async () => {
      const options = { format: "q8", epilogue: { kind: "store" }, norm: "rms", bias: false } as const;
      const { expected, options: shared, y, norm } = product({ ...options, outputs: 2049, inputs: 2048 }, 1);
      gpu.run([await gemv(gpu.context(tier), { ...shared, y, norm, sequences: gpu.record() })]);
      expectRows(await gpu.unpadded(y, 1, 2049), expected, 2049, F32_SUMS);
    });
  },
);

/** Whole blocks: one, and several; the larger product has the two factors of a group in other places of its words. */
const K_CASES = Object.keys(K_FORMATS).map((format, i): [string, Case] => [
  format,
  {
    format: format as keyof typeof K_FORMATS, // a key of it
    epilogue: i === 1 ? { kind: "gated", activation: "silu" } : { kind: "residual" },
    norm: i === 0 ? undefined : "rms",
    bias: i === 2,
    outputs: 5 + i,
    inputs: i === 0 ? 768 : 256,
  },
]);

describe.each(TIERS)("on the tier %s, blocks of ggml's K types as they are", (tier) => {
  test.each(K_CASES)("gemv of %s equals the reference on ggml's values", async (_, options) => {
    const { expected, scale, options: shared, y, norm } = product(options, 1);
    gpu.run([await gemv(gpu.context(tier), { ...shared, y, norm, sequences: gpu.record() })]);
    expectRows(await gpu.unpadded(y, 1, options.outputs), expected, options.outputs, F32_SUMS, scale);
  });
});

// One kernel for both GPU tiers; the third is that of adapters that are a CPU, with quads.
describe.each(["workgroup", makeTier("cpu", false, true)] as const)("on the tier %o", (tier) => {
  test.each(K_CASES)("gemm of %s equals the reference on ggml's values", async (_, options) => {
    const rows = 3;
    const { outputs } = options;
    const { expected, scale, options: shared, y } = product({ ...options, norm: undefined }, rows);
    const chunk = gpu.chunk(0, new Uint32Array(rows));
    gpu.run([await gemm(gpu.context(tier), { ...shared, y, chunk, rows })], rows);
    expectRows(await gpu.unpadded(y, rows, outputs), expected, outputs, F32_SUMS, scale);
  });
});

const QUADS = makeTier("cpu", false, true);
/** Formats whose activations the four of a quad read for each other. */
const inQuads = (cases: [string, Case][]) => cases.filter(([, { format }]) => format === "q8" || format === "q4");

test.each([...inQuads(pairs(4)), ...inQuads(pairs(6))])(
  "gemv whose quads read for each other equals the reference for %s",
  async (_, options) => {
    const { expected, scale, options: shared, y, norm } = product(options, 1);
    gpu.run([await gemv(gpu.context(QUADS), { ...shared, y, norm, sequences: gpu.record() })]);
    expectRows(await gpu.unpadded(y, 1, options.outputs), expected, options.outputs, F32_SUMS, scale);
  },
);

/** A residual behind an RMS norm in q4, a gate behind a layer norm in q8, a gate behind an RMS norm in f16. */
const OF_ROWS = [13, 11, 7].map((at) => pairs(2)[at] as [string, Case]); // there are 16
describe.each([
  ["cpu", OF_ROWS.slice(1)],
  [QUADS, OF_ROWS.slice(0, 1)],
  ["workgroup", OF_ROWS.slice(0, 1)],
  ["subgroups", OF_ROWS.slice(1, 2)],
] as const)("gemv_rows on the tier %o equals the reference for", (tier, cases) => {
  test.each(cases)("%s, three sequences of which one is over", async (_, options) => {
    const [rows, over] = [3, 1];
    const { outputs } = options;
    const { expected, scale, options: shared, y, norm, before } = product(options, rows);
    const sequences = gpu.empty(rows * RECORD_BYTES);
    gpu.write(sequences, Uint32Array.of(1), over * RECORD_BYTES + DONE_OFFSET);
    gpu.run([await gemv(gpu.context(tier), { ...shared, y, norm, sequences, rows })], rows);
    const wanted = expected.slice();
    wanted.set(before.subarray(over * outputs, (over + 1) * outputs), over * outputs); // left alone
    expectRows(await gpu.unpadded(y, rows, outputs), wanted, outputs, F32_SUMS, scale);
  });
});

describe.each([
  ["gemm_registers", "cpu", pairs(0)],
  ["gemm_registers", QUADS, inQuads(pairs(3))],
  // One kernel for both GPU tiers, and slow to compile here: every third pair has each format and each epilogue.
  ["gemm", "workgroup", pairs(1).filter((_, i) => i % 3 === 0)],
  ["gemm", "subgroups", pairs(2).filter((_, i) => i === 11)],
] as const)("%s on the tier %o equals the reference for", (_kernel, tier, cases) => {
  // Both sides of a tile of 16 rows and of one of 32.
  test.each(cases.map(([name, each]): [string, Case] => [name.replace(/, norm \w+/, ""), each]))(
    "%s, chunks of 1 to 33 rows",
    async (_, options) => {
      const most = 33;
      const { outputs } = options;
      const { expected, scale, options: shared, y, before } = product({ ...options, norm: undefined }, most);
      const chunk = gpu.chunk(0, new Uint32Array(most));
      const dispatch = await gemm(gpu.context(tier), { ...shared, y, chunk, rows: most });
      for (const rows of [1, 15, 16, 17, 31, 32, 33]) {
        gpu.write(y, padded(before, outputs, paddedWidth(outputs)));
        gpu.setChunk(chunk, 0, new Uint32Array(rows));
        gpu.run([dispatch], rows);
        const all = await gpu.unpadded(y, most, outputs);
        expectRows(all.subarray(0, rows * outputs), expected.subarray(0, rows * outputs), outputs, F32_SUMS, scale);
        expect(all.subarray(rows * outputs)).toEqual(before.subarray(rows * outputs)); // rows beyond stay as they were
      }
    },
  );
});

describe.each(["cpu", "workgroup"] as const)("gemm on the tier %s equals the reference for", (tier) => {
  test.each(SCALED)("%s", async (_, epilogue) => {
    const [outputs, rows] = [5, 3];
    const options = { format: "f32", epilogue, norm: undefined, bias: true, outputs, inputs: 36 } as const;
    const { expected, scale, options: shared, y } = product(options, rows);
    const chunk = gpu.chunk(0, new Uint32Array(rows));
    gpu.run([await gemm(gpu.context(tier), { ...shared, y, chunk, rows })], rows);
    expectRows(await gpu.unpadded(y, rows, outputs), expected, outputs, F32_SUMS, scale);
  });
});

// Tiles of gemm are 64 (gated: 32) rows of the matrix; of gemm_registers 16.
test.each([
  ["workgroup", { kind: "store" }, 129],
  ["workgroup", { kind: "gated", activation: "silu" }, 65],
  ["cpu", { kind: "store" }, 33],
] as const)("gemm on the tier %s, %o, takes %i outputs, more than a tile", async (tier, epilogue, outputs) => {
  const rows = 3;
  const options = { format: "q4", epilogue, norm: undefined, bias: true, outputs, inputs: 65 } as const;
  const { expected, options: shared, y } = product(options, rows);
  const chunk = gpu.chunk(0, new Uint32Array(rows));
  gpu.run([await gemm(gpu.context(tier), { ...shared, y, chunk, rows })], rows);
  expectRows(await gpu.unpadded(y, rows, outputs), expected, outputs, F32_SUMS);
});

describe.each([
  ["cpu", "store", { kind: "store" }],
  ["workgroup", "gated", { kind: "gated", activation: "silu" }],
] as const)("on the tier %s", (tier, name, epilogue) => {
  test(`a matrix split by rows gives what the whole gives: ${name}`, async () => {
    const [outputs, inputs, border, rows] = [17, 33, 5, 2];
    const whole = product({ format: "q8", epilogue, norm: undefined, bias: true, outputs, inputs }, rows);
    const gated = epilogue.kind === "gated";
    const rowsOf = (first: number, count: number) => whole.raw.subarray(first * inputs, (first + count) * inputs);
    const split = [
      [0, border],
      [border, outputs - border],
    ].map(([first = 0, count = 0]) => {
      const values = gated ? [...rowsOf(first, count), ...rowsOf(outputs + first, count)] : rowsOf(first, count);
      return gpu.matrix("q8", Float32Array.from(values), gated ? 2 * count : count, inputs, first).part;
    });
    const chunk = gpu.chunk(0, new Uint32Array(rows));
    const context = gpu.context(tier);
    const decoded = gpu.rows(new Float32Array(outputs), outputs);
    const shared = { ...whole.options, norm: undefined, sequences: gpu.record() };
    gpu.run(await Promise.all(split.map((matrix) => gemv(context, { ...shared, matrix, y: decoded }))));
    expectRows(await gpu.unpadded(decoded, 1, outputs), whole.expected.subarray(0, outputs), outputs, F32_SUMS);

    const { y } = whole;
    gpu.run(
      await Promise.all(split.map((matrix) => gemm(context, { ...whole.options, matrix, y, chunk, rows }))),
      rows,
    );
    expectRows(await gpu.unpadded(y, rows, outputs), whole.expected, outputs, F32_SUMS);
  });

  test("each row of gemm is the gemv of that row", async () => {
    const [outputs, inputs, rows] = [17, 64, 5];
    const options = { format: "q4", norm: undefined, bias: true, outputs, inputs, epilogue } as const;
    const { options: shared, y } = product(options, rows);
    const context = gpu.context(tier);
    gpu.run([await gemm(context, { ...shared, y, chunk: gpu.chunk(0, new Uint32Array(rows)), rows })], rows);
    const together = await gpu.unpadded(y, rows, outputs);
    const xs = await gpu.unpadded(shared.x, rows, inputs);
    const [x, one] = [gpu.rows(new Float32Array(inputs), inputs), gpu.rows(new Float32Array(outputs), outputs)];
    const dispatch = await gemv(context, { ...shared, x, y: one, norm: undefined, sequences: gpu.record() });
    for (let row = 0; row < rows; row++) {
      gpu.write(x, xs.subarray(row * inputs, (row + 1) * inputs));
      gpu.run([dispatch]);
      const alone = await gpu.unpadded(one, 1, outputs);
      expectRows(together.subarray(row * outputs, (row + 1) * outputs), alone, outputs, F32_SUMS);
    }
  });
});

describe("activations", () => {
  // A matrix of ones times x: what is stored is activate(x), far out on both sides, where exp and tanh overflow.
  test.each(["silu", "gelu", "gelu_tanh"] as const)("%s is right from -100 to 100", async (kind) => {
    const xs = Float32Array.from([-100, -20, -10, -5, -3, -1, -0.1, -1e-6, 0, 1e-6, 0.1, 1, 3, 5, 10, 20, 100]);
    const matrix = gpu.matrix("f32", Float32Array.of(1), 1, 1).part;
    const rows = xs.length;
    const y = gpu.empty(rows * 32 * 4);
    const dispatch = await gemm(gpu.context("cpu"), {
      label: kind,
      matrix,
      bias: undefined,
      epilogue: { kind: "activation", activation: kind },
      outputs: 1,
      x: gpu.rows(xs, 1),
      y,
      chunk: gpu.chunk(0, new Uint32Array(rows)),
      rows,
    });
    gpu.run([dispatch], rows);
    const actual = await gpu.unpadded(y, rows, 1);
    const expected = activation(xs, undefined, kind);
    // erf of lib/activation is good to 1.5e-7 absolute, times |x| / 2; the others to a few units of f32.
    actual.forEach((value, i) => {
      const [x, e] = [xs[i] ?? NaN, expected[i] ?? NaN];
      expect(Math.abs(value - e), `${kind}(${x}) = ${value}, expected ${e}`).toBeLessThanOrEqual(
        1e-6 * Math.abs(e) + 2e-7 * Math.abs(x),
      );
    });
  });
});

test("extreme quants and a scale of zero come out as the format says", async () => {
  const inputs = 64;
  const values = new Float32Array(4 * inputs);
  for (let i = 0; i < inputs; i++) {
    values[i] = i % 2 === 0 ? 127 : -127;
    values[inputs + i] = i < 32 ? 0 : -8; // a group of zeros beside one of the lowest quants
    values[2 * inputs + i] = (i % 32) - 16;
    values[3 * inputs + i] = i === 63 ? 6e4 : 0; // a scale near the largest half float
  }
  const x = Float32Array.from({ length: inputs }, (_, i) => 1 + (i % 5));
  for (const format of ["q8", "q4"] as const) {
    const { part, values: held } = gpu.matrix(format, values, 4, inputs);
    const y = gpu.rows(new Float32Array(4), 4);
    const options = { label: format, matrix: part, norm: undefined, bias: undefined, outputs: 4 };
    const dispatch = await gemv(gpu.context("cpu"), {
      ...options,
      epilogue: { kind: "store" },
      x: gpu.rows(x, inputs),
      y,
      sequences: gpu.record(),
    });
    gpu.run([dispatch]);
    expectRows(await gpu.unpadded(y, 1, 4), linear(x, held, undefined, inputs), 1, F32_SUMS);
  }
});

test("more than 65535 workgroups are folded into two sides of the grid", async () => {
  const [outputs, inputs] = [4 * 65535 + 5, 4]; // two workgroups more than one side takes
  const weights = Float32Array.from({ length: outputs * inputs }, (_, i) => (i % 1013) - 500);
  const { part } = gpu.matrix("f32", weights, outputs, inputs);
  const x = Float32Array.of(1, 0, 0, -1); // whole numbers: exact
  const y = gpu.empty(paddedWidth(outputs) * 4);
  const tier = { ...makeTier("cpu", false), gemvRows: 4 };
  const dispatch = await gemv(gpu.context(tier), {
    label: "tall",
    matrix: part,
    norm: undefined,
    bias: undefined,
    epilogue: { kind: "store" },
    outputs,
    x: gpu.rows(x, inputs),
    y,
    sequences: gpu.record(),
  });
  expect(dispatch.grid(1)).toEqual([65535, 2, 1]);
  gpu.run([dispatch]);
  const expected = Float32Array.from({ length: outputs }, (_, r) => (weights[4 * r] ?? 0) - (weights[4 * r + 3] ?? 0));
  expect(await gpu.unpadded(y, 1, outputs)).toEqual(expected);
});

test("a step past the end adds nothing to the residual stream", async () => {
  const { options, y, before } = product(
    { format: "f32", epilogue: { kind: "residual" }, norm: undefined, bias: true, outputs: 5, inputs: 4 },
    1,
  );
  const done = gpu.upload(Uint32Array.of(0, 0, 0, 1), 256);
  gpu.run([await gemv(gpu.context("cpu"), { ...options, y, norm: undefined, sequences: done })]);
  expect(await gpu.unpadded(y, 1, 5)).toEqual(before);
});

test("buffers too small for their shape are refused before the GPU reads past their end", async () => {
  const { options, y } = product(
    { format: "f32", epilogue: { kind: "store" }, norm: undefined, bias: false, outputs: 5, inputs: 40 },
    1,
  );
  const shared = { ...options, y, x: gpu.empty(16) };
  const sequences = gpu.record();
  expect(() => gemv(gpu.context("cpu"), { ...shared, norm: undefined, sequences })).toThrow(/16 bytes, 256 are read/);
  expect(() => gemm(gpu.context("cpu"), { ...shared, chunk: sequences, rows: 2 })).toThrow(/16 bytes, 512 are read/);
});
