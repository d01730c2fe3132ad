/** Faults of downloads that users of comparable software reported (src/testing/cases), tried on a small server. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TextGenerator, type LoadProgress } from "../index";
import { foreignContent } from "../formats/foreign-content";
import { readBytes } from "../formats/read-json";
import { caseOf } from "../testing/cases/case-file";
import { cuttingServer, type CuttingServer } from "../testing/cutting-server";
import { memoryStorage } from "../testing/memory-storage";
import { openModel } from "./open-model";
import { RETRY_POLICY } from "./retries";

const FOLDER = new URL("../testing/golden/llama/", import.meta.url);
const NAMES = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];
const files = Object.fromEntries(
  await Promise.all(NAMES.map(async (name) => [name, new Uint8Array(await readFile(new URL(name, FOLDER)))] as const)),
);
const WEIGHTS = files["model.safetensors"] ?? new Uint8Array();
const SHA256 = "02c6f5b8a8382acde3963c0713549ac13b7f0142a19ee948f7f85b84047bfe3f";

let server: CuttingServer;
beforeEach(async () => {
  server = await cuttingServer(files);
});
afterEach(() => server.close());

describe("http-resume", () => {
  const { input } = caseOf<{ second_answers: string[] }, unknown>("http-resume");
  const slice = (
    response: ServerResponse,
    status: number,
    range: string | undefined,
    from: number,
    to = WEIGHTS.length,
  ) => {
    const part = range === undefined ? {} : { "Content-Range": range };
    response.writeHead(status, { ETag: '"v1"', "Content-Length": to - from, ...part }).end(WEIGHTS.subarray(from, to));
  };
  /** In the order of the case's `second_answers`, for a request from `start` on. */
  const ANSWERS: ((response: ServerResponse, start: number) => void)[] = [
    (response) => slice(response, 200, undefined, 0),
    (response) => slice(response, 206, "bytes 393216-1001015/1001016", 393216),
    (response) => slice(response, 206, "bytes 0-1001015/1001016", 0),
    (response) => slice(response, 200, "bytes 400000-1001015/1001016", 400000),
    (response, start) =>
      slice(response, 206, `bytes ${start}-${start + 99999}/1001016`, start, Math.min(start + 100000, WEIGHTS.length)),
    (response) => void response.writeHead(416, { "Content-Range": "bytes */1001016" }).end(),
    (response) => slice(response, 206, undefined, 400000),
  ];
  const broken = (second: (response: ServerResponse, start: number) => void) => {
    let bodies = 0;
    return (request: IncomingMessage, response: ServerResponse, name: string): boolean => {
      if (name !== "model.safetensors" || request.method === "HEAD") return false;
      const range = /^bytes=(\d+)-/.exec(request.headers.range ?? "");
      if (bodies++ > 0) {
        if (range === null) return false; // asked for all of it
        second(response, Number(range[1]));
        return true;
      }
      response.writeHead(200, { ETag: '"v1"', "Content-Length": WEIGHTS.length, "Accept-Ranges": "bytes" });
      response.write(WEIGHTS.subarray(0, 400_000), () => response.destroy());
      return true;
    };
  };

  test.each(ANSWERS.map((answer, at) => [input.second_answers[at] ?? "", answer] as const))(
    "a download that is answered with “%s” ends with the right bytes, in at most 10 requests",
    async (_, answer) => {
      server.answer = broken(answer);
      const place = memoryStorage({ writes: "sync" });
      const retries = { ...RETRY_POLICY, delayMs: 1 };
      const { files: opened, settle } = await openModel(server.url, {
        ...{ store: "auto", sha256: { "model.safetensors": SHA256 }, foreign: foreignContent, place, retries },
      });
      const file = await opened.find("model.safetensors");
      const bytes = file === undefined ? new Uint8Array() : await readBytes(file, { maxBytes: 1e7 });
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(SHA256);
      expect(await settle("loaded")).toMatchObject({ stored: true });
      expect(server.log.length).toBeLessThanOrEqual(10);
    },
  );

  test("a part that is all there already is taken when its hash is right, without asking for more", async () => {
    const place = memoryStorage({ writes: "sync" });
    const options = { store: "auto", sha256: {}, foreign: foreignContent, place } as const;
    const read = async () => {
      const { files: opened, settle } = await openModel(server.url, options);
      const file = await opened.find("model.safetensors");
      const bytes = file === undefined ? new Uint8Array() : await readBytes(file, { maxBytes: 1e7 });
      await settle("stopped");
      return createHash("sha256").update(bytes).digest("hex");
    };
    expect(await read()).toBe(SHA256);
    const [path = ""] = [...place.contents.keys()].filter((name) => name.endsWith("model.safetensors.json"));
    const record = JSON.parse(new TextDecoder().decode(place.contents.get(path))) as object;
    place.contents.set(path, new TextEncoder().encode(JSON.stringify({ ...record, whole: false })));
    server.log.length = 0;
    expect(await read()).toBe(SHA256);
    expect(server.log).toEqual(["HEAD model.safetensors"]);
  });

  test("progress never says more than the total, and the model that was cut writes what it should", async () => {
    server.answer = broken(ANSWERS[1] ?? (() => {}));
    const reports: LoadProgress[] = [];
    const generator = await TextGenerator.load(server.url, {
      backend: "reference",
      onProgress: (report) => reports.push(report),
    });
    const whole = reports.filter(({ totalBytes }) => totalBytes !== undefined);
    expect(whole.length).toBeGreaterThan(1);
    for (const { loadedBytes, totalBytes = 0 } of whole) expect(loadedBytes).toBeLessThanOrEqual(totalBytes);
    const golden = JSON.parse(await readFile(new URL("golden.json", FOLDER), "utf8")) as {
      cases: { ids: number[]; greedy_ids: number[] }[];
    };
    const { ids = [], greedy_ids = [] } = golden.cases[0] ?? {};
    const run = generator.generate(ids, { maxNewTokens: 8, ignoreEos: true });
    const written: number[] = [];
    for await (const { tokens } of run) written.push(...tokens.map(({ id }) => id));
    expect(written).toEqual(greedy_ids.slice(0, 8));
    await generator.dispose();
  });
});

describe("http-html-200", () => {
  const PAGE = "<!doctype html><html><body>app</body></html>";
  const pageFor = (missing: readonly string[], type = "text/html") => {
    server.answer = (_, response, name) => {
      if (NAMES.includes(name) && !missing.includes(name)) return false;
      response.writeHead(200, { "Content-Type": type, "Content-Length": PAGE.length }).end(PAGE);
      return true;
    };
  };
  const load = () => TextGenerator.load(server.url, { backend: "reference" });

  test.each([
    ["model.safetensors", "text/html"],
    ["model.safetensors", "application/octet-stream"],
    ["tokenizer.json", "text/html"],
    ["tokenizer.json", "application/octet-stream"],
  ])("a page in place of %s, as %s, is told as a page, with its address", async (name, type) => {
    pageFor([name], type);
    await expect(load()).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(new RegExp(`${name}.*${server.url}.*HTML page`)) as string,
      remedy: expect.stringContaining("address") as string,
    });
  });

  test("pages in place of generation_config.json and of the index count as missing files", async () => {
    pageFor(["generation_config.json"]);
    const generator = await load();
    expect(generator.info.modelType).toBe("llama");
    await generator.dispose();
  });

  test("a page once, and the file at the next visit", async () => {
    const place = memoryStorage({ writes: "sync" });
    const options = { store: "auto", sha256: {}, foreign: foreignContent, place } as const;
    pageFor(["model.safetensors"]);
    const first = await openModel(server.url, options);
    const page = await first.files.find("model.safetensors");
    expect(page && (await readBytes(page, { maxBytes: 1e7 })).length).toBe(PAGE.length);
    await first.settle("broken");
    server.answer = undefined;
    const { files: opened, settle } = await openModel(server.url, options);
    const file = await opened.find("model.safetensors");
    expect(
      file &&
        createHash("sha256")
          .update(await readBytes(file, { maxBytes: 1e7 }))
          .digest("hex"),
    ).toBe(SHA256);
    await settle("loaded");
  });
});
