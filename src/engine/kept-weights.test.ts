/** What the file holds as the backend does: handed over as it is, and only that. */
import { describe, expect, test } from "vitest";
import type { WeightSink } from "../backends/backend";
import { unpackRows, type HeldDtype } from "../formats/quantization";
import type { DecoderSpec, TensorBinding } from "../models/decoder-spec";
import { makeSafetensors, type TensorToWrite } from "../testing/make-safetensors";
import { memoryFiles } from "../testing/memory-files";
import { loadWeights, PIECE_BYTES } from "./load-weights";

const bind = (name: string, shape: [number, number], from: string, more: Partial<TensorBinding> = {}) =>
  ({ name, shape, from: [from], transpose: false, ...more }) satisfies TensorBinding;

const count = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);

/** What each tensor was, and how its rows came. */
async function load(tensors: TensorToWrite[], bindings: TensorBinding[], format: HeldDtype) {
  const values = new Map<string, number[]>();
  const kept = new Set<string>();
  const pieceBytes: number[] = [];
  const columnsOf = (name: string) => bindings.find((binding) => binding.name === name)?.shape[1] ?? 1;
  const take = (name: string, firstRow: number, rows: Float32Array) => {
    const sofar = values.get(name) ?? [];
    expect(sofar.length).toBe(firstRow * columnsOf(name));
    values.set(name, sofar);
    for (const value of rows) sofar.push(value);
  };
  const sink: WeightSink = {
    write: take,
    kept: {
      formatOf: (name) => (name.startsWith("norm") ? undefined : format),
      write: (name, firstRow, rows, packed) => {
        kept.add(name);
        pieceBytes.push(packed.quants.byteLength);
        take(name, firstRow, unpackRows(format, packed, rows, columnsOf(name)));
      },
    },
    drained: () => Promise.resolve(),
  };
  const files = memoryFiles({ "model.safetensors": makeSafetensors(tensors) }, { chunkBytes: 65_537 });
  const spec = { tensors: bindings } as unknown as DecoderSpec; // the loader reads nothing else
  const { parameterCount } = await loadWeights({ files, spec, sink });
  return { values: Object.fromEntries(values), kept: [...kept].sort(), parameterCount, pieceBytes };
}

describe.each([
  ["F16", "f16"],
  ["F32", "f32"],
] as const)("%s, held as %s", (dtype, format) => {
  // 5 columns: rows have to be padded; 8: the file's bytes are the rows.
  test.each([5, 8])("a matrix of %i columns goes as it is, whole, tied and in parts", async (columns) => {
    const { values, kept, parameterCount } = await load(
      [{ name: "w", dtype, shape: [7, columns], values: count(7 * columns) }],
      [
        bind("whole", [7, columns], "w"),
        bind("tied", [7, columns], "w"),
        bind("first", [3, columns], "w", { rows: { first: 0, of: 7 } }),
        bind("last", [4, columns], "w", { rows: { first: 3, of: 7 } }),
        bind("blocks", [4, columns], "w", { rows: { first: 1, of: 7, blocks: { size: 2, stride: 3 } } }),
      ],
      format,
    );
    const rows = (...indices: number[]) => indices.flatMap((row) => count(columns, row * columns));
    expect(kept).toEqual(["blocks", "first", "last", "tied", "whole"]);
    expect(values).toEqual({
      whole: rows(0, 1, 2, 3, 4, 5, 6),
      tied: rows(0, 1, 2, 3, 4, 5, 6),
      first: rows(0, 1, 2),
      last: rows(3, 4, 5, 6),
      blocks: rows(1, 2, 4, 5),
    });
    expect(parameterCount).toBe(25 * columns);
  });

  test("what is turned, a vector, and what the sink wants as f32 are converted", async () => {
    const { values, kept } = await load(
      [
        { name: "w", dtype, shape: [2, 4], values: count(8) },
        { name: "v", dtype, shape: [3], values: [1, 2, 3] },
      ],
      [
        bind("turned", [4, 2], "w", { transpose: true }),
        bind("plain", [2, 4], "w"),
        bind("norm of rows", [2, 4], "w"),
        bind("vector", [1, 3], "v", { offset: 1 }),
      ],
      format,
    );
    expect(kept).toEqual(["plain"]);
    expect(values).toEqual({
      turned: [0, 4, 1, 5, 2, 6, 3, 7],
      plain: count(8),
      "norm of rows": count(8),
      vector: [2, 3, 4],
    });
  });

  test("other types are converted", async () => {
    const { values, kept } = await load(
      [{ name: "w", dtype: "BF16", shape: [2, 4], values: count(8) }],
      [bind("w", [2, 4], "w")],
      format,
    );
    expect(kept).toEqual([]);
    expect(values).toEqual({ w: count(8) });
  });

  test.each([NaN, Infinity, -Infinity])("%f is refused, with its place, wherever it stands", async (bad) => {
    for (const place of [0, 1, 14, 37, 39]) {
      const values = count(40);
      values[place] = bad;
      await expect(
        load([{ name: "w", dtype, shape: [5, 8], values }], [bind("w", [5, 8], "w")], format),
      ).rejects.toThrow(
        expect.objectContaining({
          code: "file-invalid",
          message: `model.safetensors: w[${Math.floor(place / 8)}, ${place % 8}] is ${bad}; weights must be finite`,
        }),
      );
    }
  });

  test("goes in pieces of 4 MiB of the file, to the last row", async () => {
    const columns = 2048;
    const rowBytes = columns * (dtype === "F16" ? 2 : 4);
    const rows = (2 * PIECE_BYTES) / rowBytes + 3;
    const last = Float32Array.from({ length: rows * columns }, (_, i) => Math.floor(i / columns));
    const { values, pieceBytes } = await load(
      [{ name: "w", dtype, shape: [rows, columns], values: last }],
      [bind("w", [rows, columns], "w")],
      format,
    );
    expect(pieceBytes).toEqual([PIECE_BYTES, PIECE_BYTES, 3 * rowBytes]);
    expect(values["w"]?.at(-1)).toBe(rows - 1);
  });
});
