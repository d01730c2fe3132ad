/** Everything that crosses the border between page and worker; the one place where a message gets a shape. */
import type { Chunk } from "../engine/answer-stream";
import type { CacheOwner, CachePiece } from "../engine/cache-transfer";
import type { Choice } from "../engine/choice";
import type {
  ChatInput,
  EngineInfo,
  GenerateRequest,
  GenerationEnd,
  Pooling,
  Score,
  TaggedInput,
} from "../engine/engine";
import type { LoadProgress, LoadRequest } from "../engine/load-model";
import type { Recovery } from "../engine/recovery";
import type { PlainWordloomError } from "../errors";

/** What a request asks; each is answered by exactly one `done` or `failed` of the same id. */
export type Ask =
  | { type: "load"; request: LoadRequest }
  /** With `processesLogits` each token's logits are sent to the client, and the worker waits for what comes back. */
  | { type: "generate"; request: GenerateRequest; processesLogits: boolean }
  | { type: "score"; input: TaggedInput }
  | { type: "choose"; input: TaggedInput; candidates: readonly string[] }
  | { type: "embed"; input: TaggedInput; pooling: Pooling }
  | { type: "tokenize"; input: string | ChatInput; addSpecialTokens: boolean }
  | { type: "detokenize"; ids: Uint32Array }
  | { type: "cache-owner" }
  /** The piece's bytes are moved, not copied; so they are in `write-cache`. */
  | { type: "read-cache"; tokens: Uint32Array; start: number }
  | { type: "write-cache"; tokens: Uint32Array; piece: CachePiece }
  | { type: "dispose" };

/** The value that `done` brings for each. */
export interface Answers {
  load: EngineInfo;
  generate: GenerationEnd;
  score: Score | undefined;
  choose: Choice | undefined;
  embed: Float64Array | undefined;
  tokenize: number[];
  detokenize: string;
  "cache-owner": CacheOwner;
  "read-cache": CachePiece | undefined;
  "write-cache": boolean;
  dispose: undefined;
}

export type AskType = Ask["type"];

export type ClientMessage =
  | { kind: "ask"; id: number; ask: Ask }
  /** Stops request `id`; it is still answered. The reason stays with the caller. */
  | { kind: "abort"; id: number }
  /** What the caller's processor made of the logits of request `id`; undefined if it failed, which the client tells. */
  | { kind: "processed"; id: number; logits: Float32Array | undefined };

export type HostMessage =
  /** The first message: the worker runs. */
  | { kind: "hello"; webgpu: boolean }
  | { kind: "progress"; id: number; progress: LoadProgress }
  /** Of the model's device, whatever is being asked. */
  | { kind: "recovery"; recovery: Recovery }
  /** All chunks of a tick, or of a frame's time, together. */
  | { kind: "chunks"; id: number; chunks: Chunk[] }
  /** Asks for one `processed`; there is never more than one asked for in a request. */
  | { kind: "logits"; id: number; logits: Float32Array; tokens: Uint32Array; promptLength: number }
  | { kind: "done"; id: number; value: Answers[AskType] }
  | { kind: "failed"; id: number; error: PlainWordloomError };

export type Message = ClientMessage | HostMessage;

/** What host and client need of a Worker, a worker's own scope, or a MessagePort. */
export interface Port {
  postMessage(message: Message, options: { transfer: Transferable[] }): void;
  addEventListener(type: "message", listener: (event: MessageEvent<Message>) => void): void;
}
