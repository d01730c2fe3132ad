/** Copies of the KV cache, out of the GPU and back. The layout of the buffers is shaders/lib/kv_cache.wgsl's. */
import { WordloomError } from "../../errors";
import { bytesOfNumber, bytesPerPosition, type CacheLayout } from "../cache-layout";

export class CacheCopier {
  readonly #device: GPUDevice;
  readonly #recorder: { readonly cacheBuffers: readonly GPUBuffer[] };
  readonly #layout: CacheLayout;
  readonly #capacity: number;

  /** @param capacity positions that the cache holds */
  constructor(
    device: GPUDevice,
    recorder: { readonly cacheBuffers: readonly GPUBuffer[] },
    layout: CacheLayout,
    capacity: number,
  ) {
    this.#device = device;
    this.#recorder = recorder;
    this.#layout = layout;
    this.#capacity = capacity;
  }

  /** Through a staging buffer of just that size, which is gone afterwards. */
  async read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    const size = (end - start) * bytesPerPosition(this.#layout);
    const staging = this.#device.createBuffer({
      label: "kv cache readback",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    try {
      const encoder = this.#device.createCommandEncoder({ label: "kv cache readback" });
      this.#eachHead(start, end, (buffer, at, copyAt, bytes) =>
        encoder.copyBufferToBuffer(buffer, at, staging, copyAt, bytes),
      );
      this.#device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      return new Uint8Array(staging.getMappedRange().slice(0));
    } finally {
      staging.destroy();
    }
  }

  write(start: number, bytes: Uint8Array): void {
    const end = start + bytes.length / bytesPerPosition(this.#layout);
    // Never shared memory, which is all that the wider type would add.
    const source = bytes as Uint8Array<ArrayBuffer>;
    this.#eachHead(start, end, (buffer, at, copyAt, size) =>
      this.#device.queue.writeBuffer(buffer, at, source, copyAt, size),
    );
  }

  /** A head's positions lie together, in the cache and in the copy. */
  #eachHead(
    start: number,
    end: number,
    visit: (buffer: GPUBuffer, at: number, copyAt: number, bytes: number) => void,
  ): void {
    if (!(Number.isInteger(end) && start >= 0 && start < end && end <= this.#capacity)) {
      throw new WordloomError("internal", `positions ${start} to ${end} of a cache with ${this.#capacity}`);
    }
    const buffers = this.#recorder.cacheBuffers;
    let copyAt = 0;
    this.#layout.arrays.forEach(({ heads, width }, index) => {
      const buffer = buffers[index];
      if (!buffer)
        throw new WordloomError("internal", `the cache has ${buffers.length} buffers, none of number ${index}`);
      const positionBytes = width * bytesOfNumber(this.#layout.format);
      for (let head = 0; head < heads; head++) {
        const bytes = (end - start) * positionBytes;
        visit(buffer, (head * this.#capacity + start) * positionBytes, copyAt, bytes);
        copyAt += bytes;
      }
    });
  }
}
