/** A small server of model files that breaks connections, counts what it sends, and answers as a test says. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ServedFile {
  bytes: Uint8Array;
  /** Positions at which a connection is cut, each once. */
  cuts?: number[];
  etag?: string;
}

export interface CuttingServer {
  /** Of the folder, ending in "/". */
  url: string;
  files: Map<string, ServedFile>;
  /** "GET model.safetensors 400-", in order. */
  log: string[];
  /** Bytes of bodies, without HEAD. */
  sentBytes: number;
  /** Answers in place of the files; returns whether it has. */
  answer: ((request: IncomingMessage, response: ServerResponse, name: string) => boolean) | undefined;
  close(): Promise<void>;
}

export async function cuttingServer(files: Record<string, Uint8Array>): Promise<CuttingServer> {
  const served = new Map(Object.entries(files).map(([name, bytes]) => [name, { bytes }]));
  const server: Server = createServer((request, response) => {
    const name = decodeURIComponent((request.url ?? "").replace(/^.*\/|\?.*$/g, ""));
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    result.log.push(`${request.method} ${name}${range === null ? "" : ` ${range[1]}-${range[2]}`}`);
    if (result.answer?.(request, response, name) === true) return;
    const file = served.get(name);
    if (file === undefined) return void response.writeHead(404).end();
    send(request, response, file, range);
  });
  const send = (
    request: IncomingMessage,
    response: ServerResponse,
    file: ServedFile,
    range: RegExpExecArray | null,
  ) => {
    const { bytes, cuts = [], etag = '"v1"' } = file;
    const start = range === null ? 0 : Number(range[1]);
    const end = range === null || range[2] === "" ? bytes.length : Math.min(Number(range[2]) + 1, bytes.length);
    response.setHeader("ETag", etag);
    if (start >= bytes.length && range !== null) {
      return void response.writeHead(416, { "Content-Range": `bytes */${bytes.length}` }).end();
    }
    const part = range === null ? {} : { "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}` };
    response.writeHead(range === null ? 200 : 206, { "Content-Length": end - start, ...part });
    if (request.method === "HEAD") return void response.end();
    const at = cuts.findIndex((cut) => cut > start && cut < end);
    const cut = at < 0 ? end : (cuts.splice(at, 1)[0] ?? end);
    result.sentBytes += cut - start;
    response.write(bytes.subarray(start, cut), () => (cut === end ? response.end() : response.destroy()));
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const result: CuttingServer = {
    url: `http://127.0.0.1:${port}/tiny/`,
    files: served,
    log: [],
    sentBytes: 0,
    answer: undefined,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return result;
}
