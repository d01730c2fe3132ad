/** The failures of the table (failures.test.ts) that need a GPU, or a browser without one. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { TextGenerator, WordloomError, type LoadOptions } from "../index";
import { chain, filesOf, scriptedCheckpoint } from "../testing/scripted-checkpoint";

const model = filesOf(scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "a"], size: 32, table: chain(3) }));

async function failureOf(promise: Promise<unknown>): Promise<WordloomError> {
  const error: unknown = await promise.then(
    () => new Error("nothing failed"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof WordloomError)) throw error;
  return error;
}

async function openDevice(): Promise<GPUDevice> {
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) throw new Error("this browser has no WebGPU adapter");
  return adapter.requestDevice();
}

afterEach(() => vi.restoreAllMocks());

const loading = (options: LoadOptions) => TextGenerator.load(model, options);

describe("loading fails", () => {
  const USE_WEBGPU =
    "Use a browser with WebGPU (Chrome or Edge 123+, Safari 26+) on https or localhost, or set allowReference for small " +
    "models.";

  test("where the browser finds no adapter", async () => {
    vi.spyOn(navigator.gpu, "requestAdapter").mockResolvedValue(null);
    const error = await failureOf(loading({ worker: false }));
    expect([error.code, error.remedy]).toEqual(["webgpu-unavailable", USE_WEBGPU]);
    expect(error.message).toContain("found no usable GPU");
  });

  test("where the adapter gives no device", async () => {
    const adapter = await navigator.gpu.requestAdapter();
    if (!adapter) throw new Error("this browser has no WebGPU adapter");
    vi.spyOn(navigator.gpu, "requestAdapter").mockResolvedValue(adapter);
    vi.spyOn(adapter, "requestDevice").mockRejectedValue(new DOMException("too many devices", "OperationError"));
    const error = await failureOf(loading({ worker: false }));
    expect([error.code, error.remedy]).toEqual(["webgpu-unavailable", USE_WEBGPU]);
    expect(error.message).toContain("too many devices");
  });

  test("where the memory that is allowed is too little, with what is needed", async () => {
    const error = await failureOf(loading({ memoryBudgetBytes: 1000 }));
    expect([error.code, error.remedy]).toEqual([
      "out-of-memory",
      "Close other tabs, choose q4, a shorter contextLength, or a smaller model.",
    ]);
    expect(error.message).toMatch(/the weights take [\d.]+ MiB as \w+; the budget is [\d.]+ MiB/);
  });
});

test("a device that is lost ends the answer, and every later one, with the next step", async () => {
  const device = await openDevice();
  const generator = await loading({ device });
  const run = generator.generate("a", { maxNewTokens: 400, ignoreEos: true });
  device.destroy();
  for (const asked of [run.text(), run.end, generator.generate("a").text()]) {
    const error = await failureOf(asked);
    expect([error.code, error.remedy]).toEqual([
      "device-lost",
      "Load the model again; if it happens repeatedly, choose a smaller model or context.",
    ]);
    expect(error.message).toContain("lost");
  }
  await generator.dispose();
});
