/** Buffers of one owner: labelled, counted, checked for out-of-memory, and destroyed together. */
import { WordloomError } from "../errors";

export const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);

export class BufferArena {
  #buffers = new Set<GPUBuffer>();
  #pending: Promise<void>[] = [];

  constructor(
    private readonly device: GPUDevice,
    private readonly owner: string,
  ) {}

  /** Bytes of all live buffers. */
  get sizeBytes(): number {
    let sum = 0;
    for (const buffer of this.#buffers) sum += buffer.size;
    return sum;
  }

  /** @param sizeBytes rounded up to a multiple of 16; zeroed. Failures surface in `settled()`. */
  create(label: string, sizeBytes: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const size = Math.max(16, Math.ceil(sizeBytes / 16) * 16);
    if (size > this.device.limits.maxBufferSize) {
      throw new WordloomError(
        "device-limit",
        `${label} needs ${mib(size)} MiB in one buffer; this GPU allows ${mib(this.device.limits.maxBufferSize)} MiB`,
      );
    }
    this.device.pushErrorScope("out-of-memory");
    const buffer = this.device.createBuffer({ label: `${this.owner}: ${label}`, size, usage });
    const existence = this.device.popErrorScope().then((error) => {
      if (error !== null)
        throw new WordloomError("out-of-memory", `the GPU had no room for ${label} (${mib(size)} MiB)`);
    });
    existence.catch(() => undefined); // reported by settled(), which may be called later than this fails
    this.#pending.push(existence);
    this.#buffers.add(buffer);
    return buffer;
  }

  /** A buffer that kernels read or write and the host may fill, copy from or clear. */
  storage(label: string, sizeBytes: number): GPUBuffer {
    return this.create(label, sizeBytes, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC);
  }

  /** Resolves when every buffer made so far is known to exist; rejects with `out-of-memory`. */
  async settled(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    const results = await Promise.allSettled(pending);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  destroy(): void {
    for (const buffer of this.#buffers) buffer.destroy();
    this.#buffers.clear();
  }
}
