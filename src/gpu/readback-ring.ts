/**
 * Staging buffers in rotation, so that reading one step back never holds up the next.
 * A mapped buffer cannot be copied to; with run-ahead depth k at most k + 1 are away, so k + 2 suffice.
 */
import type { BufferArena } from "./buffers";

export class ReadbackRing {
  #free: GPUBuffer[];

  constructor(
    arena: BufferArena,
    slots: number,
    readonly sizeBytes: number,
  ) {
    this.#free = Array.from({ length: slots }, (_, index) =>
      arena.create(`readback ${index}`, sizeBytes, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST),
    );
  }

  /** A free buffer to copy to; undefined if all are away (the caller has too many steps in flight). */
  take(): GPUBuffer | undefined {
    return this.#free.pop();
  }

  /** After the submit: its content once the GPU is done (a copy); the buffer is free again. */
  async read(buffer: GPUBuffer, sizeBytes: number): Promise<ArrayBuffer> {
    await buffer.mapAsync(GPUMapMode.READ, 0, sizeBytes);
    const copy = buffer.getMappedRange(0, sizeBytes).slice(0);
    buffer.unmap();
    this.#free.push(buffer);
    return copy;
  }
}
