import type { GenerateRequest, GenerationEnd } from "../engine/engine";
import type { FinishReason } from "../engine/stopping";
import { WordloomError } from "../errors";
import type { AnswerPart } from "../chat/answer-parts";
import { ownFinishReason, readEvent, type AnswerEvent, type Usage } from "./answer-events";
import { CallCollector } from "./call-collector";
import type { RemoteChunk } from "./remote-types";

/** Hands the chunks of one answer on, and measures it. */
export class AnswerReader {
  readonly #seed: number;
  readonly #top: number;
  readonly #onChunk: (chunk: RemoteChunk) => void;
  readonly #startMs = performance.now();
  #firstMs: number | undefined;
  #lastMs = 0;
  #finish: "stop" | "length" | undefined;
  #usage: Usage | undefined;
  #countedTokens = 0;
  #hasTokens = false;
  /** The first half of a character whose second half comes with the next piece. */
  #half = "";

  /** In answers to chat messages. */
  readonly #calls: CallCollector | undefined;

  constructor({ seed, sampling, input }: GenerateRequest, onChunk: (chunk: RemoteChunk) => void) {
    this.#seed = seed;
    this.#top = sampling.topLogprobs;
    this.#onChunk = onChunk;
    this.#calls = input.kind === "chat" ? new CallCollector() : undefined;
  }

  /** @throws WordloomError network-failed where the events end before the answer does; as `readAnswer` */
  async read(url: string, events: AsyncGenerator<Record<string, unknown>, "done" | "cut">): Promise<void> {
    for (;;) {
      const { done, value } = await events.next();
      if (done) {
        if (value === "done" || this.#finish) break;
        const message = `${url} closed the connection in the middle of its answer`;
        throw new WordloomError("network-failed", message, { remedy: "Ask again; what came so far is kept." });
      }
      const event = readEvent(value, this.#top);
      this.#take(event);
      this.#usage = event.usage ?? this.#usage;
      if (event.finishReason !== undefined) this.#finish = ownFinishReason(url, event.finishReason);
    }
    this.#tell(this.#half === "" ? "" : "\ufffd", [], this.#calls?.end() ?? []);
  }

  #take({ text, reasoning, calls, tokens }: AnswerEvent): void {
    if (text === "" && reasoning === "" && calls.length === 0 && !tokens?.length) return;
    if (this.#top > 0 && text !== "" && !tokens && !this.#hasTokens) {
      throw new WordloomError("option-invalid", "this server does not take topLogprobs: its answer has none", {
        remedy: "Leave topLogprobs out, or choose a server that has them.",
      });
    }
    this.#lastMs = performance.now();
    this.#firstMs ??= this.#lastMs;
    this.#countedTokens += tokens?.length ?? 0;
    this.#hasTokens ||= tokens !== undefined;
    const all = this.#half + text;
    this.#half = /[\ud800-\udbff]$/.exec(all)?.[0] ?? "";
    const thought: AnswerPart[] = reasoning === "" ? [] : [{ type: "reasoning", text: reasoning }];
    this.#tell(all.slice(0, all.length - this.#half.length), tokens ?? [], thought, this.#calls?.push(calls));
  }

  #tell(text: string, tokens: RemoteChunk["tokens"], before: AnswerPart[], after: AnswerPart[] = []): void {
    const parts: AnswerPart[] = [...before, ...(text === "" ? [] : [{ type: "text" as const, text }]), ...after];
    if (text === "" && tokens.length === 0 && parts.length === 0) return;
    this.#onChunk({ index: 0, text, tokens, ...(this.#calls ? { parts } : {}) });
  }

  /** @param because where the server has not ended it */
  end(because?: FinishReason): GenerationEnd {
    const { promptTokens, cachedTokens, completionTokens } = this.#usage ?? {
      promptTokens: NaN,
      cachedTokens: 0,
      completionTokens: this.#hasTokens || this.#firstMs === undefined ? this.#countedTokens : NaN,
    };
    const firstTokenMs = this.#firstMs === undefined ? 0 : this.#firstMs - this.#startMs;
    const decodeMs = this.#firstMs === undefined ? 0 : this.#lastMs - this.#firstMs;
    return {
      finishReason: because ?? this.#finish ?? "stop",
      seed: this.#seed,
      usage: { promptTokens, cachedTokens, completionTokens },
      timings: {
        prefillMs: firstTokenMs, // the way to the server and back included
        firstTokenMs,
        decodeMs,
        prefillTokensPerSecond: perSecond(promptTokens - cachedTokens, firstTokenMs),
        decodeTokensPerSecond: perSecond(completionTokens - 1, decodeMs),
      },
    };
  }
}

/** 0 where nothing is known. */
function perSecond(count: number, elapsedMs: number): number {
  return count > 0 && elapsedMs > 0 ? (count * 1000) / elapsedMs : 0;
}
