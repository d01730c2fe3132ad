/** What the KV cache holds, as tokens: the tokens are the truth, and the cache is derived from them. */

/**
 * How many leading tokens of `prompt` need not be computed again.
 *
 * At most prompt.length - 1: the last prompt token always runs, since the first new token is chosen from its row.
 */
export function reusablePrefix(cached: Uint32Array, prompt: Uint32Array, reusePrefix: boolean): number {
  if (!reusePrefix) return 0;
  return Math.max(0, Math.min(commonPrefix(cached, prompt), prompt.length - 1));
}

/** How many tokens two sequences begin with alike. */
export function commonPrefix(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}

/**
 * The tokens whose keys and values are in the cache after a run, and stay there.
 *
 * @param filled prompt positions that were run
 * @param sampled every token that was sampled, also those past a stop; the last one has not been through the model
 * @param keptTokens leading ones of `sampled` that may stay (those of a stop string leave)
 */
export function tokensInCache(
  prompt: Uint32Array,
  filled: number,
  sampled: readonly number[],
  keptTokens: number,
): Uint32Array {
  const answer = sampled.slice(0, Math.max(0, Math.min(keptTokens, sampled.length - 1)));
  const tokens = new Uint32Array(filled + answer.length);
  tokens.set(prompt.subarray(0, filled));
  tokens.set(answer, filled);
  return tokens;
}

/** Positions start … end in pieces of at most `chunk`. */
export function prefillChunks(start: number, end: number, chunk: number): { start: number; end: number }[] {
  const chunks: { start: number; end: number }[] = [];
  for (let at = start; at < end; at += chunk) chunks.push({ start: at, end: Math.min(at + chunk, end) });
  return chunks;
}
