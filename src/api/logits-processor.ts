/** The caller's own processor of logits, and what is checked of what it gives. */
import type { ProcessLogits } from "../engine/engine";
import { WordloomError } from "../errors";

/** What a `LogitsProcessor` is told beside the logits. */
export interface LogitsContext {
  /** Prompt and answer so far; a copy. */
  tokens: Uint32Array;
  /** How many of them are the prompt's. */
  promptLength: number;
}

/**
 * Changes the logits that the next token is chosen from: those it is given, in place, or it returns others.
 *
 * @param logits [vocabSize] f32, the model's own; -Infinity bans a token, NaN is refused. A copy
 */
export type LogitsProcessor = (
  logits: Float32Array,
  context: LogitsContext,
) => Float32Array | void | Promise<Float32Array | void>;

/**
 * The processor as the engine calls it.
 *
 * @throws WordloomError option-invalid: it failed (with what it threw as the cause), gave another length, NaN, or banned
 *   every token
 */
export function checkedProcessor(process: LogitsProcessor): ProcessLogits {
  return async (logits, tokens, promptLength) => {
    const { length } = logits;
    let changed: unknown;
    try {
      changed = (await process(logits, { tokens, promptLength })) ?? logits;
    } catch (error) {
      throw refusal(`failed at token ${tokens.length - promptLength + 1} of the answer: ${String(error)}`, error);
    }
    if (!(changed instanceof Float32Array)) throw refusal(`gave no Float32Array, but ${typeof changed}`);
    if (changed.length !== length) throw refusal(`gave ${changed.length} logits; the model has ${length}`);
    const broken = changed.findIndex((logit) => Number.isNaN(logit));
    if (broken !== -1) throw refusal(`gave NaN for token ${broken}`);
    if (changed.every((logit) => logit === -Infinity)) throw refusal(`banned all ${length} tokens`);
    return changed;
  };
}

function refusal(what: string, cause?: unknown): WordloomError {
  return new WordloomError("option-invalid", `logitsProcessor ${what}`, cause === undefined ? {} : { cause });
}
