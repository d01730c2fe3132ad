/**
 * What a model goes on seeing when its context is full: the first tokens, which attention leans on whatever they are, and
 * the last ones. Source: Xiao et al. 2024, "Efficient Streaming Language Models with Attention Sinks".
 *
 * There keys are cached without their positions. Here, as in most engines, they are cached with them, so what stays is
 * run again at its new positions: half of the context each time half of it has been written.
 */

/** What of a text's tokens is seen: `sinks` first ones, and all from number `sinks + dropped` on. */
export function seenTokens(tokens: Uint32Array, sinks: number, dropped: number): Uint32Array {
  // A template may have left out so much of earlier answers that nothing lies beyond: then all of it is seen again.
  if (dropped === 0 || tokens.length <= sinks + dropped) return tokens;
  const seen = new Uint32Array(tokens.length - dropped);
  seen.set(tokens.subarray(0, sinks));
  seen.set(tokens.subarray(sinks + dropped), sinks);
  return seen;
}

/** How many tokens after the sinks go, so that the last ones fill half of the rest: of `length` that have no room. */
export function droppedBySlide(length: number, sinks: number, contextLength: number): number {
  return Math.max(0, length - sinks - Math.max(1, Math.floor((contextLength - sinks) / 2)));
}
