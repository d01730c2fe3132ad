import { beforeEach, expect, test, vi } from "vitest";
import { BufferArena } from "./buffers";

/** A device with room for so many bytes; tells of a failure as WebGPU does, when its error scope is popped. */
class FakeDevice {
  limits = { maxBufferSize: 1 << 20 };
  used = 0;
  destroyed = 0;
  #failed = false;
  constructor(private readonly room: number) {}

  pushErrorScope(): void {
    this.#failed = false;
  }

  createBuffer({ size, label }: GPUBufferDescriptor) {
    this.used += size;
    this.#failed = this.used > this.room;
    return { size, label, destroy: () => void this.destroyed++ };
  }

  popErrorScope(): Promise<unknown> {
    return Promise.resolve(this.#failed ? { message: "no memory" } : null);
  }
}

const arenaOf = (device: FakeDevice) => new BufferArena(device as unknown as GPUDevice, "weights");

beforeEach(() => {
  vi.stubGlobal("GPUBufferUsage", { STORAGE: 1, COPY_DST: 2, COPY_SRC: 4 });
});

test("sizes are rounded up to 16 bytes and counted until destroyed", () => {
  const device = new FakeDevice(1e9);
  const arena = arenaOf(device);
  for (const [size, rounded] of [
    [0, 16],
    [1, 16],
    [16, 16],
    [17, 32],
  ] as const) {
    expect(arena.storage("a", size).size).toBe(rounded);
  }
  expect(arena.sizeBytes).toBe(80);
  arena.destroy();
  expect(arena.sizeBytes).toBe(0);
  expect(device.destroyed).toBe(4);
});

test("a buffer is labelled with its owner", () => {
  expect(arenaOf(new FakeDevice(1e9)).storage("q.weight", 4).label).toBe("weights: q.weight");
});

test("one larger than the GPU allows is refused at once, with both sizes", () => {
  const arena = arenaOf(new FakeDevice(1e9));
  arena.storage("fits", 1 << 20);
  expect(() => arena.storage("head.weight", (1 << 20) + 1)).toThrow(
    expect.objectContaining({
      code: "device-limit",
      message: "head.weight needs 1.0 MiB in one buffer; this GPU allows 1.0 MiB",
    }),
  );
  expect(arena.sizeBytes).toBe(1 << 20);
});

test("settled() resolves where all is well, and rejects with out-of-memory naming the first that had no room", async () => {
  const arena = arenaOf(new FakeDevice(1 << 20));
  arena.storage("first", 1 << 20);
  await arena.settled();
  arena.storage("second", 1 << 19);
  arena.storage("third", 1 << 19);
  const settled = arena.settled();
  await expect(settled).rejects.toMatchObject({
    code: "out-of-memory",
    message: "the GPU had no room for second (0.5 MiB)",
  });
  await arena.settled(); // told once
});

test("a failure that nobody has asked about yet is no unhandled rejection", async () => {
  const arena = arenaOf(new FakeDevice(16));
  arena.storage("first", 64);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await expect(arena.settled()).rejects.toMatchObject({ code: "out-of-memory" });
});
