/** The same tokens written with and without the KV cache, and the time each took. */
import type { GenerateOptions, GenerationEnd } from "../generator";

/** What is asked of a generator. */
export interface ComparedGenerator {
  generate(
    input: readonly number[],
    options: GenerateOptions,
  ): AsyncIterable<{ tokens: readonly { id: number | null }[] }> & { end: Promise<GenerationEnd> };
}

export interface ComparedStep {
  /** Tokens before the one that was written. */
  length: number;
  /** The whole text was read again. */
  withoutMs: number;
  /** One token was read, the rest came from the cache. */
  withMs: number;
  /** Of the step with it: tokens that were not read again. */
  cachedTokens: number;
}

export interface Comparison {
  promptTokens: number;
  steps: ComparedStep[];
  /** Why it ended before all steps were done; undefined: it did not. */
  endedBy?: "end-token" | "differing";
}

/**
 * Writes `count` tokens one call at a time, each twice and in turn: `reusePrefix: false` reads the whole text again,
 * `reusePrefix: true` finds it in the cache. Apart from that the two calls are alike, so that what they have in common
 * (the message to the worker, the start of a run) weighs on both. Greedy, so that both must write the same token.
 *
 * The times are the engine's own, from a call's turn until its token.
 *
 * @param prompt token ids; prompt.length + count must fit the context
 * @param onStep called with everything so far
 * @throws what `generate` throws; `signal.reason` on abort
 */
export async function compareCache(
  generator: ComparedGenerator,
  prompt: readonly number[],
  count: number,
  signal: AbortSignal,
  onStep: (comparison: Comparison) => void,
): Promise<Comparison> {
  const comparison: Comparison = { promptTokens: prompt.length, steps: [] };
  const text = [...prompt];
  await nextToken(generator, text, false, signal); // the first call of a kind may still compile something
  for (let step = 0; step < count; step++) {
    const without = await nextToken(generator, text, false, signal);
    const withCache = await nextToken(generator, text, true, signal);
    if (without.id === undefined) return { ...comparison, endedBy: "end-token" };
    comparison.steps.push({
      length: text.length,
      withoutMs: without.elapsedMs,
      withMs: withCache.elapsedMs,
      cachedTokens: withCache.cachedTokens,
    });
    onStep({ ...comparison, steps: [...comparison.steps] });
    if (without.id !== withCache.id) return { ...comparison, endedBy: "differing" };
    text.push(without.id);
  }
  return comparison;
}

async function nextToken(
  generator: ComparedGenerator,
  text: readonly number[],
  reusePrefix: boolean,
  signal: AbortSignal,
): Promise<{ id: number | undefined; elapsedMs: number; cachedTokens: number }> {
  signal.throwIfAborted();
  const run = generator.generate([...text], { maxNewTokens: 1, temperature: 0, ignoreEos: true, reusePrefix, signal });
  let id: number | undefined;
  for await (const { tokens } of run) id = tokens[0]?.id ?? id;
  const { timings, usage } = await run.end;
  return { id, elapsedMs: timings.prefillMs, cachedTokens: usage.cachedTokens };
}

/**
 * How the time of a token grows with the text before it: the straight line nearest to the steps.
 *
 * @returns ms for each token more; 0 of fewer than two steps
 */
export function growth(steps: readonly { length: number; ms: number }[]): number {
  const mean = (pick: (step: { length: number; ms: number }) => number) =>
    steps.reduce((sum, step) => sum + pick(step), 0) / steps.length;
  const length = mean((step) => step.length);
  const ms = mean((step) => step.ms);
  const spread = steps.reduce((sum, step) => sum + (step.length - length) ** 2, 0);
  return spread === 0 ? 0 : steps.reduce((sum, step) => sum + (step.length - length) * (step.ms - ms), 0) / spread;
}
