/** When an answer is over, and why: one decision for each sampled token. */

/** stop: an end token or a stop string; length: maxNewTokens, or the context is full; abort: the caller. */
export type FinishReason = "stop" | "length" | "abort";

export interface SampledToken {
  id: number;
  /** The backend says that no step after this one does anything. */
  done: boolean;
}

/**
 * Before the token's text is looked at.
 *
 * - end: an end token; it is no part of the answer.
 * - last: the limit is reached or the context is full; the token belongs to the answer.
 * - more: the answer goes on, unless this token completes a stop string.
 */
export function placeOf(token: SampledToken, endTokenIds: readonly number[]): "end" | "last" | "more" {
  if (endTokenIds.includes(token.id)) return "end";
  return token.done ? "last" : "more";
}
