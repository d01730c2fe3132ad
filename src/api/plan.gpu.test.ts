/** Plans against what loading then takes. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { TextGenerator, type PlanOptions } from "../index";
import { chain, filesOf, scriptedCheckpoint } from "../testing/scripted-checkpoint";
import { BUNDLED_URL, goldenUrl } from "../testing/served-models";

const MIB = 2 ** 20;

afterEach(() => vi.restoreAllMocks());

describe("the planned bytes are the allocated ones, for", () => {
  const CONFIGURATIONS: [string, string, PlanOptions][] = [
    ["a llama, whatever is chosen", goldenUrl("llama"), {}],
    ["a llama as f32 with 100 positions", goldenUrl("llama"), { dtype: "f32", contextLength: 100 }],
    ["a llama as q4 with an f32 cache", goldenUrl("llama"), { dtype: "q4", kvDtype: "f32" }],
    ["scaled RoPE as f16", goldenUrl("llama-rope3"), { dtype: "f16", contextLength: 333 }],
    ["a gpt2 as q8", goldenUrl("gpt2"), { dtype: "q8", contextLength: 1 }],
    ["a gpt2 as f32 with an f16 cache", goldenUrl("gpt2"), { dtype: "f32", kvDtype: "f16" }],
    ["the bundled model", BUNDLED_URL, {}],
    ["the bundled model in a budget", BUNDLED_URL, { memoryBudgetBytes: 6.5 * MIB }],
    ["a llama that another guesses for", goldenUrl("llama"), { draftModel: goldenUrl("llama"), contextLength: 64 }],
  ];
  test.each(CONFIGURATIONS)("%s", { timeout: 120_000 }, async (_, source, options) => {
    const plan = await TextGenerator.plan(source, options);
    const generator = await TextGenerator.load(source, { ...options, worker: false });
    const { bytes, dtype, kvDtype, contextLength, adapter, tier, parameterCount, modelType, draftModel } =
      generator.info;
    await generator.dispose();
    const { total, ...planned } = plan.bytes;
    expect(planned).toEqual(bytes);
    const draft = draftModel?.bytes ?? { weights: 0, kvCache: 0, activations: 0 };
    expect(plan.draftModel).toEqual(draftModel);
    const own = bytes.weights + bytes.kvCache + bytes.activations;
    expect(total).toBe(own + draft.weights + draft.kvCache + draft.activations);
    expect(plan).toMatchObject({ dtype, kvDtype, contextLength, adapter, tier, parameterCount, modelType });
    expect(plan.kvBytesPerToken * contextLength).toBe(bytes.kvCache);
    expect([plan.verdict, plan.suggestions]).toEqual(["fits", []]);
    if (options.memoryBudgetBytes !== undefined) {
      expect(total).toBeLessThanOrEqual(options.memoryBudgetBytes);
      expect(contextLength).toBeLessThan(512);
    }
  });
});

test("a plan reads the config and the headers, and nothing of the weights", async () => {
  const files = scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "a"], size: 256, table: chain(3) });
  const served: string[] = [];
  const fetching: typeof fetch = async (input, init) => {
    const name = new URL(input instanceof Request ? input.url : input).pathname.split("/").at(-1) ?? "";
    const bytes = files.get(name);
    if (bytes === undefined) return new Response("", { status: 404 });
    if (init?.method === "HEAD") return new Response(null, { headers: { "content-length": String(bytes.length) } });
    const range = /bytes=(\d+)-(\d*)/.exec(new Headers(init?.headers).get("range") ?? "");
    const [start, end] = [Number(range?.[1] ?? 0), Number(range?.[2] || bytes.length - 1)];
    served.push(`${name} ${Math.min(end + 1, bytes.length) - start}`);
    return new Response(new Blob([bytes.slice(start, end + 1)]), {
      status: range ? 206 : 200,
      headers: range ? { "content-range": `bytes ${start}-${end}/${bytes.length}` } : {},
    });
  };
  const plan = await TextGenerator.plan("https://models.test/scripted/", { fetch: fetching, dtype: "f32" });
  expect(plan.verdict).toBe("fits");
  const read = served.filter((each) => each.startsWith("model.safetensors"));
  expect(read).toEqual(["model.safetensors 65536"]);
  expect(plan.downloadBytes).toBe((files.get("model.safetensors")?.length ?? 0) - headerBytes(files));
});

const headerBytes = (files: ReadonlyMap<string, Uint8Array>) => {
  const bytes = files.get("model.safetensors") ?? new Uint8Array(8);
  return 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
};

describe("a model that does not fit", () => {
  test("is told with what would fit, and refused by load before any weight is fetched", async () => {
    const budget = { memoryBudgetBytes: 4.5 * MIB };
    const plan = await TextGenerator.plan(BUNDLED_URL, { dtype: "q8", ...budget });
    expect(plan.verdict).toBe("exceeds");
    expect(plan.reasons[0]).toMatch(/^the weights take 5\.\d MiB as q8; the budget is 4\.5 MiB/);
    expect(plan.bytes.total).toBeGreaterThan(budget.memoryBudgetBytes);
    const [suggestion] = plan.suggestions;
    expect(suggestion?.dtype).toBe("q4");

    /** Of the weights' file: method and range. */
    const fetched: string[] = [];
    const spied: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      if (request.url.endsWith("model.safetensors")) {
        fetched.push(`${request.method} ${request.headers.get("range") ?? ""}`.trim());
      }
      return fetch(request);
    };
    const refused = TextGenerator.load(BUNDLED_URL, { dtype: "q8", fetch: spied, ...budget });
    await expect(refused).rejects.toMatchObject({ code: "out-of-memory" });
    // Whether it is there, and its header: names, shapes and types, which a plan is made from.
    expect(new Set(fetched)).toEqual(new Set(["HEAD", "GET bytes=0-65535"]));

    const generator = await TextGenerator.load(BUNDLED_URL, {
      dtype: suggestion?.dtype ?? "auto",
      contextLength: suggestion?.contextLength ?? 1,
      worker: false,
      ...budget,
    });
    const { weights, kvCache, activations } = generator.info.bytes;
    expect(weights + kvCache + activations).toBe(suggestion?.totalBytes);
    await generator.dispose();
  });

  test("because the GPU has no room for it is told after a trial", async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter?.requestDevice();
    if (device === undefined) throw new Error("no device");
    vi.spyOn(device, "popErrorScope").mockImplementation(async () => new GPUOutOfMemoryError("full"));
    const plan = await TextGenerator.plan(BUNDLED_URL, { device, internal: { tier: "cpu" } });
    expect(plan).toMatchObject({ verdict: "exceeds", suggestions: [] });
    expect(plan.reasons[0]).toMatch(/^the GPU had no room for 7\.\d MiB/);
    device.destroy();
  });
});

test("the options of a plan are checked as those of load, and fewer", async () => {
  const files = filesOf(scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "a"], size: 32, table: chain(3) }));
  const refusal = (name: string): unknown =>
    expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(name) });
  await expect(TextGenerator.plan(files, { worker: false } as PlanOptions)).rejects.toEqual(refusal('"worker"'));
  await expect(TextGenerator.plan(files, { dtype: "q5" as "q4" })).rejects.toEqual(refusal("dtype"));
  await expect(TextGenerator.plan(files, { contextLength: 1e6 })).rejects.toEqual(refusal("contextLength"));
});
