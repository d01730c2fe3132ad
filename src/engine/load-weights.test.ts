import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import type { WeightSink } from "../backends/backend";
import { WordloomError } from "../errors";
import { parseSafetensorsHeader } from "../formats/safetensors";
import type { DecoderSpec, TensorBinding } from "../models/decoder-spec";
import { joinSafetensors, makeSafetensors, type TensorToWrite } from "../testing/make-safetensors";
import { memoryFiles } from "../testing/memory-files";
import { loadWeights, PIECE_BYTES, type WeightProgress } from "./load-weights";

/** Puts the rows together again and checks the sink's contract. */
class CollectingSink implements WeightSink {
  readonly tensors = new Map<string, number[]>();
  readonly pieceBytes: number[] = [];
  drainedCalls = 0;

  write(name: string, firstRow: number, values: Float32Array): void {
    const sofar = this.tensors.get(name) ?? [];
    const columns = columnsOf.get(name) ?? 1;
    expect(sofar.length).toBe(firstRow * columns);
    expect(values.length % columns).toBe(0);
    this.pieceBytes.push(values.byteLength);
    for (const value of values) sofar.push(value);
    this.tensors.set(name, sofar);
  }

  drained(): Promise<void> {
    this.drainedCalls++;
    return Promise.resolve();
  }
}

const columnsOf = new Map<string, number>();

/** Only `tensors` matters to the loader. */
function specOf(tensors: TensorBinding[]): DecoderSpec {
  for (const { name, shape } of tensors) columnsOf.set(name, shape[1]);
  return { tensors } as unknown as DecoderSpec;
}

const bind = (name: string, shape: [number, number], from: string[], more: Partial<TensorBinding> = {}) =>
  ({ name, shape, from, transpose: false, ...more }) satisfies TensorBinding;

const count = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);

async function load(
  contents: Record<string, Uint8Array | string>,
  tensors: TensorBinding[],
  more: { chunkBytes?: number; sizes?: boolean; signal?: AbortSignal; onProgress?: (p: WeightProgress) => void } = {},
) {
  const files = memoryFiles(contents, more);
  const sink = new CollectingSink();
  let loadedBytes = 0;
  let parameterCount = 0;
  let error: WordloomError | undefined;
  try {
    ({ loadedBytes, parameterCount } = await loadWeights({ files, spec: specOf(tensors), sink, ...more }));
  } catch (caught) {
    if (!(caught instanceof WordloomError)) throw caught;
    error = caught;
  }
  return { loadedBytes, parameterCount, error, sink, files };
}

async function failing(contents: Record<string, Uint8Array | string>, tensors: TensorBinding[]) {
  const { error, sink } = await load(contents, tensors);
  return { code: error?.code, message: error?.message, written: sink.tensors.size };
}

describe("a single file", () => {
  const matrixA: TensorToWrite = { name: "model.a", shape: [3, 5], values: count(15) };

  test.each([1, 3, 7, 64, 100_000])("gives the same weights in chunks of %i bytes", async (chunkBytes) => {
    const file = makeSafetensors([
      { name: "odd", dtype: "BF16", shape: [1], values: [1] },
      matrixA,
      { name: "b", dtype: "F16", shape: [4], values: [0.5, -2, 0, 8] },
      { name: "c", dtype: "BF16", shape: [2, 1], values: [1.5, -3] },
    ]);
    const { sink, loadedBytes, parameterCount } = await load(
      { "model.safetensors": file },
      [bind("c", [2, 1], ["c"]), bind("a", [3, 5], ["a", "model.a"]), bind("b", [1, 4], ["b"])],
      { chunkBytes },
    );
    expect(Object.fromEntries(sink.tensors)).toEqual({ a: count(15), b: [0.5, -2, 0, 8], c: [1.5, -3] });
    expect(loadedBytes).toBe(60 + 8 + 4);
    expect(parameterCount).toBe(15 + 4 + 2);
    expect(sink.drainedCalls).toBeGreaterThan(0);
  });

  test("loads where the server does not tell sizes", async () => {
    const { sink } = await load({ "model.safetensors": makeSafetensors([matrixA]) }, [bind("a", [3, 5], ["model.a"])], {
      sizes: false,
    });
    expect(sink.tensors.get("a")).toEqual(count(15));
  });

  test("is read up to its last needed tensor only, and once", async () => {
    const file = makeSafetensors([
      { name: "before", shape: [1000], values: new Float32Array(1000) },
      { name: "a", shape: [10], values: count(10) },
      { name: "between", shape: [1000], values: new Float32Array(1000) },
      { name: "b", shape: [10], values: count(10) },
      { name: "after", shape: [100_000], values: new Float32Array(100_000) },
    ]);
    const { files, loadedBytes } = await load({ "model.safetensors": file }, [
      bind("b", [1, 10], ["b"]),
      bind("a", [1, 10], ["a"]),
    ]);
    expect(loadedBytes).toBe(40 + 4000 + 40);
    expect(files.streamsOpened.get("model.safetensors")).toBe(2); // header, weights
    expect(files.bytesRead.get("model.safetensors")).toBe(64 * 1024 + 4080);
  });

  test("with a header beyond the first read loads all the same", async () => {
    const many = Array.from({ length: 2000 }, (_, i) => ({ name: `tensor.${i}`, shape: [1], values: [i] }));
    const file = makeSafetensors(many);
    expect(parseSafetensorsHeader(file, file.length).dataStart).toBeGreaterThan(64 * 1024);
    const { sink } = await load({ "model.safetensors": file }, [bind("x", [1, 1], ["tensor.1999"])]);
    expect(sink.tensors.get("x")).toEqual([1999]);
  });

  test("goes in pieces of whole rows, at most 4 MiB, and a longer row alone", async () => {
    const columns = 300_000;
    const long = PIECE_BYTES / 4 + 1;
    const file = makeSafetensors([
      { name: "a", dtype: "BF16", shape: [9, columns], values: new Float32Array(9 * columns).fill(2) },
      { name: "b", dtype: "BF16", shape: [2, long], values: new Float32Array(2 * long).fill(3) },
    ]);
    const pieces: [string, number, number][] = [];
    const sink: WeightSink = {
      write: (name, firstRow, values) => pieces.push([name, firstRow, values.length]),
      drained: () => Promise.resolve(),
    };
    const spec = specOf([bind("a", [9, columns], ["a"]), bind("b", [2, long], ["b"])]);
    await loadWeights({ files: memoryFiles({ "model.safetensors": file }, { chunkBytes: 65536 }), spec, sink });
    expect(pieces).toEqual([
      ["a", 0, 3 * columns],
      ["a", 3, 3 * columns],
      ["a", 6, 3 * columns],
      ["b", 0, long],
      ["b", 1, long],
    ]);
  });

  test("reports bytes that grow to the total", async () => {
    const seen: WeightProgress[] = [];
    await load({ "model.safetensors": makeSafetensors([matrixA]) }, [bind("a", [3, 5], ["model.a"])], {
      onProgress: (progress) => seen.push(progress),
    });
    expect(seen).toEqual([
      { file: "model.safetensors", loadedBytes: 0, totalBytes: 60 },
      { file: "model.safetensors", loadedBytes: 60, totalBytes: 60 },
    ]);
  });

  test("reports within a piece where its bytes come slowly", async () => {
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 70)); // of one chunk after the other
    const seen: number[] = [];
    const file = makeSafetensors([{ name: "a", shape: [25, 1], values: count(25) }]);
    await load({ "model.safetensors": file }, [bind("a", [25, 1], ["a"])], {
      chunkBytes: 20,
      onProgress: ({ loadedBytes }) => seen.push(loadedBytes),
    });
    vi.restoreAllMocks();
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.at(-1)).toBe(100);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });
});

describe("one checkpoint tensor for several of the decoder's", () => {
  test("a fused matrix and its bias are split by rows", async () => {
    const file = makeSafetensors([
      { name: "qkv.weight", shape: [7, 2], values: count(14) },
      { name: "qkv.bias", shape: [7], values: count(7) },
    ]);
    const { sink } = await load({ "model.safetensors": file }, [
      bind("q.weight", [4, 2], ["qkv.weight"], { rows: { first: 0, of: 7 } }),
      bind("k.weight", [2, 2], ["qkv.weight"], { rows: { first: 4, of: 7 } }),
      bind("v.weight", [1, 2], ["qkv.weight"], { rows: { first: 6, of: 7 } }),
      bind("k.bias", [1, 2], ["qkv.bias"], { rows: { first: 4, of: 7 } }),
    ]);
    expect(Object.fromEntries(sink.tensors)).toEqual({
      "q.weight": count(8),
      "k.weight": count(4, 8),
      "v.weight": count(2, 12),
      "k.bias": [4, 5],
    });
  });

  test("a fused matrix is split also where pieces end inside a part", async () => {
    const columns = 400_000; // 2 rows a piece
    const values = Float32Array.from({ length: 7 * columns }, (_, i) => Math.floor(i / columns));
    const file = makeSafetensors([{ name: "f", dtype: "BF16", shape: [7, columns], values }]);
    const rows = new Map<string, number[]>();
    const sink: WeightSink = {
      write: (name, firstRow, piece) => {
        for (let r = 0; r < piece.length / columns; r++) {
          expect(rows.get(name)?.length ?? 0).toBe(firstRow + r);
          rows.set(name, [...(rows.get(name) ?? []), piece[r * columns] as number]);
        }
      },
      drained: () => Promise.resolve(),
    };
    const spec = specOf([
      bind("gate", [3, columns], ["f"], { rows: { first: 0, of: 7 } }),
      bind("up", [4, columns], ["f"], { rows: { first: 3, of: 7 } }),
    ]);
    await loadWeights({ files: memoryFiles({ "model.safetensors": file }, { chunkBytes: 65536 }), spec, sink });
    expect(Object.fromEntries(rows)).toEqual({ gate: [0, 1, 2], up: [3, 4, 5, 6] });
  });

  test("a matrix held as [inputs, outputs] is turned, and split after that", async () => {
    const file = makeSafetensors([{ name: "c_attn", shape: [2, 6], values: count(12) }]);
    const { sink } = await load({ "model.safetensors": file }, [
      bind("q", [2, 2], ["c_attn"], { transpose: true, rows: { first: 0, of: 6 } }),
      bind("k", [2, 2], ["c_attn"], { transpose: true, rows: { first: 2, of: 6 } }),
      bind("v", [2, 2], ["c_attn"], { transpose: true, rows: { first: 4, of: 6 } }),
      bind("all", [6, 2], ["c_attn"], { transpose: true }),
      bind("plain", [2, 6], ["c_attn"]),
    ]);
    expect(Object.fromEntries(sink.tensors)).toEqual({
      q: [0, 6, 1, 7],
      k: [2, 8, 3, 9],
      v: [4, 10, 5, 11],
      all: [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11],
      plain: count(12),
    });
  });

  describe("rows in blocks, as GPT-NeoX has q, k and v of each head in turn", () => {
    const blocks = { size: 2, stride: 6 };
    const parts = (first: number) => ({ rows: { first, of: 12, blocks } });

    test("are put together, and their biases, too", async () => {
      const file = makeSafetensors([
        { name: "qkv.weight", shape: [12, 2], values: count(24) },
        { name: "qkv.bias", shape: [12], values: count(12) },
      ]);
      const { sink } = await load({ "model.safetensors": file }, [
        bind("q.weight", [4, 2], ["qkv.weight"], parts(0)),
        bind("v.weight", [4, 2], ["qkv.weight"], parts(4)),
        bind("k.bias", [1, 4], ["qkv.bias"], parts(2)),
      ]);
      expect(Object.fromEntries(sink.tensors)).toEqual({
        "q.weight": [0, 1, 2, 3, 12, 13, 14, 15],
        "v.weight": [8, 9, 10, 11, 20, 21, 22, 23],
        "k.bias": [2, 3, 8, 9],
      });
    });

    test("also where pieces end inside a block, and where the matrix is turned", async () => {
      const columns = 300_000; // 3 rows a piece
      const values = Float32Array.from({ length: 12 * columns }, (_, i) => Math.floor(i / columns));
      const long = makeSafetensors([{ name: "f", dtype: "BF16", shape: [12, columns], values }]);
      const rows: number[] = [];
      const sink: WeightSink = {
        write: (_, firstRow, piece) => {
          expect(rows.length).toBe(firstRow);
          for (let at = 0; at < piece.length; at += columns) rows.push(piece[at] as number);
        },
        drained: () => Promise.resolve(),
      };
      const spec = specOf([bind("k", [4, columns], ["f"], parts(2))]);
      await loadWeights({ files: memoryFiles({ "model.safetensors": long }, { chunkBytes: 65536 }), spec, sink });
      expect(rows).toEqual([2, 3, 8, 9]);

      const turned = makeSafetensors([{ name: "f", shape: [1, 12], values: count(12) }]);
      const loaded = await load({ "model.safetensors": turned }, [
        bind("k", [4, 1], ["f"], { ...parts(2), transpose: true }),
      ]);
      expect(loaded.sink.tensors.get("k")).toEqual([2, 3, 8, 9]);
    });

    test("that do not fit the tensor are a fault of the architecture", async () => {
      const file = makeSafetensors([{ name: "f", shape: [12, 2], values: count(24) }]);
      for (const rows of [
        { first: 6, of: 12, blocks: { size: 2, stride: 6 } }, // the last block ends at 14
        { first: 0, of: 12, blocks: { size: 3, stride: 6 } }, // 4 rows are no whole blocks
      ]) {
        const { code } = await failing({ "model.safetensors": file }, [bind("q", [4, 2], ["f"], { rows })]);
        expect(code).toBe("internal");
      }
    });
  });

  test("an offset is added to a vector, and the tensor's other uses do not see it", async () => {
    const file = makeSafetensors([{ name: "norm", dtype: "BF16", shape: [3], values: [-0.5, 0, 2] }]);
    const { sink } = await load({ "model.safetensors": file }, [
      bind("weight", [1, 3], ["norm"], { offset: 1 }),
      bind("as it is", [1, 3], ["norm"]),
    ]);
    expect(Object.fromEntries(sink.tensors)).toEqual({ weight: [0.5, 1, 3], "as it is": [-0.5, 0, 2] });
  });

  test("a tied matrix is read once and given twice", async () => {
    const file = makeSafetensors([{ name: "wte", shape: [3, 2], values: count(6) }]);
    const { sink, loadedBytes } = await load({ "model.safetensors": file }, [
      bind("token_embedding", [3, 2], ["wte"]),
      bind("head.weight", [3, 2], ["lm_head", "wte"]),
    ]);
    expect(sink.tensors.get("head.weight")).toEqual(sink.tensors.get("token_embedding"));
    expect(loadedBytes).toBe(24);
  });
});

describe("before any weight is handed over", () => {
  const file = makeSafetensors([
    { name: "a", shape: [2, 2], values: [1, 2, 3, 4] },
    { name: "v", shape: [3], values: [1, 2, 3] },
  ]);
  const a = bind("a", [2, 2], ["a"]);

  test.each([
    ["a tensor is missing", [a, bind("b", [1, 1], ["x.b", "b"])], "tensor-missing", "x.b or b is not in"],
    [
      "a matrix has other sizes",
      [a, bind("b", [2, 3], ["a"])],
      "tensor-mismatch",
      "a is [2, 2]; by config.json it should be [2, 3]",
    ],
    ["a matrix is turned", [bind("b", [3, 2], ["a"], { transpose: true })], "tensor-mismatch", "[2, 3]"],
    [
      "a fused matrix has other rows",
      [bind("b", [1, 2], ["a"], { rows: { first: 0, of: 3 } })],
      "tensor-mismatch",
      "[3, 2]",
    ],
    [
      "a vector has another length",
      [a, bind("v", [1, 4], ["v"])],
      "tensor-mismatch",
      "v is [3]; by config.json it should be [4]",
    ],
    [
      "a vector stands for a matrix",
      [a, bind("v", [3, 1], ["v"])],
      "tensor-mismatch",
      "v is [3]; by config.json it should be [3, 1]",
    ],
  ] as const)("it is refused that %s", async (_, tensors, code, message) => {
    expect(await failing({ "model.safetensors": file }, [...tensors])).toEqual({
      code,
      message: expect.stringContaining(message) as string,
      written: 0,
    });
  });

  test("a dtype that cannot be read is refused by its name, but only where the tensor is needed", async () => {
    const odd = joinSafetensors(
      {
        a: { dtype: "F32", shape: [1], data_offsets: [0, 4] },
        b: { dtype: "F8_E4M3", shape: [4], data_offsets: [4, 8] },
      },
      [new Uint8Array(8)],
    );
    const needed = await failing({ "model.safetensors": odd }, [bind("a", [1, 1], ["a"]), bind("b", [1, 4], ["b"])]);
    expect(needed).toMatchObject({
      code: "model-unsupported",
      message: expect.stringContaining("b is held as F8_E4M3"),
    });
    expect(needed.written).toBe(0);
    expect(await failing({ "model.safetensors": odd }, [bind("a", [1, 1], ["a"])])).toMatchObject({ code: undefined });
  });

  test("a file with metadata only is refused by the name of the first missing tensor", async () => {
    const empty = makeSafetensors([], { note: "none" });
    const { code, message } = await failing({ "model.safetensors": empty }, [a, bind("b", [1, 1], ["b"])]);
    expect([code, message]).toEqual(["tensor-missing", expect.stringMatching(/^a is not in/)]);
  });

  test("no weights at all, a web page and a broken index have their own errors", async () => {
    expect(await failing({}, [a])).toMatchObject({ code: "model-not-found" });
    const page = "<!doctype html><html><body>app</body></html>";
    expect(await failing({ "model.safetensors": page }, [a])).toMatchObject({
      code: "file-invalid",
      message: expect.stringContaining("model.safetensors (memory): this is an HTML page"),
    });
    expect(await failing({ "model.safetensors.index.json": "{", "model.safetensors": file }, [a])).toMatchObject({
      code: "file-invalid",
      message: expect.stringContaining("model.safetensors.index.json"),
    });
    const catchAll = await load({ "model.safetensors.index.json": page, "model.safetensors": file }, [a]);
    expect(catchAll.sink.tensors.get("a")).toEqual([1, 2, 3, 4]);
  });
});

describe("while weights stream", () => {
  test.each([NaN, Infinity])("a weight of %f is refused with its place", async (bad) => {
    const values = count(6);
    values[4] = bad;
    const file = makeSafetensors([{ name: "model.w", shape: [3, 2], values }]);
    expect(await failing({ "model.safetensors": file }, [bind("w", [3, 2], ["model.w"])])).toMatchObject({
      code: "file-invalid",
      message: `model.safetensors: model.w[2, 0] is ${bad}; weights must be finite`,
    });
  });

  test("a file that ends early is refused, where its size was not known before", async () => {
    const file = makeSafetensors([{ name: "a", shape: [100_000], values: new Float32Array(100_000) }]);
    const { error } = await load({ "model.safetensors": file.subarray(0, 300_000) }, [bind("a", [1, 100_000], ["a"])], {
      sizes: false,
    });
    expect(error).toMatchObject({ code: "file-invalid", message: expect.stringContaining("ends at byte 300000") });
  });

  test("an abort rejects with its reason and writes nothing more", async () => {
    const columns = PIECE_BYTES / 4;
    const file = makeSafetensors([
      { name: "a", dtype: "BF16", shape: [3, columns], values: new Float32Array(3 * columns) },
    ]);
    const abort = new AbortController();
    let pieces = 0;
    const sink: WeightSink = {
      write: () => {
        if (++pieces === 2) abort.abort("enough");
      },
      drained: () => Promise.resolve(),
    };
    const spec = specOf([bind("a", [3, columns], ["a"])]);
    const files = memoryFiles({ "model.safetensors": file }, { chunkBytes: 65536 });
    await expect(loadWeights({ files, spec, sink, signal: abort.signal })).rejects.toBe("enough");
    expect(pieces).toBe(2);
    await expect(loadWeights({ files, spec, sink, signal: abort.signal })).rejects.toBe("enough");
    expect(pieces).toBe(2);
  });

  test("what the sink throws ends the load and closes the file", async () => {
    const file = makeSafetensors([{ name: "a", shape: [2], values: [1, 2] }]);
    const sink: WeightSink = {
      write: () => {
        throw new WordloomError("device-lost", "gone");
      },
      drained: () => Promise.resolve(),
    };
    const spec = specOf([bind("a", [1, 2], ["a"])]);
    const files = memoryFiles({ "model.safetensors": file });
    await expect(loadWeights({ files, spec, sink })).rejects.toMatchObject({ code: "device-lost" });
  });
});

function without<T>(record: Readonly<Record<string, T>>, name: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
}

describe("case st-shards", () => {
  const golden = new Uint8Array(readFileSync(new URL("../testing/golden/llama/model.safetensors", import.meta.url)));
  const { tensors: goldenTensors } = parseSafetensorsHeader(golden, golden.length);
  const valuesOf = (name: string) => {
    const tensor = goldenTensors.get(name);
    return [...new Float32Array(golden.slice(tensor?.start, tensor?.end).buffer)];
  };
  const names = [...goldenTensors.keys()];
  const inFirst = (name: string) => name.includes("embed_tokens") || name.includes("layers.0.");
  const shardFile = (wanted: (name: string) => boolean, change = (values: number[]) => values) =>
    makeSafetensors(
      names.filter(wanted).map((name) => ({
        name,
        shape: goldenTensors.get(name)?.shape ?? [],
        values: change(valuesOf(name)),
      })),
    );
  const [SHARD_1, SHARD_2] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] as const;
  const weightMap = Object.fromEntries(names.map((name) => [name, inFirst(name) ? SHARD_1 : SHARD_2]));
  const index = (map: Record<string, string>, totalSize = 1_000_000) =>
    JSON.stringify({ metadata: { total_size: totalSize }, weight_map: map });
  const complete = {
    "model.safetensors.index.json": index(weightMap),
    [SHARD_1]: shardFile(inFirst),
    [SHARD_2]: shardFile((name) => !inFirst(name)),
  };
  const bindings = names.map((name) => {
    const shape = goldenTensors.get(name)?.shape ?? [];
    return bind(name, shape.length === 1 ? [1, shape[0] as number] : [shape[0] as number, shape[1] as number], [name]);
  });
  const allValues = Object.fromEntries(names.map((name) => [name, valuesOf(name)]));

  test("the complete folder gives the weights of the single file, each file read once", async () => {
    const { sink, files, loadedBytes } = await load(complete, bindings);
    expect(Object.fromEntries(sink.tensors)).toEqual(allValues);
    expect([...files.streamsOpened]).toEqual([
      ["model.safetensors.index.json", 1],
      [SHARD_1, 2],
      [SHARD_2, 2],
    ]);
    expect(loadedBytes).toBe([...goldenTensors.values()].reduce((sum, { start, end }) => sum + end - start, 0));
  });

  test("a missing shard is named before anything of the other is read", async () => {
    const contents = without(complete, SHARD_2);
    const { error, files, sink } = await load(contents, bindings);
    expect(error).toMatchObject({ code: "tensor-missing", message: expect.stringContaining(SHARD_2) });
    expect(files.bytesRead.has(SHARD_1)).toBe(false);
    expect(sink.tensors.size).toBe(0);
  });

  test("a tensor that is not in its shard is named with the shard", async () => {
    const wrong = { ...weightMap, "model.norm.weight": SHARD_1 };
    const result = await failing({ ...complete, "model.safetensors.index.json": index(wrong) }, bindings);
    expect(result).toMatchObject({ code: "tensor-missing", written: 0 });
    expect(result.message).toContain(`model.norm.weight is not in ${SHARD_1}`);
  });

  test("a stray model.safetensors beside the shards is not looked at", async () => {
    const stray = shardFile(
      () => true,
      (values) => values.map((value) => value + 1),
    );
    const { sink, files } = await load({ ...complete, "model.safetensors": stray }, bindings);
    expect(Object.fromEntries(sink.tensors)).toEqual(allValues);
    expect(files.bytesRead.has("model.safetensors")).toBe(false);
  });

  test("a tensor without an entry is named", async () => {
    const map = without(weightMap, "model.layers.2.mlp.up_proj.weight");
    const result = await failing({ ...complete, "model.safetensors.index.json": index(map) }, bindings);
    expect(result).toMatchObject({ code: "tensor-missing", written: 0 });
    expect(result.message).toContain("model.layers.2.mlp.up_proj.weight is not in model.safetensors.index.json");
  });

  test("a wrong total_size does not matter", async () => {
    const { sink } = await load({ ...complete, "model.safetensors.index.json": index(weightMap, 4) }, bindings);
    expect(Object.fromEntries(sink.tensors)).toEqual(allValues);
  });
});
