/** What there is of an answer while the loop writes it, whatever becomes of the device. */
import type { TokenConstraint } from "../structured/constrain";
import type { Speculation, Speculator } from "./speculation";
import type { FinishReason } from "./stopping";

export interface RunOutcome {
  finishReason: FinishReason;
  /** Of a run with a constraint: whether the answer is one of its texts, or the beginning of one. */
  constraint?: "complete" | "cut";
  /** Of a run with `speculative`. */
  speculation?: Speculation;
  /** Prompt tokens whose keys and values were there already. */
  cachedTokens: number;
  /** Tokens handed to `accept`: all of the answer, those of a stop string included, the end token not. */
  completionTokens: number;
  /** From its turn until the first token; without one (a stop in between), until the stop. */
  prefillMs: number;
  /** From asking (the wait in the queue included) until the first token; 0 if none came. */
  firstTokenMs: number;
  /** From the first token until the last. */
  decodeMs: number;
  /** Tokens that steps gave after the first one, the end token included. */
  decodedTokens: number;
}

/** Of one that never had its turn. */
export const NOTHING_RUN: RunOutcome = {
  finishReason: "abort",
  cachedTokens: 0,
  completionTokens: 0,
  prefillMs: 0,
  firstTokenMs: 0,
  decodeMs: 0,
  decodedTokens: 0,
};

/** One answer as far as it has come, over all devices that it was written on. */
export class Written {
  readonly askedMs = performance.now();
  startMs = 0;
  /** Every token that was chosen or forced, those past the end included. */
  readonly sampled: number[] = [];
  /** What the constraint counts as written, and the backend has not answered yet. */
  forced: readonly number[] = [];
  accepted = 0;
  /** As `accept` says. */
  kept: number | undefined;
  reused: number | undefined;
  guesses: Speculator | undefined;
  finishReason: FinishReason | undefined;
  firstTokenMs: number | undefined;
  lastTokenMs: number | undefined;
  #constraint: TokenConstraint | undefined;

  /** At its turn; later calls change nothing. */
  start(constraint: TokenConstraint | undefined): void {
    if (this.startMs > 0) return;
    this.startMs = performance.now();
    this.#constraint = constraint;
  }

  outcome(finishReason: FinishReason): RunOutcome {
    if (this.startMs === 0) return { ...NOTHING_RUN };
    const { startMs, askedMs, firstTokenMs, lastTokenMs, accepted, kept, reused = 0 } = this;
    const endMs = performance.now();
    const isWhole = finishReason === "stop" && this.#constraint?.isOver();
    return {
      finishReason,
      ...(this.guesses && { speculation: this.guesses.came }),
      ...(this.#constraint && { constraint: isWhole ? "complete" : "cut" }),
      cachedTokens: reused,
      completionTokens: accepted,
      prefillMs: (firstTokenMs ?? endMs) - startMs,
      firstTokenMs: firstTokenMs === undefined ? 0 : firstTokenMs - askedMs,
      decodeMs: (lastTokenMs ?? endMs) - (firstTokenMs ?? endMs),
      decodedTokens: Math.max(0, accepted + (finishReason === "stop" && kept === undefined ? 1 : 0) - 1),
    };
  }
}
