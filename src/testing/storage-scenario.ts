/** What must hold of kept models in a real browser, on whichever thread this runs: on the page and in a worker. */
import { foreignContent } from "../formats/foreign-content";
import { readBytes } from "../formats/read-json";
import { browserPlace, ModelStore } from "../storage/model-store";
import { openModel } from "../storage/open-model";
import { SEGMENT_BYTES } from "../storage/kept-bytes";

/** More than one segment, and not a whole number of them. */
const SIZE = SEGMENT_BYTES + 1_000_003;

export interface ScenarioResult {
  /** "createSyncAccessHandle" or "createWritable". */
  way: string;
  steps: Record<string, unknown>;
}

/**
 * @param host names the model's address, so that scenarios do not meet; nothing is fetched from there
 * @returns what each step gave, for the test to compare
 */
export async function storageScenario(host: string): Promise<ScenarioResult> {
  const bytes = new Uint8Array(SIZE);
  for (let i = 0; i < SIZE; i++) bytes[i] = (i * 31 + (i >> 9)) & 255;
  const place = await browserPlace();
  if (typeof place === "string") throw new Error(place);
  const store = new ModelStore(place);
  const mine = async () => (await store.list()).filter(({ source }) => source.includes(host));
  let sentBytes = 0;
  let requests = 0;
  /** A server whose connections break after so many bytes. */
  let cutAfter = Infinity;
  const server: typeof fetch = async (_, init) => {
    requests++;
    const range = /^bytes=(\d+)-(\d*)$/.exec(new Headers(init?.headers).get("Range") ?? "");
    const start = range === null ? 0 : Number(range[1]);
    const end = range === null || range[2] === "" ? SIZE : Number(range[2]) + 1;
    const headers = {
      ETag: '"v1"',
      "Content-Length": String(end - start),
      ...(range === null ? {} : { "Content-Range": `bytes ${start}-${end - 1}/${SIZE}` }),
    };
    if (init?.method === "HEAD") return new Response(null, { headers });
    let at = start;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        if (at - start >= cutAfter) return controller.error(new TypeError("network error"));
        const chunk = bytes.slice(at, Math.min(end, at + 65_536));
        at += chunk.length;
        sentBytes += chunk.length;
        controller.enqueue(chunk);
        if (at === end) controller.close();
      },
    });
    return new Response(body, { status: range === null ? 200 : 206, headers });
  };
  const retries = { firstContact: 2, inARow: 6, delayMs: 1, maxDelayMs: 1, maxRetryAfterMs: 1 };
  const open = (signal?: AbortSignal) =>
    openModel(`https://${host}/m`, {
      store: "auto",
      sha256: {},
      foreign: foreignContent,
      fetch: server,
      retries,
      signal,
    });
  const load = async () => {
    const before = { sentBytes, requests };
    const { files, settle } = await open();
    const file = await files.find("weights");
    if (file === undefined) throw new Error("the file is not found");
    await readBytes(file, { end: 100_000, maxBytes: SIZE });
    const read = await readBytes(file, { start: 8, maxBytes: SIZE });
    let isRight = read.length === SIZE - 8;
    for (let i = 0; i < read.length && isRight; i++) isRight = read[i] === bytes[i + 8];
    const { stored, reason } = await settle("loaded");
    return { isRight, stored, reason, sentBytes: sentBytes - before.sentBytes, requests: requests - before.requests };
  };
  const steps: Record<string, unknown> = {};
  for (const { id } of await mine()) await store.delete(id);

  steps["first"] = await load();
  steps["from here"] = await load();
  const [model] = await mine();
  steps["listed"] = { bytes: model?.bytes, complete: model?.complete };
  await store.delete(model?.id ?? "");
  steps["deleted"] = (await mine()).length;

  cutAfter = 3_000_000;
  steps["cut"] = await load();
  cutAfter = Infinity;
  for (const { id } of await mine()) await store.delete(id);

  const abort = new AbortController();
  const { files, settle } = await open(abort.signal);
  const reader = (await (await files.find("weights"))?.stream({ signal: abort.signal }))?.getReader();
  for (let read = 0; read < SEGMENT_BYTES + 500_000;) read += (await reader?.read())?.value?.length ?? Infinity;
  abort.abort("enough");
  await reader?.read().catch(() => undefined); // the abort, as it should be
  await settle("stopped");
  steps["resumed"] = await load();
  for (const { id } of await mine()) await store.delete(id);

  const both = await Promise.all([load(), load()]);
  steps["two at once"] = { isRight: both.map(({ isRight }) => isRight), stored: both.map(({ stored }) => stored) };
  steps["bytes of two"] = Math.max(...both.map((one) => one.sentBytes));
  for (const { id } of await mine()) await store.delete(id);
  const handle = FileSystemFileHandle.prototype;
  return { way: "createSyncAccessHandle" in handle ? "createSyncAccessHandle" : "createWritable", steps };
}

export const SCENARIO_BYTES = SIZE;
