import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { readBytes, readJson } from "../formats/read-json";
import { seededRandom } from "../testing/random";
import { RETRY_POLICY } from "./retries";
import { openUrlFolder, type UrlFolderOptions } from "./url-folder";

const PATH = "/models/tiny/model.safetensors";
const FILE = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 31 + (i >> 8)) & 255);

/** toEqual takes seconds for arrays of this size. */
const expectBytes = (bytes: Uint8Array, expected: Uint8Array) => expect(Buffer.compare(bytes, expected)).toBe(0);

type Answer = (request: IncomingMessage, response: ServerResponse, range: [number, number] | undefined) => void;

let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

/** A server that answers everything with `answer`; its files are FILE in the folder /models/tiny. */
async function folder(answer: Answer, options: UrlFolderOptions = {}) {
  const log: string[] = [];
  server = createServer((request, response) => {
    const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    log.push(`${request.method} ${request.url}${match === null ? "" : ` ${match[1]}-${match[2]}`}`);
    const last = match?.[2] === "" ? FILE.length - 1 : Math.min(Number(match?.[2]), FILE.length - 1);
    answer(request, response, match === null ? undefined : [Number(match[1]), last + 1]);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const retries = { ...RETRY_POLICY, delayMs: 1 };
  return { files: openUrlFolder(new URL(`http://127.0.0.1:${port}/models/tiny`), { retries, ...options }), log };
}

const withRange: Answer = (_, response, range) => {
  const [start, end] = range ?? [0, FILE.length];
  const headers: Record<string, string | number> = { "Content-Length": end - start };
  if (range !== undefined) headers["Content-Range"] = `bytes ${start}-${end - 1}/${FILE.length}`;
  response.writeHead(range === undefined ? 200 : 206, headers).end(FILE.subarray(start, end));
};

const withoutRange: Answer = (_, response) => {
  response.writeHead(200, { "Content-Length": FILE.length }).end(FILE);
};

async function read(answer: Answer, start?: number, end?: number) {
  const { files, log } = await folder(answer);
  const file = await files.find("model.safetensors");
  if (file === undefined) throw new Error("not found");
  const range = { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
  return { bytes: await readBytes(file, { ...range, maxBytes: 1e7 }), file, log };
}

const status =
  (code: number, body = ""): Answer =>
  (_, response) => {
    response.writeHead(code, { "Content-Type": "text/html" }).end(body);
  };

describe("a file on a server", () => {
  const RANGES: [start?: number, end?: number][] = [[], [0, 8], [8, 5000], [99_990], [99_990, 200_000], [500, 500]];

  test.each(RANGES)("with Range gives the bytes from %s to %s", async (start, end) => {
    const { bytes, file, log } = await read(withRange, start, end);
    expect(file.sizeBytes).toBe(FILE.length);
    expectBytes(bytes, FILE.slice(start, end));
    expect(log[0]).toBe("HEAD /models/tiny/model.safetensors");
  });

  test.each(RANGES)("without Range gives the bytes from %s to %s too", async (start, end) => {
    expectBytes((await read(withoutRange, start, end)).bytes, FILE.slice(start, end));
  });

  test("asks for no more than is wanted", async () => {
    const { log } = await read(withRange, 8, 5000);
    expect(log.slice(1)).toEqual(["GET /models/tiny/model.safetensors 8-4999"]);
  });

  test("may be on a server that refuses HEAD", async () => {
    const { bytes } = await read((request, response, range) => {
      if (request.method === "HEAD") response.writeHead(405).end();
      else withRange(request, response, range);
    });
    expectBytes(bytes, FILE);
  });

  test("has no known size where the server does not say, or compresses", async () => {
    const chunked: Answer = (_, response) => void response.writeHead(200).end(FILE);
    expect((await read(chunked, 10, 20)).file.sizeBytes).toBeUndefined();
    const headers = { "Content-Encoding": "gzip", "Content-Length": 5 };
    const { files } = await folder((_, response) => void response.writeHead(200, headers).end());
    expect((await files.find("x.json"))?.sizeBytes).toBeUndefined();
  });

  test("is asked for with the given headers and fetch, and with the folder's query", async () => {
    const seen: (string | undefined)[] = [];
    const { files } = await folder((request, response, range) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      withRange(request, response, range);
    });
    const signed = new URL(files.description);
    signed.search = "?signature=1";
    let calls = 0;
    const counting: typeof fetch = (input, init) => {
      calls++;
      return fetch(input, init);
    };
    const signedFiles = openUrlFolder(signed, { fetch: counting, headers: { Authorization: "Bearer x" } });
    const file = await signedFiles.find("a b.json");
    if (file !== undefined) await readBytes(file, { start: 5, end: 10, maxBytes: 5 });
    expect(seen).toEqual(Array(2).fill("/models/tiny/a%20b.json?signature=1 Bearer x"));
    expect(calls).toBe(2);
  });

  test("that starts earlier than asked is cut to what was asked", async () => {
    const { bytes } = await read((request, response, range) => {
      if (range === undefined) return withRange(request, response, range);
      const headers = { "Content-Range": `bytes 100-${FILE.length - 1}/${FILE.length}` };
      response.writeHead(206, headers).end(FILE.subarray(100));
    }, 400);
    expectBytes(bytes, FILE.slice(400));
  });

  test("that sends the slice under status 200 is read by its Content-Range", async () => {
    const { bytes } = await read((request, response, range) => {
      if (range === undefined) return withRange(request, response, range);
      const headers = { "Content-Range": `bytes ${range[0]}-${range[1] - 1}/${FILE.length}` };
      response.writeHead(200, headers).end(FILE.subarray(...range));
    }, 400);
    expectBytes(bytes, FILE.slice(400));
  });
});

describe("what a server refuses", () => {
  test.each([404, 410])("%i is a file that does not exist", async (code) => {
    expect(await (await folder(status(code))).files.find("config.json")).toBeUndefined();
  });

  test.each([
    [401, "access-denied"],
    [403, "access-denied"],
    [418, "network-failed"],
    [429, "rate-limited"],
    [500, "server-failed"],
    [503, "server-failed"],
  ])("%i is %s, with the address and the status", async (code, expected) => {
    const { files } = await folder(status(code));
    await expect(files.find("config.json")).rejects.toMatchObject({
      code: expected,
      message: expect.stringMatching(`/models/tiny/config.json.*${code}`) as string,
    });
  });

  test("a server that is not there is network-failed", async () => {
    const { files } = await folder(withRange);
    await new Promise((resolve) => server?.close(resolve));
    server = undefined;
    await expect(files.find("config.json")).rejects.toMatchObject({ code: "network-failed" });
  });
});

describe("what comes instead of the file", () => {
  const page = "<!doctype html><html><body>app</body></html>";

  test("a web page with status 200 is refused where JSON is needed, with the address", async () => {
    const { files } = await folder(status(200, page));
    await expect(readJson(files, "tokenizer.json")).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(/tokenizer.json from http:.*\/models\/tiny\/ is an HTML page, not JSON/),
    });
    expect(await readJson(files, "generation_config.json", { optional: true })).toBeUndefined();
  });

  test.each<[string, number, Record<string, string>, RegExp]>([
    ["a later part than asked for", 206, { "Content-Range": `bytes 500-599/${FILE.length}` }, /from 400.*from 500/],
    ["a part that is not named, of a length that tells nothing", 206, { "Content-Length": "600" }, /did not say which/],
    ["a part of something compressed", 206, { "Content-Encoding": "gzip" }, /part of something compressed/],
    ["416 for a part that is there", 416, {}, /bytes from 400 \(status 416\)/],
  ])("%s has the whole file asked for, once", async (_, code, headers, message) => {
    const strange = (wholeToo: boolean): Answer => {
      return (request, response, range) => {
        if (request.method === "HEAD" || (range === undefined && !wholeToo)) withRange(request, response, range);
        else response.writeHead(wholeToo && range === undefined ? 206 : code, headers).end(FILE.subarray(500, 600));
      };
    };
    const { bytes, log } = await read(strange(false), 400);
    expectBytes(bytes, FILE.slice(400));
    expect(log).toEqual([`HEAD ${PATH}`, `GET ${PATH} 400-`, `GET ${PATH}`]);
    if (code === 416) return; // as an answer to a request for all it is a refusal like others
    await expect(read(strange(true), 400)).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(message) as string,
    });
  });

  test("less than was asked for is file-invalid, with both ends", async () => {
    const short: Answer = (request, response, range) => {
      if (range === undefined) return withRange(request, response, range);
      const headers = { "Content-Range": `bytes 400-499/${FILE.length}` };
      response.writeHead(206, headers).end(FILE.subarray(400, 500));
    };
    await expect(read(short, 400)).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(/ended at byte 500, before 100000/),
    });
    await expect(read(short, 400, 900)).rejects.toMatchObject({ message: expect.stringMatching(/before 900/) });
  });

  test("a body shorter than HEAD said is file-invalid", async () => {
    const answer: Answer = (request, response, range) => {
      if (request.method === "HEAD") withRange(request, response, range);
      else response.writeHead(200).end(FILE.subarray(0, 70_000));
    };
    await expect(read(answer)).rejects.toMatchObject({ code: "file-invalid" });
  });

  test("another state of the file than before is file-invalid", async () => {
    let state = 1;
    const answer: Answer = (request, response, range) => {
      response.setHeader("ETag", `"v${state}"`);
      if (request.method === "HEAD") return withRange(request, response, range);
      if (state++ > 1) return withRange(request, response, range);
      response.writeHead(200, { "Content-Length": FILE.length });
      response.write(FILE.subarray(0, 40_000), () => response.destroy());
    };
    await expect(read(answer)).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(/changed while it was read: "v1" became "v2"/) as string,
    });
  });
});

describe("a connection that breaks", () => {
  const BIG = Uint8Array.from({ length: 2_000_000 }, (_, i) => (i * 31 + (i >> 8)) & 255);

  /** Sends what is asked for, but cuts each connection at the next of `cuts` (positions of the file). */
  const cutting = (cuts: number[], counts: { sent: number }, rangesToo = true): Answer => {
    return (request, response, range) => {
      response.setHeader("ETag", '"v1"');
      if (request.method === "HEAD") return void response.writeHead(200, { "Content-Length": BIG.length }).end();
      const start = rangesToo ? (range?.[0] ?? 0) : 0;
      const end = BIG.length;
      const next = cuts.findIndex((cut) => cut > start && cut < end);
      const [cut] = next < 0 ? [end] : cuts.splice(0, next + 1).slice(-1);
      const headers: Record<string, string | number> = { "Content-Length": end - start };
      if (start > 0) headers["Content-Range"] = `bytes ${start}-${end - 1}/${BIG.length}`;
      response.writeHead(start > 0 ? 206 : 200, headers);
      counts.sent += (cut ?? end) - start;
      response.write(BIG.subarray(start, cut), () => (cut === end ? response.end() : response.destroy()));
    };
  };

  test("at 20 random places is gone on with, and no byte is fetched twice", async () => {
    const random = seededRandom(20);
    const cuts = Array.from({ length: 20 }, () => Math.floor(random() * BIG.length)).sort((a, b) => a - b);
    const counts = { sent: 0 };
    const ifRange = new Set<string | undefined>();
    const cut = cutting(cuts, counts);
    const { bytes, log } = await read((request, response, range) => {
      if (range !== undefined) ifRange.add(request.headers["if-range"] as string | undefined);
      cut(request, response, range);
    });
    expectBytes(bytes, BIG);
    expect(cuts).toEqual([]);
    expect(counts.sent).toBeLessThanOrEqual(1.05 * BIG.length);
    expect(log.length).toBeGreaterThan(15);
    expect([...ifRange]).toEqual(['"v1"']);
  });

  test("on a server without Range has the file begin again, and what has been seen is dropped", async () => {
    expectBytes((await read(cutting([400_000, 900_000], { sent: 0 }, false))).bytes, BIG);
  });

  test("again and again at the same place is network-failed in the end", async () => {
    const answer: Answer = (request, response, range) => {
      if (request.method === "HEAD") return withRange(request, response, range);
      response.writeHead(200, { "Content-Length": FILE.length });
      response.write(FILE.subarray(0, 40_000), () => response.destroy());
    };
    const { files, log } = await folder(answer);
    const file = await files.find("model.safetensors");
    await expect(file && readBytes(file, { maxBytes: 1e6 })).rejects.toMatchObject({
      code: "network-failed",
      message: expect.stringMatching(/model.safetensors broke off/),
    });
    expect(log).toHaveLength(1 + 1 + RETRY_POLICY.inARow);
  });
});

describe("a server that is busy", () => {
  test.each([429, 500, 503])("with %i is asked again, when it wishes", async (code) => {
    const times: number[] = [];
    const { files } = await folder((request, response, range) => {
      times.push(performance.now());
      if (times.length > 1) withRange(request, response, range);
      else response.writeHead(code, { "Retry-After": "1" }).end();
    });
    expect((await files.find("config.json"))?.sizeBytes).toBe(FILE.length);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(990);
  });

  test("for longer than a minute is not waited for, and the error says how long", async () => {
    const { files, log } = await folder((_, response) => void response.writeHead(429, { "Retry-After": "600" }).end());
    await expect(files.find("config.json")).rejects.toMatchObject({
      code: "rate-limited",
      message: expect.stringMatching(/wait 600 s/) as string,
    });
    expect(log).toHaveLength(1);
  });

  test("waiting for it ends with an abort", async () => {
    const { files } = await folder((_, response) => void response.writeHead(503, { "Retry-After": "50" }).end());
    const abort = new AbortController();
    setTimeout(() => abort.abort("enough"), 30);
    await expect(files.find("config.json", abort.signal)).rejects.toBe("enough");
  });
});

describe("abort", () => {
  test("while nothing comes rejects at once with its reason", async () => {
    const { files } = await folder((request, response, range) => {
      if (request.method === "HEAD") withRange(request, response, range);
      else {
        response.writeHead(200, { "Content-Length": FILE.length });
        response.write(FILE.subarray(0, 1000));
      }
    });
    const file = await files.find("model.safetensors");
    const abort = new AbortController();
    const reading = file === undefined ? undefined : readBytes(file, { maxBytes: 1e6, signal: abort.signal });
    setTimeout(() => abort.abort("enough"), 30);
    await expect(reading).rejects.toBe("enough");
  });

  test("before the request rejects with its reason", async () => {
    const { files } = await folder(withRange);
    await expect(files.find("config.json", AbortSignal.abort("no"))).rejects.toBe("no");
  });
});
