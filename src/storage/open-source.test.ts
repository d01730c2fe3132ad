import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readBytes, readJson } from "../formats/read-json";
import type { ModelFiles } from "./model-files";
import { openSource } from "./open-source";

const BYTES = Uint8Array.from({ length: 600_000 }, (_, i) => (i * 7) & 255);

/** toEqual takes seconds for arrays of this size. */
const expectBytes = (bytes: Uint8Array, expected: Uint8Array) => expect(Buffer.compare(bytes, expected)).toBe(0);

/** A File as a browser gives it for a chosen folder. */
function file(path: string, content: Uint8Array<ArrayBuffer> | string, inFolder = true): File {
  const made = new File([content], path.slice(path.lastIndexOf("/") + 1));
  Object.defineProperty(made, "webkitRelativePath", { value: inFolder ? path : "" }); // read-only; Node has none
  return made;
}

async function expectFolder(files: ModelFiles): Promise<void> {
  expect(await readJson(files, "config.json")).toEqual({ a: 1 });
  expect(await files.find("nothing.json")).toBeUndefined();
  const weights = await files.find("model.safetensors");
  expect(weights?.sizeBytes).toBe(BYTES.length);
  if (weights === undefined) return;
  for (const [start, end] of [
    [0, 8],
    [8, 300_001],
    [299_999, 900_000],
    [700_000, 800_000],
    [5, 5],
  ] as const) {
    expectBytes(await readBytes(weights, { start, end, maxBytes: 1e6 }), BYTES.slice(start, end));
  }
  expectBytes(await readBytes(weights, { maxBytes: 1e6 }), BYTES);
  await expect(weights.stream({ signal: AbortSignal.abort("no") })).rejects.toBe("no");
  const abort = new AbortController();
  const reader = (await weights.stream({ signal: abort.signal })).getReader();
  await reader.read();
  abort.abort("enough");
  await expect(reader.read()).rejects.toBe("enough");
}

describe("File objects", () => {
  test("picked one by one are the model's folder", async () => {
    await expectFolder(
      await openSource([file("config.json", '{"a":1}', false), file("model.safetensors", BYTES, false)]),
    );
  });

  test("of a chosen folder: the folder nearest to the top with a config.json is the model", async () => {
    const list = [
      file("models/readme.md", "hello"),
      file("models/tiny/onnx/config.json", '{"a":2}'),
      file("models/tiny/config.json", '{"a":1}'),
      file("models/tiny/model.safetensors", BYTES),
    ];
    const files = await openSource(list);
    expect(files.description).toBe("the folder models/tiny");
    await expectFolder(files);
  });

  test.each([
    ["none", [], /no config.json and no GGUF file among the 0 files/],
    ["no config.json", [file("a/model.safetensors", "x")], /no config.json and no GGUF file among the 1 files/],
    ["two folders with a GGUF file", [file("a/x.gguf", "x"), file("b/x.gguf", "x")], /2 models: a, b/],
    ["two models", [file("a/x/config.json", "{}"), file("a/y/config.json", "{}")], /2 models: a\/x, a\/y/],
    ["two of one name", [file("config.json", "1", false), file("config.json", "2", false)], /called config.json/],
  ])("%s is refused", async (_, list, message) => {
    await expect(openSource(list)).rejects.toMatchObject({
      code: "source-unsupported",
      message: expect.stringMatching(message) as string,
    });
  });
});

describe("a directory handle", () => {
  const handle = (getFileHandle: (name: string) => Promise<unknown>) =>
    ({ kind: "directory", name: "tiny", getFileHandle }) as unknown as FileSystemDirectoryHandle;
  const failing = (name: string) => handle(() => Promise.reject(new DOMException("because", name)));

  test("gives its files", async () => {
    const contents: Record<string, Uint8Array<ArrayBuffer> | string> = {
      "config.json": '{"a":1}',
      "model.safetensors": BYTES,
    };
    const directory = handle((name) => {
      const content = contents[name];
      if (content === undefined) return Promise.reject(new DOMException("because", "NotFoundError"));
      return Promise.resolve({ getFile: () => Promise.resolve(file(name, content)) });
    });
    await expectFolder(await openSource(directory));
  });

  test.each([
    ["NotAllowedError", "access-denied"],
    ["TypeMismatchError", "file-invalid"],
    ["NotReadableError", "file-invalid"],
  ])("that fails with %s is %s", async (name, code) => {
    const files = await openSource(failing(name));
    await expect(files.find("config.json")).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/config.json of the folder tiny/) as string,
    });
  });
});

describe("a local path", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "wordloom "));
    await writeFile(join(folder, "config.json"), '{"a":1}');
    await writeFile(join(folder, "model.safetensors"), BYTES);
    await mkdir(join(folder, "nothing.json"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("in Node is a folder, also as a file: URL", async () => {
    await expectFolder(await openSource(folder));
    await expectFolder(await openSource(pathToFileURL(folder).href));
  });

  test("may name a .gguf file in it", async () => {
    const files = await openSource(join(folder, "model.gguf"));
    expect([files.chosen, await files.list?.()]).toEqual(["model.gguf", await (await openSource(folder)).list?.()]);
    expect(await (await openSource(folder)).list?.()).toEqual(expect.arrayContaining(["config.json"]));
    expect(await (await openSource(join(folder, "x"))).list?.()).toEqual([]);
  });

  test("that does not exist has no files", async () => {
    expect(await (await openSource(join(folder, "x"))).find("config.json")).toBeUndefined();
  });

  test("is taken relative to a page's address where there is a page", async () => {
    vi.stubGlobal("location", { href: "https://example.org/app/index.html" });
    try {
      expect((await openSource("models/tiny")).description).toBe("https://example.org/app/models/tiny/");
      expect((await openSource("/models/tiny/")).description).toBe("https://example.org/models/tiny/");
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe("addresses", () => {
  test.each([
    ["https://example.org/m", "https://example.org/m/"],
    ["https://example.org/m/?key=1#part", "https://example.org/m/?key=1"],
    ["hf:org/name", "https://huggingface.co/org/name/resolve/main/"],
    ["hf:org/na.me-1@v1.0", "https://huggingface.co/org/na.me-1/resolve/v1.0/"],
    ["hf:org/name@refs/pr/1", "https://huggingface.co/org/name/resolve/refs%2Fpr%2F1/"],
  ])("%s is the folder %s", async (source, description) => {
    expect((await openSource(source)).description).toBe(description);
  });

  test.each([
    ["hf:org/name/model-q4.gguf", "https://huggingface.co/org/name/resolve/main/", "model-q4.gguf"],
    ["hf:org/name@v1/q4/model.gguf", "https://huggingface.co/org/name/resolve/v1/", "q4/model.gguf"],
    ["https://example.org/m/model%20a.GGUF?download=true#x", "https://example.org/m/?download=true", "model a.GGUF"],
    ["https://example.org/m/?key=a.gguf", "https://example.org/m/?key=a.gguf", undefined],
  ])("%s is in the folder %s the file %s", async (source, description, chosen) => {
    expect(await openSource(source)).toMatchObject({ description, chosen });
  });

  test.each([
    ["", /empty/],
    ["ftp://example.org/m", /ftp:/],
    ["data:text/plain,x", /data:/],
    ["hf:name", /hf:org\/name/],
    ["https://example.org/m/model.safetensors", /a model folder is expected/],
  ])("“%s” is refused as source-unsupported", async (source, message) => {
    await expect(openSource(source)).rejects.toMatchObject({
      code: "source-unsupported",
      message: expect.stringMatching(message) as string,
    });
  });

  test("of a browser extension, a file that is not there is as one that a server does not have", async () => {
    const files = await openSource("chrome-extension://abc/models/m", {
      fetch: async (input) => {
        const { url } = new Request(input);
        if (url.endsWith("/config.json")) return new Response("{}", { headers: { "content-length": "2" } });
        throw new TypeError("Failed to fetch");
      },
    });
    expect(await files.find("config.json")).toBeDefined();
    expect(await files.find("model.safetensors.index.json")).toBeUndefined();
  });

  test.each([
    [
      "chrome-extension:",
      "a part that is not called one",
      (range: string | null) => (range === "bytes=2-4" ? "cde" : ""),
    ],
    ["moz-extension:", "all there is", (range: string | null) => (range === null ? "abcdefgh" : "")],
  ])("of a browser extension, %s answers a Range with %s", async (scheme, _, answer) => {
    const files = await openSource(`${scheme}//abc/models/m`, {
      fetch: async (input) => {
        const { headers, method } = new Request(input);
        return new Response(method === "HEAD" ? null : answer(headers.get("Range")));
      },
    });
    const file = await files.find("model.safetensors");
    expect(await new Response(await file?.stream({ start: 2, end: 5 })).text()).toBe("cde");
  });
});
