import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseRange, serve } from "./serve.mjs";

test.each([
  [undefined, "whole"],
  ["bytes=0-0", { start: 0, end: 0 }],
  ["bytes=5-", { start: 5, end: 9 }],
  ["bytes=5-100", { start: 5, end: 9 }],
  ["bytes=-3", { start: 7, end: 9 }],
  ["bytes=-30", { start: 0, end: 9 }],
  ["bytes=10-", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=5-2", "whole"],
  ["bytes=0-1,4-5", "whole"],
  ["bytes=-", "whole"],
])("of 10 bytes, Range %s asks for %o", (header, expected) => expect(parseRange(header, 10)).toEqual(expected));

describe("the server", () => {
  let folder;
  let server;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "wordloom-serve-"));
    mkdirSync(join(folder, "site"));
    writeFileSync(join(folder, "secret.txt"), "outside");
    writeFileSync(join(folder, "site", "index.html"), "<title>here</title>");
    writeFileSync(join(folder, "site", "a.js"), "0123456789");
    writeFileSync(join(folder, "site", "m.safetensors"), "");
    server = await serve(join(folder, "site"), { port: 0 });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test("answers not faster than it is told to", async () => {
    const slow = await serve(join(folder, "site"), { port: 0, bytesPerSecond: 50 });
    const start = performance.now();
    expect(await (await fetch(`${slow.url}a.js`)).text()).toBe("0123456789");
    expect(performance.now() - start).toBeGreaterThan(150); // 10 bytes take 200 ms
    await slow.close();
  });

  /** Sends the path as it is; fetch would resolve the dots itself. */
  const statusOf = (path) =>
    new Promise((done, failed) => {
      const { hostname, port } = new URL(server.url);
      request({ hostname, port, path }, (response) => done(response.resume().statusCode))
        .on("error", failed)
        .end();
    });

  test("answers a folder with its index.html, as HTML", async () => {
    const response = await fetch(server.url);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await response.text()).toBe("<title>here</title>");
  });

  test("sends the asked range with 206, and JavaScript as JavaScript", async () => {
    const response = await fetch(`${server.url}a.js`, { headers: { range: "bytes=2-4" } });
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe("bytes 2-4/10");
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(await response.text()).toBe("234");
  });

  test("sends the whole file when If-Range names another version", async () => {
    const response = await fetch(`${server.url}a.js`, { headers: { range: "bytes=2-4", "if-range": '"old"' } });
    expect([response.status, await response.text()]).toEqual([200, "0123456789"]);
  });

  test("answers 416 with the size to a range past the end", async () => {
    const response = await fetch(`${server.url}a.js`, { headers: { range: "bytes=10-" } });
    expect([response.status, response.headers.get("content-range")]).toEqual([416, "bytes */10"]);
  });

  test("sends an empty model file as zero bytes", async () => {
    const response = await fetch(`${server.url}m.safetensors`);
    expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, 0]);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
  });

  test.each([
    ["/missing.js", 404],
    ["/a.js/below", 404],
    ["/../secret.txt", 404],
    ["/%2e%2e/secret.txt", 404],
    ["/..%2fsecret.txt", 400],
    ["/%ff", 400],
    ["/%00", 400],
  ])("%s is answered %i, never with a file outside the folder", async (path, status) => {
    expect(await statusOf(path)).toBe(status);
  });

  test("takes only GET and HEAD", async () => {
    expect((await fetch(server.url, { method: "POST", body: "x" })).status).toBe(405);
    const head = await fetch(`${server.url}a.js`, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "10"]);
  });

  test("answers 304 to a reader who has this version", async () => {
    const etag = (await fetch(`${server.url}a.js`)).headers.get("etag");
    expect((await fetch(`${server.url}a.js`, { headers: { "if-none-match": etag } })).status).toBe(304);
  });

  test("refuses a port that is taken when that very port is asked for", async () => {
    await expect(serve(folder, { port: Number(new URL(server.url).port) })).rejects.toThrow("EADDRINUSE");
  });
});
