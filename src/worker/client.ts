/** The caller's side: an engine in a dedicated worker, or, where none can be had, on this thread. */
import type { Chunk } from "../engine/answer-stream";
import type { CacheAccess } from "../engine/cache-transfer";
import type { Choice } from "../engine/choice";
import type {
  ChatInput,
  Engine,
  EngineInfo,
  GenerateRequest,
  GenerationEnd,
  Pooling,
  ProcessLogits,
  Score,
  TaggedInput,
} from "../engine/engine";
import type { LoadContext, LoadProgress, LoadRequest } from "../engine/load-model";
import { ownModule } from "../own-module";
import type { ModelPlan, ModelPlanContext, ModelPlanRequest } from "../engine/plan-model";
import { WordloomError } from "../errors";
import type { Answers, Ask, AskType, ClientMessage, HostMessage, Message } from "./messages";
import { startWorker } from "./start-worker";

/** What the client needs of a Worker; a pair of ports behind it in tests. */
export interface WorkerLike {
  postMessage(message: Message, options: { transfer: Transferable[] }): void;
  addEventListener(type: "message", listener: (event: MessageEvent<Message>) => void): void;
  addEventListener(type: "error" | "messageerror", listener: (event: Event) => void): void;
  terminate(): void;
}

export interface ConnectOptions extends Omit<LoadContext, "worker" | "workerReason"> {
  /** False: on this thread. */
  wantsWorker: boolean;
  /** Starts the worker; tests give their own. */
  start?: () => WorkerLike;
}

/**
 * Loads a model, in a worker if one is wanted and can be had. A device and a `fetch` of the caller's own cannot be
 * posted: with them the engine runs on this thread, and `info.workerReason` says so.
 *
 * @throws WordloomError as `loadEngine`; worker-failed if the worker ends while loading; `signal.reason` on abort
 */
export async function connectEngine(request: LoadRequest, options: ConnectOptions): Promise<Engine> {
  const { wantsWorker, start = startWorker, ...context } = options;
  const here = async (workerReason: string) => {
    const { loadEngine } = await ownModule(import("../engine/load-model"));
    return loadEngine(request, { ...context, worker: false, workerReason });
  };
  if (!wantsWorker) return here("worker is false");
  if (context.device) return here("a GPUDevice was passed, and cannot be posted to a worker");
  if (context.fetch) return here("a fetch was passed, and cannot be posted to a worker");
  if (options.start === undefined && typeof Worker === "undefined") return here("there are no workers here");

  const started = await openWorker(start, context.signal);
  if ("refused" in started) return here(`the worker did not start: ${started.refused}`);
  if (request.backend !== "reference" && !started.webgpu && typeof navigator !== "undefined" && "gpu" in navigator) {
    started.worker.terminate();
    return here("this browser has WebGPU on the page only");
  }
  const engine = new WorkerEngine(started.worker, context.onRecovery);
  try {
    await engine.load(request, context.onProgress, context.signal);
    return engine;
  } catch (error) {
    started.worker.terminate();
    throw error;
  }
}

/** What a model would take; on this thread, since a few kB are read and nothing is computed. */
export async function planHere(request: ModelPlanRequest, context: ModelPlanContext): Promise<ModelPlan> {
  const { planModel } = await ownModule(import("../engine/plan-model"));
  return planModel(request, context);
}

/** Resolves with the worker's greeting, or with why there is none; a policy's refusal shows as an error event. */
async function openWorker(
  start: () => WorkerLike,
  signal: AbortSignal,
): Promise<{ worker: WorkerLike; webgpu: boolean } | { refused: string }> {
  let worker: WorkerLike;
  try {
    worker = start();
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      worker.terminate();
      reject(signal.reason as Error); // whatever the caller aborted with, as fetch does
    };
    if (signal.aborted) {
      giveUp();
      return;
    }
    signal.addEventListener("abort", giveUp, { once: true });
    worker.addEventListener("message", ({ data }) => {
      if (data.kind !== "hello") return;
      signal.removeEventListener("abort", giveUp);
      resolve({ worker, webgpu: data.webgpu });
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault(); // it is dealt with: the console need not report it
      signal.removeEventListener("abort", giveUp);
      worker.terminate();
      resolve({ refused: messageOf(event) });
    });
  });
}

interface Pending {
  resolve: (value: Answers[AskType]) => void;
  reject: (error: unknown) => void;
  onProgress?: (progress: LoadProgress) => void;
  onChunk?: (chunk: Chunk) => void;
  processLogits?: ProcessLogits;
}

/** An engine at the other end of a worker's port. */
class WorkerEngine implements Engine {
  readonly #worker: WorkerLike;
  readonly #onRecovery: LoadContext["onRecovery"];
  readonly #pending = new Map<number, Pending>();
  readonly cache: CacheAccess = {
    owner: () => this.#ask({ type: "cache-owner" }),
    read: (tokens, start, signal) => this.#ask({ type: "read-cache", tokens, start }, signal),
    write: (tokens, piece, signal) => this.#ask({ type: "write-cache", tokens, piece }, signal),
  };
  #nextId = 1;
  #info: EngineInfo | undefined;
  /** Set for good by a crash or by `dispose`. */
  #failure: WordloomError | undefined;
  #disposing: Promise<void> | undefined;

  constructor(worker: WorkerLike, onRecovery: LoadContext["onRecovery"]) {
    this.#worker = worker;
    this.#onRecovery = onRecovery;
    worker.addEventListener("message", ({ data }) => this.#receive(data as HostMessage)); // only the host posts here
    const crash = (event: Event) => {
      event.preventDefault();
      this.#fail(new WordloomError("worker-failed", `the worker failed: ${messageOf(event)}`));
    };
    worker.addEventListener("error", crash);
    worker.addEventListener("messageerror", crash);
  }

  get info(): EngineInfo {
    if (!this.#info) throw new WordloomError("internal", "info was asked for before the model was loaded");
    return this.#info;
  }

  /** Once, before anything else. Rejects with `signal.reason` as soon as it aborts; the worker is then of no use. */
  async load(request: LoadRequest, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    this.#info = await new Promise<EngineInfo>((resolve, reject) => {
      const onAbort = () => reject(signal.reason as Error); // whatever the caller aborted with, as fetch does
      signal.addEventListener("abort", onAbort, { once: true });
      this.#ask({ type: "load", request }, signal, { onProgress })
        .then(resolve, reject)
        .finally(() => signal.removeEventListener("abort", onAbort));
      if (signal.aborted) onAbort();
    });
  }

  generate(
    request: GenerateRequest,
    onChunk: (chunk: Chunk) => void,
    signal: AbortSignal,
    processLogits?: ProcessLogits,
  ): Promise<GenerationEnd> {
    const ask = { type: "generate", request, processesLogits: processLogits !== undefined } as const;
    return this.#ask(ask, signal, processLogits ? { onChunk, processLogits } : { onChunk });
  }

  score(input: TaggedInput, signal: AbortSignal): Promise<Score | undefined> {
    return this.#ask({ type: "score", input }, signal);
  }

  choose(input: TaggedInput, candidates: readonly string[], signal: AbortSignal): Promise<Choice | undefined> {
    return this.#ask({ type: "choose", input, candidates }, signal);
  }

  embed(input: TaggedInput, pooling: Pooling, signal: AbortSignal): Promise<Float64Array | undefined> {
    return this.#ask({ type: "embed", input, pooling }, signal);
  }

  tokenize(input: string | ChatInput, { addSpecialTokens }: { addSpecialTokens: boolean }): Promise<number[]> {
    return this.#ask({ type: "tokenize", input, addSpecialTokens });
  }

  detokenize(ids: Uint32Array): Promise<string> {
    return this.#ask({ type: "detokenize", ids });
  }

  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    // The worker frees its buffers itself: ending it at once would leave that to the browser's own time.
    const freed = this.#ask({ type: "dispose" }).catch(() => undefined); // a crash, before or now, frees everything, too
    this.#failure = new WordloomError("disposed", "this generator was disposed of");
    this.#refusePending(this.#failure, this.#nextId - 1);
    await freed;
    this.#worker.terminate();
  }

  #ask<T extends Ask>(
    ask: T,
    signal?: AbortSignal,
    listeners: Pick<Pending, "onProgress" | "onChunk" | "processLogits"> = {},
  ): Promise<Answers[T["type"]]> {
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    const onAbort = () => this.#post({ kind: "abort", id });
    const answer = new Promise<Answers[T["type"]]>((resolve, reject) => {
      // The host answers an ask with the value of its type (messages.ts), which the map of all of them cannot say.
      this.#pending.set(id, { resolve: resolve as Pending["resolve"], reject, ...listeners });
      try {
        this.#post({ kind: "ask", id, ask });
      } catch (error) {
        this.#pending.delete(id);
        reject(
          new WordloomError("option-invalid", `this cannot be sent to the worker: ${String(error)}`, { cause: error }),
        );
      }
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    return answer.finally(() => signal?.removeEventListener("abort", onAbort));
  }

  #receive(message: HostMessage): void {
    if (message.kind === "hello") return;
    if (message.kind === "recovery") {
      this.#onRecovery?.(message.recovery);
      return;
    }
    const pending = this.#pending.get(message.id);
    if (!pending) return; // refused in the meantime, by `dispose` or a crash
    switch (message.kind) {
      case "progress":
        pending.onProgress?.(message.progress);
        return;
      case "chunks":
        for (const chunk of message.chunks) pending.onChunk?.(chunk);
        return;
      case "logits":
        void this.#process(message, pending);
        return;
      case "done":
        this.#pending.delete(message.id);
        pending.resolve(message.value);
        return;
      case "failed":
        this.#pending.delete(message.id);
        pending.reject(WordloomError.fromPlain(message.error));
        return;
    }
  }

  /** The caller's processor runs here, where it was written; its failure is the answer's. */
  async #process(message: Extract<HostMessage, { kind: "logits" }>, pending: Pending): Promise<void> {
    const { id, logits, tokens, promptLength } = message;
    try {
      this.#post({ kind: "processed", id, logits: await pending.processLogits?.(logits, tokens, promptLength) });
    } catch (error) {
      this.#pending.delete(id); // what the worker says of it would have lost the cause
      pending.reject(error);
      this.#post({ kind: "processed", id, logits: undefined });
    }
  }

  #fail(failure: WordloomError): void {
    this.#failure ??= failure;
    this.#worker.terminate();
    this.#refusePending(this.#failure);
  }

  #refusePending(error: WordloomError, except?: number): void {
    for (const [id, pending] of [...this.#pending]) {
      if (id === except) continue;
      this.#pending.delete(id);
      pending.reject(error);
    }
  }

  #post(message: ClientMessage): void {
    const ask = message.kind === "ask" ? message.ask : undefined;
    this.#worker.postMessage(message, { transfer: ask?.type === "write-cache" ? [ask.piece.bytes.buffer] : [] });
  }
}

function messageOf(event: Event): string {
  const message: unknown = "message" in event ? event.message : undefined;
  return typeof message === "string" && message !== "" ? message : "the browser gives no reason";
}
