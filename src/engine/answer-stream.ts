/** Sampled ids → chunks for the reader: text and its tokens, nothing that may still become a stop string. */
import type { StepResult } from "../backends/backend";
import type { AnswerPart } from "../chat/answer-parts";
import { TextStream } from "../tokenizer/text-stream";
import type { Tokenizer } from "../tokenizer/tokenizer";

/** One sampled token of an answer. */
export interface AnswerToken {
  id: number;
  /** The whole characters that this token completes; may be empty for a piece of one. */
  text: string;
  /** Exactly this token's bytes. */
  bytes: Uint8Array;
  /** Natural log of the model's own probability of the token (temperature 1, before any processor). */
  logprob: number;
  /** With `topLogprobs`: the likeliest tokens in its place, likeliest first. */
  top?: { id: number; text: string; logprob: number }[];
  /** With `tokenStatistics`: e^logprob. */
  probability?: number;
  /** With `tokenStatistics`: its place among all tokens by the model's own probability, from 1; of equals the lower id first. */
  rank?: number;
  /** With `tokenStatistics`: of the model's own distribution that it was chosen from, in nats. */
  entropy?: number;
}

/** What one or more tokens have set free; either part may be empty. */
export interface ChunkContent {
  /** Whole characters, to be appended to what came before. */
  text: string;
  /** Tokens that lie in the text up to here and in no earlier chunk; none that reaches into a stop string. */
  tokens: AnswerToken[];
  /**
   * In answers to chat messages: what the text means, without the marks around it. It may lag behind `text`, while it may
   * still become a mark or is a call that is not whole; the last chunk may hold nothing else.
   */
  parts?: AnswerPart[];
}

/** A piece of one of the answers. */
export interface Chunk extends ChunkContent {
  /** Which answer it belongs to, from 0; 0 where there is one. */
  index: number;
}

/**
 * A token is passed on once its text has been: as long as it may belong to a stop string, both are kept back.
 * A token that reaches into a stop string is not passed on at all; the text before the stop string is.
 */
export class AnswerStream {
  readonly #tokenizer: Tokenizer;
  readonly #text: TextStream;
  readonly #wantsTop: boolean;
  /** Tokens kept back, with the length of all text up to and including theirs. */
  #held: { token: AnswerToken; textEnd: number; endsInCharacter: boolean }[] = [];
  #textLength = 0;
  #releasedLength = 0;
  #releasedTokens = 0;
  #stopped = false;

  /**
   * @param options.minTokens no stop string is looked for in so many of the first tokens
   * @param options.continues the answer goes on with a prompt that has a text
   */
  constructor(
    tokenizer: Tokenizer,
    options: { stop: readonly string[]; minTokens: number; wantsTop: boolean; continues: boolean },
  ) {
    const { stop, minTokens, wantsTop, continues } = options;
    this.#tokenizer = tokenizer;
    this.#text = new TextStream(tokenizer, stop, { continues, stopsFrom: minTokens });
    this.#wantsTop = wantsTop;
  }

  /**
   * @returns the chunk this token sets free, if any; and, if a stop string is complete, how many of the answer's
   *   tokens lie wholly before it
   */
  push(result: StepResult): { chunk: ChunkContent | undefined; keptTokens: number | undefined } {
    const { text, token, endsInCharacter, stopped } = this.#text.push(result.id);
    const top = this.#wantsTop ? { top: result.top.map((one) => ({ ...one, text: this.#textOf(one.id) })) } : {};
    const { logprob } = result;
    const statistics = result.statistics ? { probability: Math.exp(logprob), ...result.statistics } : {};
    this.#textLength += token.text.length;
    this.#held.push({
      token: { ...token, logprob, ...top, ...statistics },
      textEnd: this.#textLength,
      endsInCharacter,
    });
    this.#releasedLength += text.length;
    const count = stopped ? Math.max(0, stopped.keptTokens - this.#releasedTokens) : this.#releasable();
    const chunk = this.#chunk(text, count);
    this.#stopped = stopped !== undefined;
    return { chunk, keptTokens: stopped?.keptTokens };
  }

  /** What is left when the answer ends: a piece of a character becomes U+FFFD. Nothing after a stop string. */
  finish(): ChunkContent | undefined {
    if (this.#stopped) return undefined;
    return this.#chunk(this.#text.flush(), this.#held.length);
  }

  /** Held tokens up to the last one that ends within the released text, and on a whole character. */
  #releasable(): number {
    return (
      this.#held.findLastIndex(
        ({ token, textEnd, endsInCharacter }) =>
          textEnd <= this.#releasedLength && (token.text !== "" || !endsInCharacter),
      ) + 1
    );
  }

  #chunk(text: string, tokenCount: number): ChunkContent | undefined {
    const tokens = this.#held.splice(0, tokenCount).map(({ token }) => token);
    this.#releasedTokens += tokens.length;
    return text === "" && tokens.length === 0 ? undefined : { text, tokens };
  }

  #textOf(id: number): string {
    return new TextDecoder().decode(this.#tokenizer.bytesOf(id, false));
  }
}
