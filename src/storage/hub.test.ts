import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { foreignContent } from "../formats/foreign-content";
import { readBytes } from "../formats/read-json";
import { memoryStorage } from "../testing/memory-storage";
import { parseHubSource } from "./hub";
import { ModelStore } from "./model-store";
import { openModel, type OpenModelOptions } from "./open-model";
import { RETRY_POLICY } from "./retries";

const CONFIG = new TextEncoder().encode('{"a":1}');
const WEIGHTS = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** A hub with one model; its main branch can move, and its files be exchanged under it. */
function fakeHub() {
  const log: string[] = [];
  const tokens = new Set<string | null>();
  const hub = {
    log,
    tokens,
    commit: "a".repeat(40),
    weights: WEIGHTS,
    refuse: undefined as (() => Response) | undefined,
    fetch: (async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      log.push(`${init?.method} ${url.host}${url.pathname}${url.search}`);
      tokens.add(new Headers(init?.headers).get("Authorization"));
      if (hub.refuse !== undefined) return hub.refuse();
      if (url.pathname.includes("/api/models/")) {
        const lfs = { sha256: sha256(WEIGHTS), size: WEIGHTS.length, pointerSize: 134 };
        const siblings = [
          { rfilename: "config.json", size: CONFIG.length, blobId: "b1" },
          { rfilename: "model.safetensors", size: WEIGHTS.length, blobId: "b2", lfs },
          { rfilename: "q4/model.gguf", size: 5, blobId: "b3" },
        ];
        return Response.json({ id: "org/name", sha: hub.commit, siblings });
      }
      const [, path] = /\/resolve\/[0-9a-f]{40}\/(.*)$/.exec(url.pathname) ?? [];
      const bytes = path === "config.json" ? CONFIG : hub.weights;
      const [, start = "0"] = /^bytes=(\d+)-/.exec(new Headers(init?.headers).get("Range") ?? "") ?? [];
      const part = bytes.slice(Number(start));
      const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
      const isPart = new Headers(init?.headers).has("Range");
      return new Response(part, { status: isPart ? 206 : 200, headers: isPart ? { "Content-Range": range } : {} });
    }) as typeof fetch,
  };
  return hub;
}

const options = (hub: ReturnType<typeof fakeHub>, place = memoryStorage({ writes: "sync" })): OpenModelOptions => ({
  store: "auto",
  sha256: {},
  foreign: foreignContent,
  place,
  fetch: hub.fetch,
  retries: { ...RETRY_POLICY, delayMs: 1 },
});

async function load(source: string, open: OpenModelOptions) {
  const { files, settle } = await openModel(source, open);
  try {
    const missing = await files.find("generation_config.json");
    const read: Uint8Array[] = [];
    for (const name of ["config.json", "model.safetensors"]) {
      const file = await files.find(name);
      if (file !== undefined) read.push(await readBytes(file, { maxBytes: 1e6 }));
    }
    return { missing, lengths: read.map(({ length }) => length), ...(await settle("loaded")) };
  } catch (error) {
    await settle("broken");
    throw error;
  }
}

test.each([
  ["hf:org/name", { name: "org/name", revision: "main", file: undefined }],
  ["hf:org/na.me-1@v1.0", { name: "org/na.me-1", revision: "v1.0", file: undefined }],
  ["hf:org/name@refs/pr/1", { name: "org/name", revision: "refs/pr/1", file: undefined }],
  ["hf:org/name/model.gguf", { name: "org/name", revision: "main", file: "model.gguf" }],
  ["hf:org/name/q4/model.gguf", { name: "org/name", revision: "main", file: "q4/model.gguf" }],
  ["hf:org/name@v2/q4/model.gguf", { name: "org/name", revision: "v2", file: "q4/model.gguf" }],
])("%s names %j", (source, expected) => expect(parseHubSource(source)).toEqual(expected));

test.each(["hf:name", "hf:org/name/config.json", "hf:org/name@", "hf:/name", "hf:org/name?x"])(
  "%s is refused",
  (source) =>
    expect(() => parseHubSource(source)).toThrow(expect.objectContaining({ code: "source-unsupported" }) as Error),
);

describe("a model of the hub", () => {
  test("is read by the commit its branch has now, and only the files that are wanted, without asking for each", async () => {
    const hub = fakeHub();
    expect(await load("hf:org/name", options(hub))).toEqual({
      missing: undefined,
      lengths: [CONFIG.length, WEIGHTS.length],
      stored: true,
      reason: "kept in this browser's storage",
    });
    expect(hub.log).toEqual([
      "GET huggingface.co/api/models/org/name/revision/main?blobs=true",
      `GET huggingface.co/org/name/resolve/${hub.commit}/config.json`,
      `GET huggingface.co/org/name/resolve/${hub.commit}/model.safetensors`,
    ]);
  });

  test("is read from here the next time, though the branch has moved, until it is refreshed or deleted", async () => {
    const hub = fakeHub();
    const place = memoryStorage({ writes: "sync" });
    await load("hf:org/name", options(hub, place));
    const before = hub.commit;
    hub.commit = "c".repeat(40);
    hub.log.length = 0;
    expect(await load("hf:org/name", options(hub, place))).toMatchObject({
      reason: "read from this browser's storage",
    });
    expect(hub.log).toEqual([]);
    await load("hf:org/name", { ...options(hub, place), store: "refresh" });
    expect(hub.log.at(-1)).toBe(`GET huggingface.co/org/name/resolve/${hub.commit}/model.safetensors`);
    const stored = await new ModelStore(place).list();
    expect(stored.map(({ source, revision }) => `${source} ${revision}`).sort()).toEqual([
      `hf:org/name ${before}`,
      `hf:org/name ${hub.commit}`,
    ]);
    for (const { id } of stored) await new ModelStore(place).delete(id);
    hub.log.length = 0;
    await load("hf:org/name", options(hub, place));
    expect(hub.log).toHaveLength(3);
  });

  test("whose file is not the one of its hash is refused, and nothing of that file is kept", async () => {
    const hub = fakeHub();
    hub.weights = WEIGHTS.map((byte) => byte ^ 1);
    const place = memoryStorage({ writes: "sync" });
    await expect(load("hf:org/name", options(hub, place))).rejects.toMatchObject({
      code: "file-invalid",
      message: expect.stringContaining(sha256(WEIGHTS)) as string,
    });
    expect(await new ModelStore(place).list()).toEqual([]);
    await expect(load("hf:org/name", { ...options(hub), store: "off" })).rejects.toMatchObject({
      code: "file-invalid",
    });
  });

  test("comes from another endpoint, with a token that is kept nowhere", async () => {
    const hub = fakeHub();
    const place = memoryStorage({ writes: "sync" });
    const open = { ...options(hub, place), endpoint: "https://mirror.test/hf/", token: "hf_secret" };
    expect((await load("hf:org/name@v1", open)).stored).toBe(true);
    expect(hub.log[0]).toBe("GET mirror.test/hf/api/models/org/name/revision/v1?blobs=true");
    expect([...hub.tokens]).toEqual(["Bearer hf_secret"]);
    const texts = [...place.contents.values()].map((bytes) => Buffer.from(bytes).toString("latin1"));
    expect(texts.some((text) => text.includes("hf_secret"))).toBe(false);
  });

  test.each([
    [401, {}, "access-denied", /the hub has no org\/name@main, or does not give it out/],
    [404, {}, "model-not-found", /the hub has no org\/name@main/],
    [404, { "X-Error-Code": "RevisionNotFound" }, "model-not-found", /the hub has the model, but not org\/name@main/],
    [403, {}, "access-denied", /403/],
    [500, {}, "server-failed", /500/],
    [200, {}, "network-failed", /did not answer with JSON/],
  ])("that the hub answers for with %i %j is %s", async (status, headers, code, message) => {
    const hub = fakeHub();
    hub.refuse = () => new Response("<html>", { status, headers: headers as Record<string, string> });
    await expect(load("hf:org/name", options(hub))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  });
});
