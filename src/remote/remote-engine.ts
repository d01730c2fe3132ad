import type {
  ChatInput,
  Engine,
  GenerateRequest,
  GenerationEnd,
  ProcessLogits,
  Score,
  TaggedInput,
} from "../engine/engine";
import { WordloomError } from "../errors";
import { AnswerReader } from "./answer-reader";
import { readAnswer } from "./read-answer";
import type { Endpoint } from "./endpoint";
import type { RemoteChunk, RemoteInfo } from "./remote-types";
import { noEndpoint, requestBody } from "./request-body";
import type { ServerClient } from "./server-client";
import { detokenizeThere, scoreThere, tokenizeThere } from "./server-tokens";

/** Why a request of ours is stopped by ourselves. */
const TIME_IS_UP = Symbol("maxTimeMs");

/**
 * A model on a server of OpenAI's shape. Answers that overlap are not queued here: the server decides about their turns.
 * What it does not tell of usage is NaN.
 */
export class RemoteEngine implements Engine<RemoteInfo, RemoteChunk> {
  readonly info: RemoteInfo;
  readonly #client: ServerClient;
  readonly #endpoint: Endpoint;
  readonly #disposing = new AbortController();

  constructor(client: ServerClient, endpoint: Endpoint, info: RemoteInfo) {
    this.#client = client;
    this.#endpoint = endpoint;
    this.info = info;
  }

  /**
   * @throws WordloomError option-invalid, prompt-too-long; access-denied, model-not-found, rate-limited, server-failed;
   *   network-failed, cors-refused; disposed
   */
  async generate(
    request: GenerateRequest,
    onChunk: (chunk: RemoteChunk) => void,
    signal: AbortSignal,
    processLogits?: ProcessLogits,
  ): Promise<GenerationEnd> {
    const { server, model, contextLength = Infinity } = this.info;
    const answer = new AnswerReader(request, onChunk);
    const time = new AbortController();
    const timer =
      request.maxTimeMs === undefined ? undefined : setTimeout(() => time.abort(TIME_IS_UP), request.maxTimeMs);
    try {
      this.#assertAlive();
      if (processLogits) {
        throw new WordloomError("option-invalid", "logitsProcessor needs the model on this device: logits stay there", {
          remedy: "Remove logitsProcessor, or load a model here.",
        });
      }
      if (request.input.kind === "ids" && request.input.ids.length > contextLength) {
        const message = `the prompt has ${request.input.ids.length} tokens; the context holds ${contextLength}`;
        throw new WordloomError("prompt-too-long", message);
      }
      const { path, body } = requestBody(request, server, model);
      const url = this.#endpoint.api + path;
      const all = AbortSignal.any([signal, time.signal, this.#disposing.signal]);
      const response = await this.#client.post(url, body, all);
      await answer.read(url, readAnswer(this.#client, url, response, all));
      return answer.end();
    } catch (error) {
      if (signal.aborted) return answer.end("abort");
      if (time.signal.aborted) return answer.end("time");
      throw this.#failure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async score(input: TaggedInput, signal: AbortSignal): Promise<Score | undefined> {
    try {
      this.#assertAlive();
      if (this.info.server !== "vllm") throw noEndpoint("score a text", this.info.server);
      const all = AbortSignal.any([signal, this.#disposing.signal]);
      return await scoreThere(this.#client, this.#endpoint, this.info.model, input, all);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw this.#failure(error);
    }
  }

  choose(): Promise<never> {
    return Promise.reject(this.#failure(onDeviceOnly("choose")));
  }

  embed(): Promise<never> {
    return Promise.reject(this.#failure(onDeviceOnly("embed")));
  }

  async tokenize(given: string | ChatInput, { addSpecialTokens }: { addSpecialTokens: boolean }): Promise<number[]> {
    try {
      this.#assertAlive();
      const input = typeof given === "string" ? ({ kind: "text", text: given } as const) : given;
      const wanted = { ...this.info, input, addSpecialTokens };
      return await tokenizeThere(this.#client, this.#endpoint, wanted, this.#disposing.signal);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async detokenize(ids: Uint32Array): Promise<string> {
    try {
      this.#assertAlive();
      return await detokenizeThere(this.#client, this.#endpoint, { ...this.info, ids }, this.#disposing.signal);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Stops what is under way; the server is told by the closed connection. */
  async dispose(): Promise<void> {
    this.#disposing.abort(disposed());
  }

  #failure(error: unknown): WordloomError {
    if (this.#disposing.signal.aborted) return disposed();
    return this.#client.cleaned(WordloomError.from(error));
  }

  #assertAlive(): void {
    if (this.#disposing.signal.aborted) throw disposed();
  }
}

function disposed(): WordloomError {
  return new WordloomError("disposed", "this generator was disposed of");
}

function onDeviceOnly(method: string): WordloomError {
  return new WordloomError("option-invalid", `${method} is not asked of a server: it takes a model on this device`, {
    remedy: `Load the model with TextGenerator.load, and call ${method} on that.`,
  });
}
