/**
 * One GPU device for a file of kernel tests: uploads, runs and downloads, and fails the test that caused an error of
 * the device. Without an adapter every test of the file fails; none is skipped.
 */
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { keepRows } from "../formats/ggml-kept";
import { isKFormat, type KFormat } from "../formats/k-quants";
import {
  packRows,
  rowLayout,
  unpackRows,
  type HeldDtype,
  type PackedRows,
  type WeightDtype,
} from "../formats/quantization";
import { BufferArena } from "../gpu/buffers";
import { openDevice, type GpuDevice, type OpenDeviceOptions } from "../gpu/device";
import { pipelinesOf, replay, type Dispatch } from "../gpu/pipelines";
import { makeTier, REDUCTIONS, type Reduction, type Tier } from "../gpu/tier";
import { kBlocks, type KType } from "./ggml-k";
import { paddedWidth, RECORD_BYTES, type KernelContext, type MatrixPart } from "../kernels/kernel";

/**
 * f32 sums in another order than the reference's: each of up to some hundred terms may be off by 2^-24 of the largest
 * partial sum. Relative to the largest magnitude of a row, since sums cancel.
 */
export const F32_SUMS = 1e-5;
/** A half float keeps 11 bits: 2^-11 = 4.9e-4 of each cached value, and of sums of them. */
export const F16_CACHE = 1e-3;

export const WEIGHT_FORMATS = ["f32", "f16", "q8", "q4"] as const satisfies readonly WeightDtype[];
/** Of whole blocks of 256 columns. */
export const K_FORMATS = { q4_k: "Q4_K", q5_k: "Q5_K", q6_k: "Q6_K" } as const satisfies Record<KFormat, KType>;
/** Each needs nothing that the software adapter of these tests lacks; f16 arithmetic it lacks, see *.lavapipe.test.ts. */
export const TIERS: readonly Reduction[] = REDUCTIONS;

/** Words of a record that tests set (src/backends/gpu/sequence-record.ts has them all). */
const POSITION = 0;
const TOKEN = 1;

export class GpuHarness {
  #gpu: GpuDevice | undefined;
  #arena: BufferArena | undefined;
  #errors: Error[] = [];

  get gpu(): GpuDevice {
    if (this.#gpu === undefined) throw new Error("the device is opened before the first test, not while collecting");
    return this.#gpu;
  }

  get device(): GPUDevice {
    return this.gpu.device;
  }

  /** Buffers of the running test; freed after it. */
  get arena(): BufferArena {
    return (this.#arena ??= new BufferArena(this.device, "test"));
  }

  async open(options: OpenDeviceOptions = {}): Promise<void> {
    this.#gpu = await openDevice(options);
    this.#gpu.onError = (error) => this.#errors.push(error);
    void this.#gpu.lost.then((error) => this.#errors.push(error));
  }

  /** What went wrong since the last call, after everything submitted is done. */
  async takeErrors(): Promise<Error[]> {
    await this.device.queue.onSubmittedWorkDone();
    // Errors travel by themselves; a scope popped now comes back after those raised before.
    this.device.pushErrorScope("validation");
    await this.device.popErrorScope();
    return this.#errors.splice(0);
  }

  /** @throws out-of-memory if a buffer of this test did not come to be */
  async release(): Promise<void> {
    const arena = this.#arena;
    this.#arena = undefined;
    await arena?.settled();
    arena?.destroy();
  }

  close(): void {
    this.#gpu?.close();
  }

  /** Kernels in this tier; a tier object may have sizes of its own. */
  context(tier: Reduction | Tier): KernelContext {
    return { pipelines: pipelinesOf(this.device), tier: typeof tier === "string" ? makeTier(tier, false) : tier };
  }

  /** @param sizeBytes at least the values' size; the rest is zero */
  upload(values: Float32Array | Uint32Array, sizeBytes = values.byteLength): GPUBuffer {
    const buffer = this.empty(Math.max(sizeBytes, values.byteLength));
    this.write(buffer, values);
    return buffer;
  }

  write(buffer: GPUBuffer, values: Float32Array | Uint32Array, offset = 0): void {
    this.device.queue.writeBuffer(buffer, offset, values as Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>);
  }

  empty(sizeBytes: number): GPUBuffer {
    return this.arena.storage("buffer", sizeBytes);
  }

  /** Rows of `width` values, `paddedWidth(width)` apart, zero between. */
  rows(values: Float32Array, width: number): GPUBuffer {
    return this.upload(padded(values, width, paddedWidth(width)));
  }

  /** A weight matrix in a format, and the values it then stands for (of a K format: as ggml decodes them). */
  matrix(
    format: HeldDtype,
    values: Float32Array,
    rows: number,
    columns: number,
    firstRow = 0,
  ): { part: MatrixPart; values: Float32Array } {
    const packed = packedIn(format, values, rows, columns);
    const part = {
      format,
      rows,
      columns,
      firstRow,
      weights: this.upload(packed.quants),
      scales: packed.scales && this.upload(packed.scales),
    };
    expect(part.weights.size).toBeGreaterThanOrEqual(4 * rows * rowLayout(format, columns).wordsPerRow);
    return { part, values: unpackRows(format, packed, rows, columns) };
  }

  /** The record of a decode step; greedy, not done. */
  record({ position = 0, token = 0 }: { position?: number; token?: number } = {}): GPUBuffer {
    const buffer = this.empty(RECORD_BYTES);
    this.setStep(buffer, position, token);
    return buffer;
  }

  setStep(record: GPUBuffer, position: number, token = 0): void {
    const words = new Uint32Array(2);
    words[POSITION] = position;
    words[TOKEN] = token;
    this.write(record, words);
  }

  /** A chunk of a prompt, with room for `capacity` tokens. */
  chunk(start: number, tokens: Uint32Array, capacity = tokens.length): GPUBuffer {
    const buffer = this.empty(16 + 4 * Math.max(1, capacity));
    this.setChunk(buffer, start, tokens);
    return buffer;
  }

  setChunk(chunk: GPUBuffer, start: number, tokens: Uint32Array): void {
    this.write(chunk, Uint32Array.of(start, tokens.length, 0, 0, ...tokens));
  }

  /** One pass of these dispatches, in order. */
  run(list: readonly Dispatch[], rows = 1): void {
    const encoder = this.device.createCommandEncoder({ label: "test" });
    const pass = encoder.beginComputePass({ label: "test" });
    replay(pass, list, rows);
    pass.end();
    this.device.queue.submit([encoder.finish()]);
  }

  async words(buffer: GPUBuffer, count = buffer.size / 4): Promise<Uint32Array> {
    const size = count * 4;
    const staging = this.device.createBuffer({
      label: "test readback",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const encoder = this.device.createCommandEncoder({ label: "test readback" });
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(staging.getMappedRange().slice(0));
    staging.destroy();
    return words;
  }

  async floats(buffer: GPUBuffer, count = buffer.size / 4): Promise<Float32Array> {
    return new Float32Array((await this.words(buffer, count)).buffer);
  }

  /** Undoes `rows`. @throws if anything but zero stands between the rows */
  async unpadded(buffer: GPUBuffer, rows: number, width: number): Promise<Float32Array> {
    const stride = paddedWidth(width);
    const all = await this.floats(buffer, rows * stride);
    const values = new Float32Array(rows * width);
    for (let row = 0; row < rows; row++) {
      values.set(all.subarray(row * stride, row * stride + width), row * width);
      const padding = all.subarray(row * stride + width, (row + 1) * stride);
      if (padding.some((value) => value !== 0)) throw new Error(`row ${row} is followed by ${padding.join(" ")}`);
    }
    return values;
  }
}

function packedIn(format: HeldDtype, values: Float32Array, rows: number, columns: number): PackedRows {
  if (!isKFormat(format)) return packRows(format, values, rows, columns);
  const type = K_FORMATS[format];
  return keepRows(type, kBlocks(type, values), rows, columns);
}

/** Call once at the top of a test file. */
export function gpuHarness(): GpuHarness {
  const harness = new GpuHarness();
  beforeAll(() => harness.open());
  afterEach(async () => {
    await harness.release();
    expect(await harness.takeErrors(), "errors of the device").toEqual([]);
  });
  afterAll(() => harness.close());
  return harness;
}

/** Rows of `width` values, `stride` apart. */
export function padded(values: ArrayLike<number>, width: number, stride: number): Float32Array {
  const rows = values.length / width;
  const y = new Float32Array(rows * stride);
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < width; i++) y[row * stride + i] = values[row * width + i] as number; // within the row
  }
  return y;
}

/**
 * @param scale what `relative` is relative to: one number for each row; default: the row's largest magnitude
 * @throws where a value is further off
 */
export function expectRows(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  width: number,
  relative: number,
  scale: ArrayLike<number> = largestOfRows(expected, width),
): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    const row = Math.floor(i / width);
    const [a, e, allowed] = [actual[i] as number, expected[i] as number, relative * (scale[row] as number)]; // in range
    if (!(Math.abs(a - e) <= allowed)) {
      throw new Error(
        `row ${row}, column ${i % width} of ${width}: ${a}, expected ${e}; off by ${Math.abs(a - e)}, ${allowed} is allowed`,
      );
    }
  }
}

/** The largest magnitude in each row. */
export function largestOfRows(values: ArrayLike<number>, width: number): Float64Array {
  const largest = new Float64Array(values.length / width);
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / width);
    largest[row] = Math.max(largest[row] as number, Math.abs(values[i] as number)); // in range
  }
  return largest;
}
