/** Kept models in Chromium's own private file system. No GPU is used: the project is the one that runs in a browser. */
import { afterAll, describe, expect, test } from "vitest";
import { modelStorage, TextGenerator } from "../index";
import { goldenUrl } from "../testing/served-models";
import { SCENARIO_BYTES, storageScenario, type ScenarioResult } from "../testing/storage-scenario";

function inWorker(): Promise<ScenarioResult> {
  const worker = new Worker(new URL("../testing/storage-scenario.worker.ts", import.meta.url), { type: "module" });
  return new Promise<ScenarioResult>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<{ result: ScenarioResult } | { failure: string }>) =>
      "result" in data ? resolve(data.result) : reject(new Error(data.failure));
    worker.onerror = (event) => reject(new Error(event.message));
  }).finally(() => worker.terminate());
}

describe.each([
  ["on the page", () => storageScenario("on-the-page.test"), "createWritable"],
  ["in a worker", inWorker, "createSyncAccessHandle"],
])("%s", (_, run, way) => {
  test("a model is fetched once, read from here, cut and gone on with, deleted, and fetched once by two", async () => {
    const result = await run();
    const kept = { isRight: true, stored: true, reason: "kept in this browser's storage" };
    expect(result).toEqual({
      way,
      steps: {
        first: { ...kept, sentBytes: SCENARIO_BYTES, requests: 3 },
        "from here": { ...kept, reason: "read from this browser's storage", sentBytes: 0, requests: 0 },
        listed: { bytes: SCENARIO_BYTES, complete: true },
        deleted: 0,
        cut: { ...kept, sentBytes: expect.any(Number), requests: expect.any(Number) },
        resumed: { ...kept, sentBytes: expect.any(Number), requests: 2 },
        "two at once": { isRight: [true, true], stored: [true, true] },
        "bytes of two": expect.any(Number),
      },
    });
    const { cut, resumed } = result.steps as Record<string, { sentBytes: number }>;
    expect(cut?.sentBytes).toBeLessThanOrEqual(1.05 * SCENARIO_BYTES);
    expect(resumed?.sentBytes).toBeLessThanOrEqual(600_000);
    expect(result.steps["bytes of two"]).toBeLessThanOrEqual(1.05 * SCENARIO_BYTES);
  });
});

describe("a model loaded through the API", () => {
  const source = new URL(goldenUrl("llama"), location.href).href;
  const stored = async () => (await modelStorage.list()).filter((model) => model.source === source);
  afterAll(async () => {
    for (const model of await stored()) await modelStorage.delete(model);
  });

  test("is kept if asked, in the worker, loads from there without the network, and can be deleted", async () => {
    const text = async (options: Parameters<typeof TextGenerator.load>[1]) => {
      const generator = await TextGenerator.load(source, { backend: "reference", ...options });
      const written = await generator.generate("a", { maxNewTokens: 4 }).text();
      const { worker, storeReason } = generator.info;
      await generator.dispose();
      return { written, worker, storeReason };
    };
    const first = await text({ store: "on" });
    expect(first).toMatchObject({ worker: true, storeReason: "kept in this browser's storage" });
    const offline = await text({ store: "on", fetch: () => Promise.reject(new Error("there is no network")) });
    expect(offline).toEqual({ ...first, worker: false, storeReason: "read from this browser's storage" });
    const [model] = await stored();
    expect(model).toMatchObject({ complete: true });
    expect(model?.files.map(({ name }) => name)).toContain("model.safetensors");
    expect((await modelStorage.room()).usedBytes).toBeGreaterThanOrEqual(model?.bytes ?? Infinity);
    if (model !== undefined) await modelStorage.delete(model);
    expect(await stored()).toEqual([]);
  });

  test("from the page's own server is not kept by itself", async () => {
    const generator = await TextGenerator.load(source, { backend: "reference" });
    expect(generator.info).toMatchObject({
      stored: false,
      storeReason: "not kept: the page's own server has the files",
    });
    await generator.dispose();
    expect(await stored()).toEqual([]);
  });
});
