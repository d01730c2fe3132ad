import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { WeightSink } from "../backends/backend";
import { packRows, type PackedRows } from "../formats/quantization";
import type { DecoderSpec, TensorBinding } from "../models/decoder-spec";
import type { ModelFiles } from "../storage/model-files";
import { joinSafetensors } from "../testing/make-safetensors";
import { loadWeights, PIECE_BYTES } from "./load-weights";

const MIB = 2 ** 20;
const [LAYERS, ROWS, COLUMNS] = [128, 2048, 2048] as const; // BF16: 8 MiB each, 1 GiB together
const CHUNK_BYTES = 64 * 1024;

/** What a `gc` function of Node's would be: live bytes are those that a collection leaves. */
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** BF16 weights that differ, finite all of them: every second byte is a high one of about ±1. */
function weights(): Uint8Array {
  return Uint8Array.from({ length: CHUNK_BYTES }, (_, i) => (i % 2 === 0 ? (i * 7) & 255 : i % 4 === 1 ? 0x3f : 0xbe));
}

/** A checkpoint of 1 GiB that is never in memory: each chunk is made when it is asked for. */
function generatedFiles(header: Uint8Array, sizeBytes: number): ModelFiles {
  const pattern = weights();
  const stream = (start: number, end: number) => {
    let at = start;
    return new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (at >= end) {
            controller.close();
            return;
          }
          const inHeader = at < header.length;
          const length = Math.min(CHUNK_BYTES, (inHeader ? Math.min(end, header.length) : end) - at);
          // A chunk of its own, as a network gives it. Data chunks begin at an even byte of the data.
          controller.enqueue(inHeader ? header.slice(at, at + length) : pattern.slice(0, length));
          at += length;
        },
      },
      { highWaterMark: 0 },
    );
  };
  return {
    description: "a generator",
    find: (name) =>
      Promise.resolve(
        name !== "model.safetensors"
          ? undefined
          : {
              name,
              sizeBytes,
              stream: ({ start = 0, end = sizeBytes } = {}) => Promise.resolve(stream(start, Math.min(end, sizeBytes))),
            },
      ),
  };
}

test("loading 1 GiB keeps less than 64 MiB and one piece alive", { timeout: 600_000 }, async () => {
  const tensorBytes = 2 * ROWS * COLUMNS;
  const entries: Record<string, unknown> = {};
  const tensors: TensorBinding[] = [];
  for (let i = 0; i < LAYERS; i++) {
    const name = `layers.${i}.up.weight`;
    entries[name] = { dtype: "BF16", shape: [ROWS, COLUMNS], data_offsets: [i * tensorBytes, (i + 1) * tensorBytes] };
    tensors.push({ name, shape: [ROWS, COLUMNS], from: [name], transpose: false });
  }
  const header = joinSafetensors(entries);
  const sizeBytes = header.length + LAYERS * tensorBytes;
  expect(sizeBytes).toBeGreaterThanOrEqual(1024 * MIB);

  let packed: PackedRows | undefined;
  let packedTotal = 0;
  let pieces = 0;
  let mostLive = 0;
  let mostHeld = 0;
  const sink: WeightSink = {
    write: (_, __, values) => {
      packed = packRows("q8", values, values.length / COLUMNS, COLUMNS, packed);
      packedTotal += packed.quants.byteLength + (packed.scales?.byteLength ?? 0);
      pieces++;
      mostHeld = Math.max(mostHeld, process.memoryUsage().arrayBuffers);
      if (pieces % 8 !== 0) return;
      collectGarbage();
      mostLive = Math.max(mostLive, process.memoryUsage().arrayBuffers);
    },
    drained: () => Promise.resolve(),
  };
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const started = performance.now();
  const spec = { tensors } as unknown as DecoderSpec; // the loader reads nothing else
  const result = await loadWeights({ files: generatedFiles(header, sizeBytes), spec, sink });
  const seconds = (performance.now() - started) / 1000;

  expect(result).toEqual({ loadedBytes: LAYERS * tensorBytes, parameterCount: LAYERS * ROWS * COLUMNS });
  expect(packedTotal).toBe(LAYERS * ROWS * (COLUMNS + COLUMNS / 16));
  expect(mostLive).toBeGreaterThan(PIECE_BYTES); // the piece itself is seen, so the measuring works
  expect(mostLive - before).toBeLessThan(64 * MIB + PIECE_BYTES);
  const inMib = (bytes: number) => Math.round((bytes - before) / MIB);
  console.log(
    `1 GiB in ${seconds.toFixed(1)} s as q8; live ${inMib(mostLive)} MiB, with garbage at most ${inMib(mostHeld)} MiB`,
  );
});
