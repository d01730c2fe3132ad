import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fetchModel, neededFiles } from "./fetch-model.mjs";

const COMMIT = "a".repeat(40);
const WEIGHTS = Uint8Array.from({ length: 400_000 }, (_, i) => i * 7);
const SHA256 = createHash("sha256").update(WEIGHTS).digest("hex");

let folder, server, endpoint, log, cutAt, served;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "wordloom-fetch-"));
  log = [];
  cutAt = undefined;
  served = WEIGHTS;
  server = createServer((request, response) => {
    log.push(`${request.url} ${request.headers.range ?? ""}`.trim());
    if (request.url.startsWith("/api/")) {
      const lfs = { sha256: SHA256, size: WEIGHTS.length };
      const siblings = [
        { rfilename: "config.json", size: 7, blobId: "b1" },
        { rfilename: "model.safetensors", size: WEIGHTS.length, blobId: "b2", lfs },
        { rfilename: "pytorch_model.bin", size: WEIGHTS.length, blobId: "b3" },
      ];
      return response.end(JSON.stringify({ sha: COMMIT, siblings }));
    }
    const bytes = request.url.endsWith("config.json") ? Buffer.from('{"a":1}') : served;
    const [, from] = /^bytes=(\d+)-/.exec(request.headers.range ?? "") ?? [];
    const start = Number(from ?? 0);
    const range = from === undefined ? {} : { "Content-Range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` };
    response.writeHead(from === undefined ? 200 : 206, { "Content-Length": bytes.length - start, ...range });
    if (cutAt === undefined || bytes !== served) return response.end(bytes.subarray(start));
    response.write(bytes.subarray(start, cutAt), () => response.destroy());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${server.address().port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

const fetchIt = () => fetchModel({ source: "org/tiny", into: folder, endpoint, log: () => {} });

test("a model's own files are fetched by commit and hash, and not a second time", async () => {
  const path = await fetchIt();
  expect((await readdir(path)).sort()).toEqual(["config.json", "model.safetensors"]);
  expect(Buffer.compare(await readFile(join(path, "model.safetensors")), WEIGHTS)).toBe(0);
  const resolve = `/org/tiny/resolve/${COMMIT}`;
  const api = "/api/models/org/tiny/revision/main?blobs=true";
  expect(log).toEqual([api, `${resolve}/config.json`, `${resolve}/model.safetensors`]);
  log.length = 0;
  await fetchIt();
  expect(log).toEqual([api]);
});

test("a file that is there in part is gone on with", async () => {
  const path = await fetchIt();
  await rm(join(path, "model.safetensors"));
  await writeFile(join(path, `model.safetensors.${SHA256.slice(0, 16)}.part`), WEIGHTS.subarray(0, 150_000));
  log.length = 0;
  await fetchIt();
  expect(log.at(-1)).toBe(`/org/tiny/resolve/${COMMIT}/model.safetensors bytes=150000-`);
  expect(Buffer.compare(await readFile(join(path, "model.safetensors")), WEIGHTS)).toBe(0);
});

test("a file with another hash does not get its name, and nothing of it stays", async () => {
  served = WEIGHTS.map((byte) => byte ^ 1);
  await expect(fetchIt()).rejects.toThrow(/the hub says 400000 and/);
  expect(await readdir(join(folder, "tiny"))).toEqual(["config.json"]);
});

test("of a GGUF file that is named only its parts are needed", () => {
  const parts = ["q4-00001-of-00002.gguf", "q4-00002-of-00002.gguf"];
  const names = ["config.json", "q8.gguf", ...parts, "q8-00001-of-00003.gguf"];
  expect(neededFiles(names, "q8.gguf")).toEqual(["q8.gguf"]);
  expect(neededFiles(names, parts[0])).toEqual(parts);
});
