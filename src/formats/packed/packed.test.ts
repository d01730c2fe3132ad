/** Each scheme against what other programs make of the same bytes; see testing/packed/PROVENANCE.md. */
import { describe, expect, test } from "vitest";
import { packedMatrixOf } from "../../engine/packed-weights";
import { ConfigReader } from "../../models/config-reader";
import { readQuantization } from "../../models/quantization-config";
import { decodeGgml } from "../ggml-decode";
import { expectClose } from "../../testing/compare";
import { packedVectors, partOf, type PackedVector } from "../../testing/packed-fixtures";
import type { PackedMatrix } from "./packed-matrix";

const VECTORS = packedVectors();

function matrixOf({ config, parts, rows, columns }: PackedVector): PackedMatrix {
  const quantization = readQuantization(ConfigReader.from(config, "config.json"));
  if (quantization === undefined) throw new Error("the vector's config names no quantization");
  const find = (name: string) => parts.get(name)?.place;
  const matrix = packedMatrixOf(quantization, { name: "layer", rows, columns, find });
  if (matrix === undefined) throw new Error("the vector was taken for floats");
  return matrix;
}

/** @param rowsAtOnce decoded together */
function decode(vector: PackedVector, rowsAtOnce = vector.rows): Float32Array {
  const matrix = matrixOf(vector);
  const bytesOf = (name: string) => partOf(vector, name).bytes;
  const { rows, columns, rowBytes } = matrix;
  const decodeRows = matrix.decoder(matrix.sides.map((side) => bytesOf(side.name)));
  const main = bytesOf(matrix.main.name);
  const values = new Float32Array(rows * columns).fill(NaN);
  for (let row = 0; row < rows; row += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, rows - row);
    const packed = rowBytes === undefined ? main : main.subarray(row * rowBytes, (row + count) * rowBytes);
    decodeRows(packed, row, count, values.subarray(row * columns, (row + count) * columns));
  }
  return values;
}

/** A copy of a vector whose part `name` has other bytes. */
function withBytes(
  vector: PackedVector,
  name: string,
  change: (bytes: Uint8Array, view: DataView) => void,
): PackedVector {
  const part = partOf(vector, name);
  const bytes = part.bytes.slice();
  change(bytes, new DataView(bytes.buffer));
  return { ...vector, parts: new Map(vector.parts).set(name, { ...part, bytes }) };
}

function vectorOf(name: string): PackedVector {
  const vector = VECTORS.get(name);
  if (vector === undefined) throw new Error(`there is no vector ${name}`);
  return vector;
}

describe.each([...VECTORS])("%s", (_, vector) => {
  test("every weight is the one that another program decodes, bit for bit", () => {
    expectClose(decode(vector), vector.expected, {});
  });

  test("pieces of rows are the rows of the whole", () => {
    expectClose(decode(vector, 7), vector.expected, {});
  });

  test("what lies beside the weights is smaller than they are as floats", () => {
    const { sides } = matrixOf(vector);
    const sideBytes = sides.reduce((sum, { start, end }) => sum + end - start, 0);
    expect(sideBytes).toBeLessThan(4 * vector.rows * vector.columns);
  });
});

describe("parts that do not belong together are refused from the headers", () => {
  const shapeOf = (vector: PackedVector, name: string, shape: readonly number[], dtype?: string): PackedVector => {
    const part = partOf(vector, name);
    const place = { ...part.place, shape, dtype: dtype ?? part.place.dtype };
    return { ...vector, parts: new Map(vector.parts).set(name, { ...part, place }) };
  };

  test.each([
    ["gptq-4", "layer.qweight", [96, 64], "I32 [96, 64]", "as I32 [12, 64]"],
    ["gptq-4", "layer.qzeros", [4, 8], "I32 [4, 8]", "as I32 [3, 8]"],
    ["gptq-4", "layer.scales", [64], "F16 [64]", "as F32 or F16 or BF16 [3, 64]"],
    ["gptq-4-ordered", "layer.g_idx", [64], "I32 [64]", "as I32 [96]"],
    ["awq", "layer.qweight", [40, 12], "I32 [40, 12]", "as I32 [96, 5]"],
    ["awq", "layer.scales", [3, 5], "F16 [3, 5]", "[3, 40]"],
    ["bnb-nf4", "layer.weight", [625], "U8 [625]", "as U8 [625, 1]"],
    ["bnb-nf4", "layer.weight.quant_map", [256], "F32 [256]", "as F32 [16]"],
    ["bnb-nf4-double", "layer.weight.nested_quant_map", [16], "F32 [16]", "as F32 [256]"],
    ["bnb-int8", "layer.SCB", [50], "F32 [50]", "[33, 1] or [33]"],
    ["int-channel", "layer.weight_scale", [33, 2], "BF16 [33, 2]", "[33, 1] or [33]"],
    ["float-tensor", "layer.weight_scale", [2], "F32 [2]", "[1, 1] or [1] or []"],
    ["fp8-blocks", "layer.weight_scale_inv", [1, 1], "F32 [1, 1]", "[3, 2]"],
    ["pack-4", "layer.weight_packed", [33, 12], "I32 [33, 12]", "as I32 [33, 13]"],
    ["pack-4-asymmetric", "layer.weight_zero_point", [33, 5], "I32 [33, 5]", "as I32 [5, 5]"],
    ["mlx-4", "layer.weight", [33, 48], "U32 [33, 48]", "as U32 [33, 24]"],
    ["mlx-6", "layer.biases", [33, 6], "F16 [33, 6]", "[33, 3]"],
  ] as const)("%s: %s as %j", (name, part, shape, is, needed) => {
    const refused = shapeOf(vectorOf(name), part, shape);
    expect(() => matrixOf(refused)).toThrowError(expect.objectContaining({ code: "tensor-mismatch" }));
    expect(() => matrixOf(refused)).toThrowError(`vectors.safetensors: ${part} is ${is}`);
    expect(() => matrixOf(refused)).toThrowError(needed);
  });

  test("scales of another element type", () => {
    const refused = shapeOf(vectorOf("mlx-4"), "layer.scales", [33, 3], "I8");
    expect(() => matrixOf(refused)).toThrowError(/layer.scales is I8 \[33, 3\]; .* as F32 or F16 or BF16/);
  });

  test.each([
    ["gptq-4", "layer.qzeros"],
    ["gptq-4-ordered", "layer.g_idx"],
    ["awq", "layer.scales"],
    ["bnb-nf4", "layer.weight.absmax"],
    ["bnb-nf4", "layer.weight.quant_state.bitsandbytes__nf4"],
    ["bnb-int8", "layer.SCB"],
    ["float-channel", "layer.weight_scale"],
    ["pack-4", "layer.weight_shape"],
    ["mlx-4", "layer.biases"],
  ])("%s without %s", (name, part) => {
    const vector = vectorOf(name);
    const parts = new Map(vector.parts);
    parts.delete(part);
    expect(() => matrixOf({ ...vector, parts })).toThrowError(expect.objectContaining({ code: "tensor-missing" }));
    expect(() => matrixOf({ ...vector, parts })).toThrowError(`${part} is not in the checkpoint`);
  });

  test("sizes that a format cannot hold", () => {
    expect(() => matrixOf({ ...vectorOf("gptq-4"), columns: 80 })).toThrowError(
      "layer has 80 inputs; this quantization holds multiples of 32",
    );
    expect(() => matrixOf({ ...vectorOf("awq"), rows: 33 })).toThrowError("layer has 33 outputs");
    expect(() => matrixOf({ ...vectorOf("mlx-4"), columns: 100 })).toThrowError("layer has 100 inputs");
  });

  test("a module that the checkpoint holds as floats is none of theirs", () => {
    for (const vector of VECTORS.values()) {
      const place = {
        name: "layer.weight",
        dtype: "F16",
        shape: [vector.rows, vector.columns],
        start: 0,
        end: 0,
        file: "f",
      };
      const parts = new Map([["layer.weight", { place, bytes: new Uint8Array(0) }]]);
      expect(() => matrixOf({ ...vector, parts })).toThrowError("the vector was taken for floats");
    }
  });
});

test("without desc_act, groups that no g_idx names are neighbours", () => {
  const vector = vectorOf("gptq-4");
  const parts = new Map(vector.parts);
  parts.delete("layer.g_idx");
  expectClose(decode({ ...vector, parts }), vector.expected, {});
});

describe("GPTQ as Q4_0", () => {
  /** All zero points 8. */
  const symmetric = (name: string) =>
    withBytes(vectorOf(name), "layer.qzeros", (bytes) => bytes.fill(name === "gptq-4-v2" ? 0x88 : 0x77));

  function blocksOf(vector: PackedVector, first: number, rows: number): Float32Array | undefined {
    const matrix = matrixOf(vector);
    const blocks = matrix.q4_0?.(matrix.sides.map(({ name }) => partOf(vector, name).bytes));
    if (blocks === undefined) return undefined;
    const values = new Float32Array(rows * vector.columns);
    decodeGgml("Q4_0", blocks(partOf(vector, matrix.main.name).bytes, first, rows), values, values.length);
    return values;
  }

  test("symmetric weights in groups of 32 are the same weights, bit for bit", () => {
    const vector = symmetric("gptq-4");
    expect([...(blocksOf(vector, 0, 64) ?? [])]).toEqual([...decode(vector)]);
    expect([...(blocksOf(vector, 5, 7) ?? [])]).toEqual([...decode(vector).subarray(5 * 96, 12 * 96)]);
  });

  test.each([
    ["other zero points", vectorOf("gptq-4")],
    ["groups in another order", symmetric("gptq-4-ordered")],
    ["groups that end inside of a block", symmetric("gptq-4-v2")],
    ["other bits", vectorOf("gptq-8")],
    [
      "scales that no half float is",
      withBytes(symmetric("gptq-4-bf16"), "layer.scales", (_, view) => view.setUint16(0, 0x3381, true)),
    ],
    ["infinite scales", withBytes(symmetric("gptq-4"), "layer.scales", (_, view) => view.setUint16(0, 0x7c00, true))],
  ])("not with %s", (_, vector) => {
    expect(blocksOf(vector, 0, 64)).toBeUndefined();
  });
});

describe("values that cannot be right", () => {
  test.each([3, -1, 2 ** 31 - 1])("an input in group %i of 3", (group) => {
    const vector = withBytes(vectorOf("gptq-4"), "layer.g_idx", (_, view) => view.setInt32(4 * 5, group, true));
    expect(() => decode(vector)).toThrowError(`vectors.safetensors: layer.g_idx: input 5 is in group ${group} of 3`);
    expect(() => decode(vector)).toThrowError(expect.objectContaining({ code: "file-invalid" }));
  });

  test("a scale that is NaN shows in the weights, where loading finds it", () => {
    const vector = withBytes(vectorOf("mlx-4"), "layer.scales", (_, view) => view.setUint16(0, 0x7e00, true));
    expect(decode(vector)[0]).toBeNaN();
  });

  test("an 8-bit float that is NaN", () => {
    const vector = withBytes(vectorOf("float-channel"), "layer.weight", (bytes) => bytes.set([0x7f, 0xff]));
    expect([...decode(vector).subarray(0, 2)]).toEqual([NaN, NaN]);
  });

  test("another layout of int8 than row after row", () => {
    const vector = withBytes(vectorOf("bnb-int8"), "layer.weight_format", (bytes) => bytes.set([2]));
    expect(() => decode(vector)).toThrowError(
      "layer.weight_format: it is 2; only rows one after the other (0) can be read",
    );
  });

  test("a shape that is not the one of config.json", () => {
    const vector = withBytes(vectorOf("pack-4"), "layer.weight_shape", (_, view) => view.setBigInt64(8, 96n, true));
    expect(() => decode(vector)).toThrowError(
      "layer.weight_shape says [33, 96]; by config.json it should be [33, 100]",
    );
  });

  test.each([
    ["not JSON", "[", "is not JSON"],
    ["no object", "3", "it holds no JSON object"],
    ["no block size", `{"shape":[25,50]}`, "blocksize is undefined"],
    ["blocks of 0", `{"shape":[25,50],"blocksize":0}`, "blocksize is 0"],
    ["another shape", `{"shape":[50,25],"blocksize":64}`, "shape is [50,25]; by config.json it should be [25, 50]"],
    ["other blocks", `{"shape":[25,50],"blocksize":32}`, "has 20 elements; 1250 in blocks of 32 need 40"],
  ])("a quant_state with %s", (_, text, message) => {
    const state = "layer.weight.quant_state.bitsandbytes__nf4";
    const vector = withBytes(vectorOf("bnb-nf4"), state, (bytes) => bytes.fill(32).set(new TextEncoder().encode(text)));
    expect(() => decode(vector)).toThrowError(message);
  });
});
