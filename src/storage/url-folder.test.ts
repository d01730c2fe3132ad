import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { readBytes, readJson } from "../formats/read-json";
import { openUrlFolder, type UrlFolderOptions } from "./url-folder";

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
  return { files: openUrlFolder(new URL(`http://127.0.0.1:${port}/models/tiny`), options), log };
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
  return { bytes: await readBytes(file, { ...range, maxBytes: 1e6 }), file, log };
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
    [429, "network-failed"],
    [500, "network-failed"],
    [503, "network-failed"],
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

  test("a later part than asked for is file-invalid", async () => {
    const answer: Answer = (request, response, range) => {
      if (range === undefined) return withRange(request, response, range);
      response.writeHead(206, { "Content-Range": `bytes 500-599/${FILE.length}` }).end(FILE.subarray(500, 600));
    };
    await expect(read(answer, 400)).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(/from 400.*from 500/) as string,
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

  test("status 416 is file-invalid", async () => {
    const answer: Answer = (request, response, range) =>
      range === undefined ? withRange(request, response, range) : void response.writeHead(416).end();
    await expect(read(answer, 400)).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringMatching(/before byte 400/) as string,
    });
  });

  test("a connection that breaks is network-failed", async () => {
    const answer: Answer = (request, response, range) => {
      if (request.method === "HEAD") return withRange(request, response, range);
      response.writeHead(200, { "Content-Length": FILE.length });
      response.write(FILE.subarray(0, 40_000), () => response.destroy());
    };
    await expect(read(answer)).rejects.toMatchObject({
      code: "network-failed",
      message: expect.stringMatching(/model.safetensors broke off/),
    });
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
