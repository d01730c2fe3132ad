import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { foreignContent } from "../formats/foreign-content";
import { readBytes } from "../formats/read-json";
import { cuttingServer, type CuttingServer } from "../testing/cutting-server";
import { memoryStorage, type MemoryStorage } from "../testing/memory-storage";
import { seededRandom } from "../testing/random";
import type { LoadOutcome } from "./kept-files";
import { ModelStore } from "./model-store";
import { openModel, type OpenModelOptions } from "./open-model";
import { RETRY_POLICY } from "./retries";

const WEIGHTS = Uint8Array.from({ length: 2_000_000 }, (_, i) => (i * 31 + (i >> 8)) & 255);
const CONFIG = new TextEncoder().encode('{"a":1}');
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const same = (bytes: Uint8Array, expected: Uint8Array) => Buffer.compare(bytes, expected) === 0;

let server: CuttingServer;
let place: MemoryStorage;
beforeEach(async () => {
  server = await cuttingServer({ "config.json": CONFIG, "model.safetensors": WEIGHTS });
  place = memoryStorage({ writes: "sync" });
});
afterEach(() => server.close());

const open = (options: Partial<OpenModelOptions> = {}) =>
  openModel(server.url, {
    store: "auto",
    sha256: {},
    foreign: foreignContent,
    place,
    retries: { ...RETRY_POLICY, delayMs: 1 },
    ...options,
  });

/** Reads as an engine does: settings, the header of the weights, then the weights from there. */
async function load(options: Partial<OpenModelOptions> = {}, outcome: LoadOutcome = "loaded") {
  const { files, settle } = await open(options);
  const config = await files.find("config.json");
  await files.find("generation_config.json");
  const weights = await files.find("model.safetensors");
  if (config === undefined || weights === undefined) throw new Error("a file is missing");
  const { signal } = options;
  const read = { maxBytes: 1e8, ...(signal === undefined ? {} : { signal }) };
  try {
    await readBytes(config, read);
    const header = await readBytes(weights, { ...read, end: 64 * 1024 });
    const rest = await readBytes(weights, { ...read, start: 1000 });
    const isRight = same(header, WEIGHTS.subarray(0, header.length)) && same(rest, WEIGHTS.subarray(1000));
    return { isRight, ...(await settle(outcome)) };
  } catch (error) {
    await settle(outcome === "loaded" ? "broken" : outcome);
    throw error;
  }
}

const models = () => new ModelStore(place).list();
const noNetwork: typeof fetch = (input) => Promise.reject(new Error(`${String(input as string)} was asked for`));

describe.each(["sync", "writable"] as const)("a model that is kept (%s)", (writes) => {
  beforeEach(() => {
    place = memoryStorage({ writes });
  });

  test("comes over the network once, and from here the next time", async () => {
    expect(await load()).toEqual({ isRight: true, stored: true, reason: "kept in this browser's storage" });
    expect(server.sentBytes).toBe(CONFIG.length + WEIGHTS.length);
    const again = await load({ fetch: noNetwork });
    expect(again).toEqual({ isRight: true, stored: true, reason: "read from this browser's storage" });
  });

  test("is listed with its files, sizes and hashes, and when it was loaded, and deleted", async () => {
    const before = Date.now();
    await load();
    const [model, ...others] = await models();
    expect(others).toEqual([]);
    expect(model).toMatchObject({
      source: server.url,
      revision: "",
      bytes: CONFIG.length + WEIGHTS.length,
      complete: true,
      usedAt: expect.any(Date) as unknown,
      files: [
        { name: "config.json", bytes: CONFIG.length, sizeBytes: CONFIG.length, whole: true, sha256: sha256(CONFIG) },
        { name: "model.safetensors", bytes: WEIGHTS.length, whole: true, sha256: sha256(WEIGHTS) },
      ],
    });
    expect(model?.usedAt?.getTime()).toBeGreaterThanOrEqual(before);
    await new ModelStore(place).delete(model?.id ?? "");
    expect(await models()).toEqual([]);
    expect([...place.contents.keys()]).toEqual([]);
    expect((await load()).stored).toBe(true);
  });

  test("goes on after a stop where it was, and fetches at most 5 % twice", async () => {
    const abort = new AbortController();
    const { files, settle } = await open({ signal: abort.signal });
    const reader = (await (await files.find("model.safetensors"))?.stream({ signal: abort.signal }))?.getReader();
    for (let bytes = 0; bytes < 1_200_000;) bytes += (await reader?.read())?.value?.length ?? Infinity;
    abort.abort("enough");
    await expect(reader?.read()).rejects.toBe("enough");
    await settle("stopped");
    const [partial] = await models();
    expect(partial?.files[0]?.bytes).toBeGreaterThanOrEqual(1_200_000);
    expect(partial).toMatchObject({ complete: false, usedAt: undefined, files: [{ whole: false }] });
    server.sentBytes = 0;
    expect(await load()).toMatchObject({ isRight: true, stored: true });
    expect(server.sentBytes).toBeLessThanOrEqual(0.45 * WEIGHTS.length);
    expect((await models())[0]?.files[1]?.sha256).toBe(sha256(WEIGHTS));
  });

  test("that is cut at 20 random places is whole in the end, and at most 5 % is fetched twice", async () => {
    const random = seededRandom(5);
    const cuts = Array.from({ length: 20 }, () => Math.floor(random() * WEIGHTS.length)).sort((a, b) => a - b);
    const file = server.files.get("model.safetensors");
    if (file !== undefined) file.cuts = cuts;
    expect(await load({ sha256: { "model.safetensors": sha256(WEIGHTS) } })).toMatchObject({
      isRight: true,
      stored: true,
    });
    expect(server.log.filter((line) => line.startsWith("GET")).length).toBeGreaterThan(18);
    expect(server.sentBytes).toBeLessThanOrEqual(1.05 * WEIGHTS.length + CONFIG.length);
  });

  test("is not fetched twice where its end is read before its middle, and how far it has come is told", async () => {
    let takenBytes = 0;
    const counting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const reader = response.body?.getReader();
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            const part = await reader?.read();
            if (part === undefined || part.done) return controller.close();
            takenBytes += part.value.length;
            controller.enqueue(part.value);
          },
          cancel: (reason) => reader?.cancel(reason),
        },
        { highWaterMark: 0 },
      );
      return new Response(body, response);
    };
    const { files, settle } = await open({ fetch: counting, sha256: { "model.safetensors": sha256(WEIGHTS) } });
    const weights = await files.find("model.safetensors");
    if (weights === undefined) throw new Error("a file is missing");
    const reader = (await weights.stream({ start: 1000 })).getReader();
    const parts = [(await reader.read()).value?.slice() ?? new Uint8Array()];
    const passed: number[] = [];
    const [start, end] = [1_900_000, 1_900_100];
    const onPassed = (position: number) => passed.push(position);
    const side = await readBytes(weights, { start, end, maxBytes: 100, onPassed });
    expect(same(side, WEIGHTS.subarray(start, end))).toBe(true);
    expect(passed.length).toBeGreaterThan(3);
    expect(passed).toEqual([...passed].sort((a, b) => a - b));
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value.slice());
    expect(same(Buffer.concat(parts), WEIGHTS.subarray(1000))).toBe(true);
    expect(await settle("loaded")).toMatchObject({ stored: true });
    expect(takenBytes).toBeLessThan(1.1 * WEIGHTS.length);
  });

  test("that 20 visits in a row fetch a part of is whole after the last, and at most 5 % is fetched twice", async () => {
    const random = seededRandom(6);
    const cuts = Array.from({ length: 20 }, () => 1 + Math.floor(random() * (WEIGHTS.length - 1))).sort(
      (a, b) => a - b,
    );
    const file = server.files.get("model.safetensors");
    if (file !== undefined) file.cuts = [...cuts];
    const sha = { "model.safetensors": sha256(WEIGHTS) };
    const untilItBreaks = { ...RETRY_POLICY, firstContact: 0, inARow: 0 };
    for (const cut of cuts) {
      await expect(load({ retries: untilItBreaks, sha256: sha }, "stopped")).rejects.toMatchObject({
        code: "network-failed",
      });
      expect((await models())[0]?.files.find(({ name }) => name === "model.safetensors")).toMatchObject({
        bytes: cut,
        whole: false,
      });
    }
    expect(await load({ sha256: sha })).toMatchObject({ isRight: true, stored: true });
    expect((await models())[0]?.files[1]).toMatchObject({ whole: true, sha256: sha256(WEIGHTS) });
    expect(server.sentBytes).toBeLessThanOrEqual(1.05 * WEIGHTS.length + CONFIG.length);
  }, 30_000);
});

describe("what is here in part", () => {
  const partly = async () => {
    const { files, settle } = await open();
    const weights = await files.find("model.safetensors");
    if (weights !== undefined) await readBytes(weights, { end: 1_000_000, maxBytes: 1e7 });
    await settle("stopped");
  };
  const kept = () => [...place.contents.keys()].find((path) => path.endsWith("model.safetensors.0")) ?? "";

  test("is dropped where the server has another state of the file", async () => {
    await partly();
    const file = server.files.get("model.safetensors");
    if (file !== undefined) file.etag = '"v2"';
    server.sentBytes = 0;
    expect(await load()).toMatchObject({ isRight: true, stored: true });
    expect(server.sentBytes).toBe(WEIGHTS.length + CONFIG.length);
  });

  test("is found out where a byte of it has changed, and nothing of it stays", async () => {
    await partly();
    const bytes = place.contents.get(kept());
    if (bytes !== undefined) bytes[500_000] = (bytes[500_000] ?? 0) ^ 1;
    await expect(load()).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(/model.safetensors is damaged: its first 1000000 bytes/) as string,
    });
    expect(place.contents.has(kept())).toBe(false);
    expect(await load()).toMatchObject({ isRight: true, stored: true });
  });

  test("is dropped where the browser has lost some of it", async () => {
    await partly();
    place.contents.set(kept(), new Uint8Array(10));
    expect(await load()).toMatchObject({ isRight: true, stored: true });
  });

  test("is never taken for the whole", async () => {
    await partly();
    await expect(load({ fetch: noNetwork })).rejects.toThrow();
  });
});

describe("nothing is kept of", () => {
  test("a file with another hash than the expected one", async () => {
    const expected = { "model.safetensors": "0".repeat(64) };
    await expect(load({ sha256: expected })).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(new RegExp(`SHA-256 is ${sha256(WEIGHTS)}, it should be 0000`)) as string,
    });
    expect((await models()).flatMap(({ files }) => files)).toEqual([]);
    await expect(load({ store: "off", sha256: expected })).rejects.toMatchObject({ code: "file-invalid" });
  });

  test("a web page, however it is called, and the file is fetched at the next visit", async () => {
    const page = new TextEncoder().encode("<!doctype html><html><body>app</body></html>");
    server.answer = (_, response, name) => {
      if (name !== "model.safetensors") return false;
      response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": page.length }).end(page);
      return true;
    };
    await load({}, "broken");
    expect((await models()).flatMap(({ files }) => files)).toEqual([]);
    server.answer = undefined;
    expect(await load()).toMatchObject({ isRight: true, stored: true });
  });

  test("a web page in place of a file that may be missing, which then counts as missing here, too", async () => {
    const page = new TextEncoder().encode("<!doctype html><html><body>app</body></html>");
    server.answer = (_, response, name) => {
      if (name === "config.json" || name === "model.safetensors") return false;
      response.writeHead(200, { "Content-Length": page.length }).end(page);
      return true;
    };
    const { files, settle } = await open();
    for (const name of ["config.json", "generation_config.json"]) {
      const file = await files.find(name);
      if (file !== undefined) await readBytes(file, { maxBytes: 1000 });
    }
    expect(await settle("loaded")).toMatchObject({ stored: true });
    const again = await open({ fetch: noNetwork });
    expect(await again.files.find("generation_config.json")).toBeUndefined();
    await again.settle("stopped");
    expect((await models())[0]?.files.map(({ name }) => name)).toEqual(["config.json"]);
  });

  test("a short body", async () => {
    server.answer = (request, response, name) => {
      if (name !== "model.safetensors" || request.method === "HEAD") return false;
      response.writeHead(200).end(WEIGHTS.subarray(0, 70_000));
      return true;
    };
    await expect(load()).rejects.toMatchObject({ code: "file-invalid" });
    expect((await models()).flatMap(({ files }) => files)).toEqual([]);
  });

  test("a model whose files turned out to be wrong, unless a hash vouches for them", async () => {
    await load({ sha256: { "model.safetensors": sha256(WEIGHTS) } }, "broken");
    expect((await models())[0]?.files.map(({ name }) => name)).toEqual(["model.safetensors"]);
    await load();
    await load({ fetch: noNetwork }, "broken");
    expect((await models())[0]?.files.map(({ name }) => name)).toEqual(["model.safetensors"]);
  });
});

test("a hash for a file that is not read is refused by its name", async () => {
  const { files, settle } = await open({ sha256: { "model.safetensor": sha256(WEIGHTS) } });
  await files.find("config.json");
  await expect(settle("loaded")).rejects.toMatchObject({
    code: "option-invalid",
    message: expect.stringContaining("model.safetensor,") as string,
  });
});

describe("without room", () => {
  test("that the browser tells beforehand, the model comes all the same, and the reason is told", async () => {
    place.saidQuotaBytes = 2_000_000;
    const { isRight, stored, reason } = await load();
    expect({ isRight, stored }).toEqual({ isRight: true, stored: false });
    expect(reason).toMatch(/not kept: model.safetensors needs 2 MiB of storage, and \d MiB are free/);
    expect((await models()).flatMap(({ files }) => files.map(({ name }) => name))).toEqual(["config.json"]);
  });

  test.each(["sync", "writable"] as const)(
    "that shows while writing (%s), likewise, and nothing half stays",
    async (writes) => {
      place = memoryStorage({ writes });
      place.quotaBytes = 1_500_000;
      place.saidQuotaBytes = 1e9;
      const { isRight, stored, reason } = await load();
      expect({ isRight, stored }).toEqual({ isRight: true, stored: false });
      expect(reason).toMatch(/model.safetensors could not be kept: there is no room left/);
      expect([...place.contents.keys()].filter((path) => path.includes("model.safetensors"))).toEqual([]);
    },
  );

  test("and without any way to write, likewise", async () => {
    place = memoryStorage({ writes: "neither" });
    expect(await load()).toMatchObject({
      isRight: true,
      stored: false,
      reason: expect.stringMatching(/storage failed/),
    });
  });
});

describe("two at once", () => {
  test("fetch a model once", async () => {
    const both = await Promise.all([load(), load()]);
    expect(both).toMatchObject([
      { isRight: true, stored: true },
      { isRight: true, stored: true },
    ]);
    expect(server.log.filter((line) => line.startsWith("GET model.safetensors 6")).length).toBe(1);
    expect(server.sentBytes).toBe(CONFIG.length + WEIGHTS.length);
  });

  test("when one stops, the other goes on from there", async () => {
    const abort = new AbortController();
    const first = await open({ signal: abort.signal });
    const reader = (await (await first.files.find("model.safetensors"))?.stream({ signal: abort.signal }))?.getReader();
    for (let bytes = 0; bytes < 1_000_000;) bytes += (await reader?.read())?.value?.length ?? Infinity;
    const second = load();
    await new Promise((resolve) => setTimeout(resolve, 50));
    server.sentBytes = 0;
    abort.abort("enough");
    await first.settle("stopped");
    expect(await second).toMatchObject({ isRight: true, stored: true });
    expect(server.sentBytes).toBeLessThanOrEqual(0.55 * WEIGHTS.length);
  });

  test("a model that is being loaded is not deleted", async () => {
    const { settle } = await open();
    const [model] = await models();
    await expect(new ModelStore(place).delete(model?.id ?? "")).rejects.toMatchObject({ code: "storage-failed" });
    await settle("stopped");
    await new ModelStore(place).delete(model?.id ?? "");
    expect(await models()).toEqual([]);
  });

  test("waiting for the other ends with an abort", async () => {
    const first = await open();
    const weights = await first.files.find("model.safetensors");
    await weights?.stream();
    const abort = new AbortController();
    setTimeout(() => abort.abort("enough"), 30);
    await expect(load({ signal: abort.signal })).rejects.toBe("enough");
    await first.settle("stopped");
  });
});

describe("the option store", () => {
  test("off neither keeps nor uses what is kept", async () => {
    await load();
    server.sentBytes = 0;
    expect(await load({ store: "off" })).toEqual({
      isRight: true,
      stored: false,
      reason: "not kept: the option store is off",
    });
    expect(server.sentBytes).toBeGreaterThan(WEIGHTS.length);
  });

  test("refresh asks whether what is kept is the source's present state, and fetches what is not", async () => {
    await load();
    server.sentBytes = 0;
    await load({ store: "refresh" });
    expect(server.sentBytes).toBe(0);
    const config = server.files.get("config.json");
    if (config !== undefined) server.files.set("config.json", { ...config, etag: '"v2"' });
    await load({ store: "refresh" });
    expect(server.sentBytes).toBe(CONFIG.length);
  });

  test("auto does not copy what the page's own server has, on does", async () => {
    const page = { href: `${new URL("/", server.url).href}index.html`, origin: new URL(server.url).origin };
    Object.defineProperty(globalThis, "location", { value: page, configurable: true });
    try {
      expect(await load()).toEqual({
        isRight: true,
        stored: false,
        reason: "not kept: the page's own server has the files",
      });
      expect((await load({ store: "on" })).stored).toBe(true);
    } finally {
      Reflect.deleteProperty(globalThis, "location");
    }
  });

  test("files of this device are not copied, and can be checked", async () => {
    const list = [new File([CONFIG], "config.json"), new File([WEIGHTS], "model.safetensors")];
    const options = { store: "on", foreign: foreignContent, place } as const;
    const { files, settle } = await openModel(list, { ...options, sha256: { "config.json": "1".repeat(64) } });
    const config = await files.find("config.json");
    await expect(config && readBytes(config, { maxBytes: 100 })).rejects.toMatchObject({ code: "file-invalid" });
    expect(await settle("broken")).toEqual({ stored: false, reason: "not kept: the files are on this device already" });
    expect(place.contents.size).toBe(0);
  });
});
