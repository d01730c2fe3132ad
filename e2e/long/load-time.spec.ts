/** How long a model of 1 GiB takes from a local server to ready, beside the least that any loader has to do. */
import { performance } from "node:perf_hooks";
import type { Page } from "@playwright/test";
import { packRows, type PackedRows } from "../../src/formats/quantization";
import { Sha256 } from "../../src/storage/sha256";
import { normalValues, seededRandom } from "../../src/testing/random";
import type { TextGenerator } from "../../src/index";
import { expect, test } from "../fixtures";
import { serveCheckpoint, SMOLLM2 } from "./checkpoint-server";

const MIB = 2 ** 20;
const ROUNDS = 3;

/** The built library, as a page would import it. */
test.use({ baseURL: `http://127.0.0.1:${process.env["WORDLOOM_EXAMPLES_PORT"]}/`, expectedErrors: [/404/] });
const LIBRARY = "/dist-lib/index.js";
interface Library {
  TextGenerator: typeof TextGenerator;
}

/** In a worker: a body's bytes into buffers, 4 MiB at a time, and nothing else. Answers with milliseconds. */
const PLAIN = `
onmessage = async ({ data: { url, sizeBytes } }) => {
  const PIECE = 4 * 2 ** 20, BUFFER = 128 * 2 ** 20;
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const start = performance.now();
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const buffers = Array.from({ length: Math.ceil(sizeBytes / BUFFER) }, () => device.createBuffer({ size: BUFFER, usage }));
  const piece = new Uint8Array(PIECE);
  let filled = 0, written = 0;
  const write = (length) => {
    device.queue.writeBuffer(buffers[Math.floor(written / BUFFER)], written % BUFFER, piece, 0, length);
    written += length;
    filled = 0;
  };
  const reader = (await fetch(url)).body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (let at = 0; at < value.length; ) {
      const part = value.subarray(at, at + PIECE - filled);
      piece.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled === PIECE) write(PIECE);
    }
  }
  write(Math.ceil(filled / 4) * 4);
  await device.queue.onSubmittedWorkDone();
  const elapsedMs = performance.now() - start;
  device.destroy();
  postMessage(elapsedMs);
};`;

async function plainMs(page: Page, url: string, sizeBytes: number): Promise<number> {
  return page.evaluate(
    ({ source, ...request }) =>
      new Promise<number>((resolve, reject) => {
        const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
        worker.onmessage = ({ data }: MessageEvent<number>) => {
          worker.terminate();
          resolve(data);
        };
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage(request);
      }),
    { source: PLAIN, url, sizeBytes },
  );
}

const OPTIONS = { dtype: "f16", store: "off" } as const;

/** From the call to a generator that is ready, in its worker; the library has been imported before. */
async function loadMs(page: Page, url: string): Promise<{ elapsedMs: number; adapter: string }> {
  return page.evaluate(
    async ({ library, url, options }) => {
      const { TextGenerator } = (await import(library)) as Library; // what is served there
      const start = performance.now();
      const generator = await TextGenerator.load(url, options);
      const elapsedMs = performance.now() - start;
      const { adapter } = generator.info;
      if (generator.info.dtype !== options.dtype || !generator.info.worker) throw new Error("not what was asked for");
      await generator.dispose();
      return { elapsedMs, adapter };
    },
    { library: LIBRARY, url, options: OPTIONS },
  );
}

/** What the plan says, and the sizes of all buffers that are there after loading, on a page that counts them. */
async function memory(page: Page, url: string): Promise<{ planned: number; counted: number }> {
  return page.evaluate(
    async ({ library, url, options }) => {
      const { TextGenerator } = (await import(library)) as Library; // what is served there
      const plan = await TextGenerator.plan(url, options);
      const alive = new Map<GPUBuffer, number>();
      const { createBuffer } = GPUDevice.prototype;
      const { destroy } = GPUBuffer.prototype;
      GPUDevice.prototype.createBuffer = function (descriptor) {
        const buffer = createBuffer.call(this, descriptor);
        alive.set(buffer, buffer.size);
        return buffer;
      };
      GPUBuffer.prototype.destroy = function () {
        alive.delete(this);
        return destroy.call(this);
      };
      const generator = await TextGenerator.load(url, { ...options, worker: false });
      const counted = [...alive.values()].reduce((sum, bytes) => sum + bytes, 0);
      await generator.dispose();
      return { planned: plan.bytes.total, counted };
    },
    { library: LIBRARY, url, options: OPTIONS },
  );
}

/** MB of input a second, of work that the load above leaves out; in this process, which runs the same compiler. */
function rates(): string {
  const [rows, columns] = [4096, 960];
  const values = normalValues(seededRandom(1), rows * columns, 0.02);
  const bytes = new Uint8Array(values.buffer);
  const hash = new Sha256();
  let packed: PackedRows | undefined;
  const rateOf = (inputBytes: number, work: () => void) => {
    work();
    const start = performance.now();
    let rounds = 0;
    while (performance.now() - start < 2000) {
      work();
      rounds++;
    }
    return Math.round((rounds * inputBytes) / 1000 / (performance.now() - start));
  };
  const sha256 = rateOf(bytes.length, () => hash.update(bytes));
  // In bytes of the file, which has two for each weight.
  const quantizing = (["q8", "q4"] as const).map((dtype) => {
    const rate = rateOf(2 * values.length, () => (packed = packRows(dtype, values, rows, columns, packed)));
    return `to ${dtype} ${rate} MB/s`;
  });
  return `SHA-256 ${sha256} MB/s; quantizing ${quantizing.join(", ")} (of 16-bit weights)`;
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
const seconds = (ms: readonly number[]) => ms.map((each) => (each / 1000).toFixed(2)).join(", ");

test("1 GiB of f16 is ready within twice the time of fetching and writing it, in the memory of the plan", async ({
  page,
}) => {
  const server = await serveCheckpoint(SMOLLM2);
  expect(server.sizeBytes).toBeGreaterThanOrEqual(1024 * MIB);
  await page.route("**/models/big/**", (route) =>
    route.continue({ url: server.url + (route.request().url().split("/").at(-1) ?? "") }),
  );
  await page.goto("./examples/text-generator/");
  const folder = new URL("/models/big/", page.url()).href;
  const file = `${folder}model.safetensors`;
  // Once for what a first time costs: code that is compiled, shaders that are cached.
  await plainMs(page, file, server.sizeBytes);
  await loadMs(page, folder);
  const plain: number[] = [];
  const loads: number[] = [];
  let adapter = "";
  for (let round = 0; round < ROUNDS; round++) {
    plain.push(await plainMs(page, file, server.sizeBytes));
    const loaded = await loadMs(page, folder);
    loads.push(loaded.elapsedMs);
    adapter = loaded.adapter;
  }
  const { planned, counted } = await memory(page, folder);
  const ratio = median(loads) / median(plain);
  console.log(
    [
      `${(server.sizeBytes / MIB).toFixed(1)} MiB on ${adapter}: fetch and writeBuffer ${seconds(plain)} s, ` +
        `load ${seconds(loads)} s; ratio of medians ${ratio.toFixed(2)}`,
      `GPU buffers ${(counted / MIB).toFixed(1)} MiB, planned ${(planned / MIB).toFixed(1)} MiB`,
      rates(),
    ].join("\n"),
  );
  expect(Math.abs(counted / planned - 1)).toBeLessThan(0.03);
  expect(ratio).toBeLessThanOrEqual(2);
  await server.close();
});
