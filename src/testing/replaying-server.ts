/** A server that answers with recorded bytes, in pieces of a given size, and writes down what it was asked. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Replay {
  status?: number;
  headers?: Record<string, string>;
  body: string;
  /** Bytes a piece; default: all at once. */
  pieceBytes?: number;
  /** The connection is cut after so many bytes. */
  cutAt?: number;
  /** Before the first byte of the body. */
  delayMs?: number;
}

export interface Asked {
  /** "POST /v1/completions". */
  what: string;
  headers: IncomingHttpHeaders;
  /** Parsed. */
  body: Record<string, unknown> | undefined;
}

export interface ReplayingServer {
  /** Without a path. */
  url: string;
  asked: Asked[];
  /** Connections that the client closed before the answer's end. */
  hangUps: number;
  /** By "POST /v1/completions"; a list is given one after the other, its last one for ever. What is missing is a 404. */
  replays: Record<string, Replay | Replay[]>;
  /** Bodies that were sent to it. */
  bodyOf(what: string): Record<string, unknown>;
  close(): Promise<void>;
}

export const events = (...data: (object | string)[]): Replay => ({
  headers: { "Content-Type": "text/event-stream" },
  body: data.map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`).join(""),
});
export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Replay => ({
  status,
  headers: { "Content-Type": "application/json", ...headers },
  body: JSON.stringify(value),
});

export async function replayingServer(replays: ReplayingServer["replays"] = {}): Promise<ReplayingServer> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const what = `${request.method} ${request.url}`;
      const text = Buffer.concat(pieces).toString();
      const body = text === "" ? undefined : (JSON.parse(text) as Record<string, unknown>); // we send objects
      result.asked.push({ what, headers: request.headers, body });
      const found = result.replays[what];
      const replay = Array.isArray(found) ? (found.length > 1 ? found.shift() : found[0]) : found;
      response.on("close", () => (result.hangUps += response.writableFinished ? 0 : 1));
      void send(
        response,
        replay ?? json({ error: { message: "File Not Found", type: "not_found_error", code: 404 } }, 404),
      );
    });
  });
  const send = async (response: ServerResponse, replay: Replay) => {
    const { status = 200, headers = {}, body, cutAt, delayMs = 0 } = replay;
    const bytes = Buffer.from(body);
    const end = cutAt ?? bytes.length;
    response.writeHead(status, headers);
    response.flushHeaders();
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const step = replay.pieceBytes ?? (end || 1);
    for (let at = 0; at < end && !response.destroyed; at += step) {
      response.write(bytes.subarray(at, Math.min(end, at + step)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (cutAt === undefined) response.end();
    else response.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const result: ReplayingServer = {
    url: `http://127.0.0.1:${port}`,
    asked: [],
    hangUps: 0,
    replays,
    bodyOf(what) {
      const body = result.asked.findLast((one) => one.what === what)?.body;
      if (!body) throw new Error(`nothing was sent to ${what}`);
      return body;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return result;
}
