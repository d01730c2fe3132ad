import { describe, expect, test } from "vitest";
import type { ModelSource } from "../engine/load-model";
import { resolveLoadOptions, type LoadOptions } from "./options";

const BASE = "https://example.test/app/index.html";
const requestOf = (options: LoadOptions, source: ModelSource = "m") =>
  resolveLoadOptions(source, options, BASE).request;

const HASH = "0123456789abcdef".repeat(4);

const DEFAULTS = {
  source: "https://example.test/app/m",
  dtype: "auto",
  kvDtype: "auto",
  contextLength: undefined,
  backend: "auto",
  allowReference: false,
  powerPreference: undefined,
  memoryBudgetBytes: undefined,
  headers: {},
  store: "auto",
  sha256: {},
  endpoint: undefined,
  token: undefined,
  internal: {},
};

test("without options all is automatic, in a worker, and never the reference", () => {
  const { request, connect } = resolveLoadOptions("m", {}, BASE);
  expect(request).toEqual(DEFAULTS);
  expect(connect).toMatchObject({ wantsWorker: true, device: undefined, fetch: undefined });
});

describe("each option is honoured", () => {
  test.each<[keyof LoadOptions, LoadOptions, object]>([
    ["dtype", { dtype: "q4" }, { dtype: "q4" }],
    ["kvDtype", { kvDtype: "f16" }, { kvDtype: "f16" }],
    ["contextLength", { contextLength: 100 }, { contextLength: 100 }],
    ["backend", { backend: "reference" }, { backend: "reference" }],
    ["allowReference", { allowReference: true }, { allowReference: true }],
    ["powerPreference", { powerPreference: "low-power" }, { powerPreference: "low-power" }],
    ["memoryBudgetBytes", { memoryBudgetBytes: 1e9 }, { memoryBudgetBytes: 1e9 }],
    ["headers", { headers: [["Authorization", "Bearer x"]] }, { headers: { authorization: "Bearer x" } }],
    ["store", { store: "refresh" }, { store: "refresh" }],
    ["sha256", { sha256: { "config.json": HASH.toUpperCase() } }, { sha256: { "config.json": HASH } }],
    [
      "internal",
      { internal: { runAhead: 4, prefillChunk: 3, tier: "t" } },
      { internal: { runAhead: 4, prefillChunk: 3, tier: "t" } },
    ],
  ])("%s in the request", (_, options, expected) => expect(requestOf(options)).toEqual({ ...DEFAULTS, ...expected }));

  test("device, worker, fetch, onProgress and signal on the caller's side", () => {
    const options = {
      device: {} as GPUDevice, // only passed on
      worker: false,
      fetch: async () => new Response(),
      onProgress: () => {},
      signal: new AbortController().signal,
    };
    const { device, fetch, onProgress, signal } = options;
    expect(resolveLoadOptions("m", options, BASE).connect).toEqual({
      wantsWorker: false,
      device,
      fetch,
      onProgress,
      signal,
    });
  });
});

test.each<[string, ModelSource, string | undefined, unknown]>([
  ["a relative address becomes absolute", "models/a", BASE, "https://example.test/app/models/a"],
  ["a path from the root becomes absolute", "/models/a/", BASE, "https://example.test/models/a/"],
  ["an absolute address stays", "https://other.test/a", BASE, "https://other.test/a"],
  ["a hub's name stays", "hf:org/name@main", BASE, "hf:org/name@main"],
  ["without a page a path stays a path", "../models/a", undefined, "../models/a"],
])("%s", (_, source, base, expected) => expect(resolveLoadOptions(source, {}, base).request.source).toBe(expected));

test("File objects and a directory handle pass as they are", () => {
  const files = [new File([], "config.json")];
  const folder = { kind: "directory", name: "m" } as FileSystemDirectoryHandle; // Node has none; only its kind is looked at
  expect(requestOf({}, files).source).toBe(files);
  expect(requestOf({}, folder).source).toBe(folder);
});

test.each([[""], [[]], [["config.json"]], [{ kind: "file" }], [undefined], [5]])("source %j is refused", (source) => {
  expect(() => resolveLoadOptions(source as never, {}, BASE)).toThrow(
    expect.objectContaining({ code: "source-unsupported" }),
  );
});

test.each<[string, unknown]>([
  ["dtype", "int8"],
  ["kvDtype", "q8"],
  ["contextLength", 0],
  ["contextLength", 10.5],
  ["backend", "cuda"],
  ["allowReference", 1],
  ["device", "gpu"],
  ["powerPreference", "max"],
  ["memoryBudgetBytes", -1],
  ["worker", "no"],
  ["fetch", "fetch"],
  ["headers", { "bad name": "x" }],
  ["store", "never"],
  ["sha256", HASH],
  ["sha256", { "config.json": "abc" }],
  ["endpoint", "https://hub.test"],
  ["token", "hf_x"],
  ["onProgress", {}],
  ["signal", {}],
  ["quantization", "q4"],
])("%s: %j is refused by name", (name, value) => {
  const refusal = expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(name) });
  expect(() => requestOf({ [name]: value })).toThrow(refusal);
});

test("an unknown internal option and too many steps in flight are refused by name", () => {
  expect(() => requestOf({ internal: { depth: 1 } as object })).toThrow(/"depth"/);
  expect(() => requestOf({ internal: { runAhead: 5 } })).toThrow(/runAhead/);
});

test("endpoint and token are honoured for the hub, and refused elsewhere", () => {
  const options = { endpoint: "https://hub.test", token: "hf_x" };
  expect(requestOf(options, "hf:org/name")).toEqual({ ...DEFAULTS, source: "hf:org/name", ...options });
  expect(() => requestOf({ endpoint: "hub.test" }, "hf:org/name")).toThrow(/endpoint/);
  expect(() => requestOf({ token: "" }, "hf:org/name")).toThrow(/token/);
});

test("a device excludes the reference backend", () => {
  const device = {} as GPUDevice; // only passed on
  expect(() => requestOf({ device, backend: "reference" })).toThrow(/backend/);
});
