/** When an answer is over, and why: one decision for each sampled token. */
import { MAX_END_TOKENS } from "../backends/backend";
import { WordloomError } from "../errors";
import type { AnswerSettings } from "./request";

/**
 * stop: an end token or a stop string; length: maxNewTokens, or the context is full; time: maxTimeMs; abort: the caller.
 */
export type FinishReason = "stop" | "length" | "time" | "abort";

/**
 * The ids that end this answer.
 *
 * @param own the model's
 * @throws WordloomError option-invalid: too many of them, or they contradict forced tokens and bans
 */
export function endTokensOf(
  {
    sampling,
    endTokenIds,
    stopTokenIds,
    ignoreEos,
  }: Pick<AnswerSettings, "sampling" | "endTokenIds" | "stopTokenIds" | "ignoreEos">,
  own: readonly number[],
  vocabSize: number,
): readonly number[] {
  const { forcedTokens, minNewTokens, logitBias } = sampling;
  const ids = [...new Set([...(endTokenIds ?? (ignoreEos ? [] : own)), ...stopTokenIds])];
  const refuse = (message: string) => new WordloomError("option-invalid", message);
  if (ids.length > MAX_END_TOKENS) {
    throw refuse(`endTokenIds and stopTokenIds make ${ids.length} end tokens; ${MAX_END_TOKENS} are possible`);
  }
  const early = forcedTokens.findIndex((id, at) => ids.includes(id) && at < minNewTokens);
  if (early !== -1) {
    throw refuse(`forcedTokens[${early}] ends the answer, and minNewTokens wants ${minNewTokens} tokens before`);
  }
  if (minNewTokens > 0) {
    const banned = new Set(ids);
    for (const [id, bias] of logitBias) if (bias === -Infinity) banned.add(id);
    if (banned.size >= vocabSize) throw refuse(`minNewTokens is ${minNewTokens}, and only end tokens are not banned`);
  }
  return ids;
}

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
