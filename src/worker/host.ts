/**
 * The worker's side: one engine, driven by messages. A request belongs to its port: the worker is the caller's own, and
 * ending it ends all of them.
 */
import type { Chunk } from "../engine/answer-stream";
import type { CacheAccess } from "../engine/cache-transfer";
import type { Engine, ProcessLogits } from "../engine/engine";
import type { LoadContext, LoadRequest, LoadProgress } from "../engine/load-model";
import { WordloomError } from "../errors";
import type { Answers, Ask, AskType, ClientMessage, HostMessage, Port } from "./messages";

export type LoadEngine = (
  request: LoadRequest,
  options: Pick<LoadContext, "onProgress" | "onRecovery" | "signal">,
) => Promise<Engine>;

export class Host {
  readonly #port: Port;
  readonly #load: LoadEngine;
  readonly #running = new Map<number, AbortController>();
  /** Who waits for processed logits, by request. */
  readonly #awaited = new Map<number, (logits: Float32Array | undefined) => void>();
  #engine: Engine | undefined;

  /** Greets at once; from then on answers each request. */
  constructor(port: Port, load: LoadEngine) {
    this.#port = port;
    this.#load = load;
    port.addEventListener("message", ({ data }) => {
      const message = data as ClientMessage; // only the client posts to this port
      if (message.kind === "abort") this.#running.get(message.id)?.abort();
      else if (message.kind === "processed") this.#awaited.get(message.id)?.(message.logits);
      else void this.#serve(message.id, message.ask);
    });
    this.#post({ kind: "hello", webgpu: typeof navigator !== "undefined" && "gpu" in navigator });
  }

  async #serve(id: number, ask: Ask): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const value = await this.#answer(id, ask, controller.signal);
      this.#post({ kind: "done", id, value }, typeof value === "object" && "bytes" in value ? movable(value) : []);
    } catch (error) {
      this.#post({ kind: "failed", id, error: WordloomError.from(error).toPlain() });
    } finally {
      this.#running.delete(id);
    }
  }

  async #answer(id: number, ask: Ask, signal: AbortSignal): Promise<Answers[AskType]> {
    if (ask.type === "load") {
      const onProgress = (progress: LoadProgress) => this.#post({ kind: "progress", id, progress });
      const onRecovery: LoadContext["onRecovery"] = (recovery) => this.#post({ kind: "recovery", recovery });
      this.#engine = await this.#load(ask.request, { onProgress, onRecovery, signal });
      return this.#engine.info;
    }
    const engine = this.#engine;
    if (!engine) throw new WordloomError("internal", `"${ask.type}" came before a model was loaded`);
    switch (ask.type) {
      case "generate": {
        const batch = new ChunkBatch((chunks) => this.#post({ kind: "chunks", id, chunks }));
        try {
          const process = ask.processesLogits ? this.#askClient(id) : undefined;
          return await engine.generate(ask.request, (chunk) => batch.add(chunk), signal, process);
        } finally {
          this.#awaited.delete(id);
          batch.flush(); // the end, or what failed, comes after all text
        }
      }
      case "score":
        return engine.score(ask.input, signal);
      case "choose":
        return engine.choose(ask.input, ask.candidates, signal);
      case "embed":
        return engine.embed(ask.input, ask.pooling, signal);
      case "tokenize":
        return engine.tokenize(ask.input, { addSpecialTokens: ask.addSpecialTokens });
      case "detokenize":
        return engine.detokenize(ask.ids);
      case "cache-owner":
        return cacheOf(engine).owner();
      case "read-cache":
        return cacheOf(engine).read(ask.tokens, ask.start, signal);
      case "write-cache":
        return cacheOf(engine).write(ask.tokens, ask.piece, signal);
      case "dispose":
        await engine.dispose();
        return undefined;
    }
  }

  #askClient(id: number): ProcessLogits {
    return (logits, tokens, promptLength) =>
      new Promise((resolve, reject) => {
        this.#awaited.set(id, (processed) => {
          if (processed) resolve(processed);
          else reject(new WordloomError("option-invalid", "logitsProcessor failed"));
        });
        this.#post({ kind: "logits", id, logits, tokens, promptLength });
      });
  }

  #post(message: HostMessage, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, { transfer });
  }
}

function cacheOf({ cache }: Engine): CacheAccess {
  if (!cache) throw new WordloomError("internal", "this engine gives nothing of its cache away");
  return cache;
}

/** What of a piece of the cache is moved to the other thread. `bytes` of a model's info are numbers. */
function movable({ bytes }: { bytes: unknown }): Transferable[] {
  return bytes instanceof Uint8Array ? [bytes.buffer as ArrayBuffer] : []; // made by the backend, never shared
}

/** Between two messages with text: each costs the page's thread a task; two frames is sooner than anyone reads. */
const CHUNKS_INTERVAL_MS = 33;

/** The first chunk goes at once; those that follow it within that time go together. */
class ChunkBatch {
  readonly #send: (chunks: Chunk[]) => void;
  #chunks: Chunk[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sentMs = -Infinity;

  constructor(send: (chunks: Chunk[]) => void) {
    this.#send = send;
  }

  add(chunk: Chunk): void {
    if (this.#chunks.push(chunk) > 1) return;
    const waitMs = this.#sentMs + CHUNKS_INTERVAL_MS - performance.now();
    // A microtask, not a timer, where there is nothing to wait for: chunks of this tick still go together.
    if (waitMs <= 0) queueMicrotask(() => this.flush());
    else this.#timer = setTimeout(() => this.flush(), waitMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    if (this.#chunks.length === 0) return;
    this.#sentMs = performance.now();
    this.#send(this.#chunks);
    this.#chunks = [];
  }
}
