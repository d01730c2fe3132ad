/** One answer while it is being written. */
import type { AnswerPart } from "../chat/answer-parts";
import { messageOf, type AssistantMessage } from "../chat/assistant-message";
import type { Chunk } from "../engine/answer-stream";
import type { GenerationEnd } from "../engine/engine";
import { WordloomError } from "../errors";

/**
 * Starts the engine's work.
 *
 * @throws WordloomError for input or options that are refused
 */
type StartAnswer<Piece> = (
  onChunk: (chunk: Piece) => void,
  signal: AbortSignal,
) => { seed: number; n?: number; end: Promise<GenerationEnd>; holds?: "json" | "text" | undefined };

/** What a run reads of a chunk. */
interface WrittenPiece {
  index?: number;
  text: string;
  parts?: readonly AnswerPart[];
}

/**
 * One answer, or with `n` several, from `TextGenerator.generate`. Read it by one `for await` loop, by `text()`, or both; it is written whether
 * it is read or not, and chunks wait until they are. Leaving the loop early stops the answer. After an abort, iteration
 * and `text()` reject with the signal's reason, and `end` resolves with "abort".
 *
 * Of several answers the chunks come as they are written, each with the `index` of its own.
 *
 * A chunk's `text` holds whole characters only, and nothing that may still become a stop string.
 *
 * Failures reject iteration, `text()` and `end` with the same WordloomError: option-invalid, prompt-too-long,
 * template-missing, template-failed, tools-unsupported, constraint-failed, wasm-refused, kernel-failed, device-lost, worker-failed, disposed.
 */
export class GenerationRun<Piece extends WrittenPiece = Chunk> implements AsyncIterable<Piece> {
  /**
   * Why it ended, its seed, token counts and timings in ms, once the engine has ended this answer; rejects with a
   * WordloomError if it fails. Need not be read: its rejection is never reported as unhandled.
   */
  readonly end: Promise<GenerationEnd>;

  readonly #abort = new AbortController();
  readonly #written: Promise<void>;
  /** Of each answer, by its index. */
  #answers: WrittenAnswer[] = [{ text: "", parts: [] }];
  /** What the answer is held to; undefined: nothing. */
  #holds: "json" | "text" | undefined;
  #unread: Piece[] = [];
  /** How the chunks end; undefined while there may be more. */
  #outcome: { kind: "ended" } | { kind: "failed"; reason: unknown } | undefined;
  #isIterated = false;
  /** Wakes the loop that waits for a chunk or the outcome. */
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal | undefined, start: StartAnswer<Piece>) {
    const stop = () => this.#stop(signal?.reason);
    // What is no signal is refused by name in `start`.
    const listens = signal instanceof AbortSignal;
    if (listens && signal.aborted) stop();
    else if (listens) signal.addEventListener("abort", stop, { once: true });

    this.end = this.#answer(start).finally(() => {
      if (listens) signal.removeEventListener("abort", stop);
    });
    this.#written = new Promise((resolve, reject) => {
      this.#abort.signal.addEventListener("abort", () => reject(this.#abort.signal.reason as Error), { once: true });
      if (this.#abort.signal.aborted) reject(this.#abort.signal.reason as Error);
      this.end.then(() => resolve(), reject);
    });
    // Someone who reads neither of them has not forgotten anything.
    this.end.catch(() => {});
    this.#written.catch(() => {});
  }

  /** The whole text once it is written, also if it is iterated at the same time; of several answers the first one's. */
  text(): Promise<string> {
    const text = this.#written.then(() => this.#first.text);
    text.catch(() => {});
    return text;
  }

  /** The texts of all answers, by their index, once all are written. */
  texts(): Promise<string[]> {
    const texts = this.#written.then(() => this.#answers.map(({ text }) => text));
    texts.catch(() => {});
    return texts;
  }

  get #first(): WrittenAnswer {
    return this.#answers[0] ?? { text: "", parts: [] }; // there always is one
  }

  /**
   * Once it is written: the assistant's message, ready to be put after the messages that were the input. Without marks:
   * the text for the reader is `content`, reasoning is `reasoning_content`, calls of tools are `tool_calls`. Of several answers the first one's.
   */
  message(): Promise<AssistantMessage> {
    const message = this.#written.then(() => messageOf(this.#first.parts));
    message.catch(() => {});
    return message;
  }

  /**
   * Of an answer under a `constraint`, once it is whole: the parsed JSON of a schema, else the text.
   *
   * @throws WordloomError answer-incomplete if a limit cut it, option-invalid without a constraint, or as `text()`
   */
  value(): Promise<unknown> {
    const value = this.#written.then(async (): Promise<unknown> => {
      const { constraint, finishReason, usage } = await this.end;
      if (constraint === undefined) {
        throw new WordloomError("option-invalid", "value() reads an answer under a constraint, and there was none", {
          remedy: "Give generate a constraint, or read text().",
        });
      }
      if (constraint === "cut") {
        const message = `the answer is cut after ${usage.completionTokens} tokens (${finishReason}) and not whole`;
        throw new WordloomError("answer-incomplete", message);
      }
      return this.#holds === "json" ? JSON.parse(this.#first.text) : this.#first.text;
    });
    value.catch(() => {});
    return value;
  }

  [Symbol.asyncIterator](): AsyncIterator<Piece, undefined> {
    if (this.#isIterated) {
      throw new WordloomError("option-invalid", "this answer is already being read by a loop; it can be read once", {
        remedy: "Use text() beside the loop, or call generate again.",
      });
    }
    this.#isIterated = true;
    return {
      next: () => this.#next(),
      return: async () => {
        this.#stop(new DOMException("the loop over this answer was left", "AbortError"));
        return { done: true, value: undefined };
      },
    };
  }

  async #next(): Promise<IteratorResult<Piece, undefined>> {
    for (;;) {
      const chunk = this.#unread.shift();
      if (chunk) return { done: false, value: chunk };
      if (this.#outcome?.kind === "failed") throw this.#outcome.reason;
      if (this.#outcome) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async #answer(start: StartAnswer<Piece>): Promise<GenerationEnd> {
    let seed: number | undefined;
    try {
      const answer = start((chunk) => this.#add(chunk), this.#abort.signal);
      seed = answer.seed;
      this.#answers = Array.from({ length: answer.n ?? 1 }, () => ({ text: "", parts: [] }));
      this.#holds = answer.holds;
      const end = await answer.end;
      this.#finish({ kind: "ended" });
      // An abort that came after the engine's last token is still the caller's: what was promised of one holds.
      if (!this.#abort.signal.aborted) return end;
      return {
        ...end,
        finishReason: "abort",
        ...(end.constraint && { constraint: "cut" }),
      };
    } catch (error) {
      const reason = WordloomError.from(error);
      this.#finish({ kind: "failed", reason });
      if (this.#abort.signal.aborted && seed !== undefined) return abortedEnd(seed, this.#answers.length);
      throw reason;
    }
  }

  #add(chunk: Piece): void {
    if (this.#outcome) return; // a run that was stopped says nothing more
    const answer = this.#answers[chunk.index ?? 0];
    if (!answer) throw new WordloomError("internal", `a chunk of answer ${chunk.index} of ${this.#answers.length}`);
    answer.text += chunk.text;
    answer.parts.push(...(chunk.parts ?? [{ type: "text" as const, text: chunk.text }]));
    this.#unread.push(chunk);
    this.#wakeUp();
  }

  /** At once for whoever reads; the engine follows within a few steps, and `end` with it. */
  #stop(reason: unknown): void {
    if (this.#outcome) return; // it had ended; what is unread can still be read
    this.#unread = [];
    this.#finish({ kind: "failed", reason });
    this.#abort.abort(reason);
  }

  #finish(outcome: { kind: "ended" } | { kind: "failed"; reason: unknown }): void {
    this.#outcome ??= outcome;
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

interface WrittenAnswer {
  text: string;
  parts: AnswerPart[];
}

/** Of answers that failed (the generator was disposed of, say) after they had been aborted. */
function abortedEnd(seed: number, n: number): GenerationEnd {
  const answers = Array.from({ length: n }, (_, index) => ({
    finishReason: "abort" as const,
    completionTokens: 0,
    seed: seed + index,
  }));
  return {
    finishReason: "abort",
    ...(n > 1 && { answers }),
    seed,
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    timings: { prefillMs: 0, firstTokenMs: 0, decodeMs: 0, prefillTokensPerSecond: 0, decodeTokensPerSecond: 0 },
  };
}
