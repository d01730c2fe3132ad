import { describe, expect, test } from "vitest";
import { inverseFrequencies, ropeTable } from "../../models/rope-frequencies";
import { at } from "../../testing/at";
import { expectClose } from "../../testing/compare";
import { normalValues, seededRandom } from "../../testing/random";
import {
  activation,
  add,
  attention,
  convolution,
  embed,
  erf,
  gelu,
  geluTanh,
  layerNorm,
  linear,
  logits,
  multiply,
  rmsNorm,
  rope,
  silu,
} from "./operations";

const random = seededRandom(7);

test.each([
  // From the C library's erf.
  [0, 0],
  [1e-10, 1.1283791670955126e-10],
  [0.1, 0.1124629160182849],
  [0.5, 0.5204998778130465],
  [1, 0.8427007929497149],
  [-1, -0.8427007929497149],
  [2, 0.9953222650189527],
  [3, 0.9999779095030014],
  [4.5, 0.9999999998033839],
  [5.99, 1],
  [6, 1],
  [-40, -1],
  [Infinity, 1],
])("erf(%f) is %f to 1e-14", (x, expected) => expectClose([erf(x)], [expected], { absolute: 1e-14, relative: 1e-14 }));

test("erf of NaN is NaN", () => expect(erf(NaN)).toBeNaN());

test("the two forms of GELU differ by less than 5e-4, and by more than 1e-4 somewhere", () => {
  const differences = Array.from({ length: 801 }, (_, i) => i / 100 - 4).map((x) => Math.abs(gelu(x) - geluTanh(x)));
  expect(Math.max(...differences)).toBeLessThan(5e-4);
  expect(Math.max(...differences)).toBeGreaterThan(1e-4);
});

test.each([
  [silu, 1, 0.7310585786300049],
  [silu, -1000, 0],
  [gelu, 1, 0.8413447460685429],
  [gelu, -2, -0.04550026389635842],
  [geluTanh, 1, 0.8411919906082768],
  [geluTanh, -100, 0],
])("%o(%f) is %f", (f, x, expected) => expectClose([f(x)], [expected], { absolute: 1e-14 }));

test("activation multiplies by up where there is one", () => {
  expectClose(activation(Float64Array.of(1, -1), Float64Array.of(2, 4), "silu"), [2 * silu(1), 4 * silu(-1)], {});
  expectClose(activation(Float64Array.of(1, -1), undefined, "gelu_tanh"), [geluTanh(1), geluTanh(-1)], {});
});

test("embed takes a token's row, scaled, plus its position's row", () => {
  const table = Float32Array.of(1, 2, 3, 4, 5, 6);
  const positions = Float32Array.of(10, 20, 30, 40, 50, 60);
  const shape = { scale: 2, start: 1, width: 2 };
  expect([...embed(table, positions, Uint32Array.of(2, 0), shape)]).toEqual([40, 52, 52, 64]);
  expect([...embed(table, undefined, Uint32Array.of(2), shape)]).toEqual([10, 12]);
});

test("rms_norm of a row of equal values gives the weights, less eps", () => {
  const y = rmsNorm(Float64Array.of(3, 3, 0, 0), Float32Array.of(1, 2), 1);
  expectClose(y, [3 / Math.sqrt(10), 6 / Math.sqrt(10), 0, 0], { relative: 1e-15 });
});

test("layer_norm gives mean = bias and variance 1, whatever the row's offset and scale", () => {
  const x = Float64Array.of(1, 2, 3, 4);
  const weight = new Float32Array(4).fill(1);
  const root = Math.sqrt(5);
  const expected = [-3 / root, -1 / root, 1 / root, 3 / root];
  expectClose(layerNorm(x, weight, undefined, 0), expected, { relative: 1e-14 });
  const moved = x.map((value) => 1e4 + 100 * value);
  expectClose(
    layerNorm(moved, weight, Float32Array.of(1, 1, 1, 1), 0),
    expected.map((value) => value + 1),
    {
      relative: 1e-10,
    },
  );
});

test("linear multiplies by rows of the weight, and adds the bias", () => {
  const weight = Float32Array.of(1, 2, 3, 4, 5, 6); // [2, 3]
  const y = linear(Float64Array.of(1, 0, -1, 2, 1, 0), weight, Float32Array.of(10, 20), 3);
  expect([...y]).toEqual([8, 18, 14, 33]);
});

test("head_norm is rms_norm of each head on its own: a row is as wide as the weight", () => {
  const y = rmsNorm(Float64Array.of(3, 4, 0, 2), Float32Array.of(1, 10), 0);
  expectClose(y, [3 / Math.sqrt(12.5), 40 / Math.sqrt(12.5), 0, 20 / Math.sqrt(2)], { relative: 1e-15 });
});

test("logits are scaled, and then capped", () => {
  expect([...logits(Float64Array.of(2, -4), 0.5, undefined)]).toEqual([1, -2]);
  const capped = logits(Float64Array.of(2, 1e9, -1e9), 0.5, 3);
  expectClose(capped, [3 * Math.tanh(1 / 3), 3, -3], { relative: 1e-15 });
});

test("add scales what it adds, and leaves its inputs alone", () => {
  const x = Float64Array.of(1, 2);
  expect([...add(x, Float64Array.of(3, 4), 0.5)]).toEqual([2.5, 4]);
  expect([...x]).toEqual([1, 2]);
});

describe("a gated short convolution", () => {
  // Two columns, three taps, the last of them the position's own.
  const weight = Float64Array.of(1, 0, 10, 0, 100, 5);
  const gated = Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8); // of four positions
  const gate = Float64Array.of(1, -1, 1, -1, 2, 1, 1, 1);

  test("sums the last positions, none before the first, and is multiplied by the output gate", () => {
    const y = convolution(gate, gated, weight, undefined, { width: 2, start: 0 });
    expect([...y]).toEqual([100, -10, 310, -20, 2 * 531, 30, 753, 40]);
  });

  test("adds the bias before the gate; a row at a later position sees those before it", () => {
    const y = convolution(gate.subarray(4, 6), gated, weight, Float64Array.of(0.5, -1), { width: 2, start: 2 });
    expect([...y]).toEqual([2 * 531.5, 29]);
  });

  test("its gate before it is a product, number by number", () => {
    expect([...multiply(Float64Array.of(2, 3), Float32Array.of(5, -1))]).toEqual([10, -3]);
  });
});

describe("rope", () => {
  const frequencies = inverseFrequencies(10000, 4, undefined); // 1, 0.01
  const shape = { headCount: 1, headDim: 6, start: 3 };
  const x = Float64Array.of(1, 0, 0, 1, 7, 8);

  test("half-split turns (0, 2) and (1, 3), and leaves the rest", () => {
    const y = rope(x, { inverseFrequencies: frequencies, pairing: "half-split" }, shape);
    expectClose(y, [Math.cos(3), -Math.sin(0.03), Math.sin(3), Math.cos(0.03), 7, 8], { absolute: 1e-15 });
  });

  test("interleaved turns (0, 1) and (2, 3)", () => {
    const y = rope(x, { inverseFrequencies: frequencies, pairing: "interleaved" }, shape);
    expectClose(y, [Math.cos(3), Math.sin(3), -Math.sin(0.03), Math.cos(0.03), 7, 8], { absolute: 1e-15 });
  });

  test("a magnitude multiplies what turns, and nothing else", () => {
    const spec = { inverseFrequencies: frequencies, pairing: "half-split" as const };
    const plain = rope(x, spec, shape);
    const larger = rope(x, { ...spec, magnitude: 1.5 }, shape);
    expectClose(
      larger,
      plain.map((value, i) => (i < 4 ? 1.5 * value : value)),
      { relative: 1e-15 },
    );
  });

  test("products of rotated q and k depend on the distance of their positions only", () => {
    const spec = { inverseFrequencies: inverseFrequencies(500, 6, undefined), pairing: "half-split" as const };
    const [q, k] = [normalValues(random, 6), normalValues(random, 6)];
    const product = (qPosition: number, kPosition: number): number => {
      const turned = rope(q, spec, { ...shape, start: qPosition });
      const other = rope(k, spec, { ...shape, start: kPosition });
      return turned.reduce((sum, value, i) => sum + value * (other[i] ?? NaN), 0);
    };
    expectClose([product(1000, 990)], [product(10, 0)], { absolute: 1e-12 });
  });

  test("turns as the table says", () => {
    const spec = { inverseFrequencies: inverseFrequencies(10000, 6, undefined), pairing: "half-split" as const };
    const { cos, sin } = ropeTable(spec, 4);
    const y = rope(Float64Array.of(1, 1, 1, 0, 0, 0), spec, shape);
    expectClose(y, [...cos.subarray(9, 12), ...sin.subarray(9, 12)], { relative: 1e-7 });
  });
});

describe("attention", () => {
  const shape = { headCount: 4, keyValueHeadCount: 2, headDim: 3, scale: 0.7, start: 2 };
  const q = normalValues(random, 2 * 12); // 2 rows
  const keys = normalValues(random, 6 * 6); // 6 positions, of which the last 2 must not be read
  const values = normalValues(random, 6 * 6);
  const y = attention(q, keys, values, shape);

  test("is a softmax-weighted mean of the values of the head's group", () => {
    const [row, head, group] = [1, 3, 1];
    const weights = Array.from({ length: 4 }, (_, p) => {
      let dot = 0;
      for (let i = 0; i < 3; i++) dot += at(q, row * 12 + head * 3 + i) * at(keys, p * 6 + group * 3 + i);
      return Math.exp(dot * shape.scale);
    });
    const sum = weights.reduce((a, b) => a + b);
    const expected = [0, 1, 2].map((i) =>
      weights.reduce((total, w, p) => total + (w / sum) * at(values, p * 6 + 3 + i), 0),
    );
    expectClose(y.subarray(21, 24), expected, { relative: 1e-12 });
  });

  test("reads no position after the row's own", () => {
    const changed = (from: Float32Array, first: number) => from.map((value, i) => (i >= first ? NaN : value));
    expectClose(attention(q, changed(keys, 24), changed(values, 24), shape), y, {});
    const rowOne = attention(q, changed(keys, 18), changed(values, 18), shape);
    expectClose(rowOne.subarray(0, 12), y.subarray(0, 12), {});
    expect(rowOne[12]).toBeNaN();
  });

  test("a chunk gives what its rows give one by one", () => {
    const second = attention(q.subarray(12), keys, values, { ...shape, start: 3 });
    expectClose(second, y.subarray(12), {});
  });

  test("with a window reads the last positions only, the row's own among them", () => {
    const windowed = attention(q, keys, values, { ...shape, window: 2 });
    const hidden = (from: Float32Array, first: number) => from.map((value, i) => (i < first ? NaN : value));
    // Row 0 is position 2, and sees 1 and 2; row 1 sees 2 and 3.
    const lastRow = attention(q.subarray(12), hidden(keys, 12), hidden(values, 12), { ...shape, start: 3, window: 2 });
    expectClose(lastRow, windowed.subarray(12), {});
    expect(attention(q, hidden(keys, 12), values, { ...shape, window: 2 })[0]).toBeNaN();
    expectClose(attention(q, keys, values, { ...shape, window: 4 }), y, {});
    const own = attention(q, keys, values, { ...shape, window: 1 });
    expectClose(own.subarray(0, 3), values.subarray(12, 15), { relative: 1e-15 });
  });

  test("with a soft-cap weighs positions by softcap · tanh(score / softcap)", () => {
    const one = { headCount: 1, keyValueHeadCount: 1, headDim: 1, scale: 2, start: 1, softcap: 5 };
    const weight =
      Math.exp(5 * Math.tanh(12 / 5)) / (Math.exp(5 * Math.tanh(12 / 5)) + Math.exp(5 * Math.tanh(-4 / 5)));
    const result = attention(Float64Array.of(2), Float32Array.of(3, -1), Float32Array.of(1, 0), one);
    expectClose(result, [weight], { relative: 1e-14 });
  });

  test("survives a huge score", () => {
    const large = attention(
      q.map((value) => value * 1e4),
      keys,
      values,
      shape,
    );
    expect(large.every(Number.isFinite)).toBe(true);
  });
});
