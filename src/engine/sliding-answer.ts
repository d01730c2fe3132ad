/** An answer that goes on where the context is full: several runs of the loop, each on what the model still sees. */
import type { SamplingSettings } from "../backends/backend";
import { droppedBySlide, seenTokens } from "../chat/sliding-window";
import { WordloomError } from "../errors";
import type { RunOutcome, RunRequest } from "./scheduler";
import type { Speculation } from "./speculation";

export interface SlidingOutcome extends RunOutcome {
  /** Of the prompt, as far as it was seen. */
  promptTokens: number;
  /** After the sinks, that were not seen at the end. */
  droppedTokens: number;
}

/**
 * @param answer the tokens that all runs together have given so far; it grows while one is under way
 * @param run one run; `written` of the answer's tokens came before it
 * @throws WordloomError option-invalid for sinks that leave no room
 */
export async function slidingAnswer(
  request: RunRequest,
  { sinks, contextLength }: { sinks: number; contextLength: number },
  answer: readonly number[],
  run: (request: RunRequest, written: number) => Promise<RunOutcome>,
): Promise<SlidingOutcome> {
  if (sinks > contextLength - 2) {
    throw new WordloomError("option-invalid", `sinks is ${sinks}; a context of ${contextLength} has room for two less`);
  }
  if (request.constraint) {
    throw new WordloomError("option-invalid", 'constraint and fullContext: "slide" are given: a form has an end', {
      remedy: "Remove one of them.",
    });
  }
  const startMs = performance.now();
  let seen = request.promptTokens;
  let outcome: SlidingOutcome | undefined;
  let droppedTokens = 0;
  for (let runs = 0; ; runs++) {
    if (seen.length > contextLength) {
      const dropped = droppedBySlide(seen.length, sinks, contextLength);
      seen = seenTokens(seen, sinks, dropped);
      droppedTokens += dropped;
    }
    const written = answer.length;
    const part = await run(
      {
        ...request,
        promptTokens: seen,
        maxNewTokens: request.maxNewTokens - written,
        maxTimeMs: request.maxTimeMs === undefined ? undefined : request.maxTimeMs - (performance.now() - startMs),
        sampling: continued(request.sampling, written, runs),
        reusePrefix: request.reusePrefix || runs > 0,
      },
      written,
    );
    outcome = joined(outcome, { ...part, promptTokens: seen.length, droppedTokens });
    if (part.finishReason !== "length" || answer.length >= request.maxNewTokens) return outcome;
    seen = Uint32Array.from([...seen, ...answer.slice(written)]);
  }
}

/** A draw depends on seed and position, and the positions come again: each run draws by a seed of its own. */
function continued(sampling: SamplingSettings, written: number, runs: number): SamplingSettings {
  const [low, high] = sampling.seed;
  return {
    ...sampling,
    seed: [(low + Math.imul(runs, 0x9e3779b9)) >>> 0, high],
    minNewTokens: Math.max(0, sampling.minNewTokens - written),
    forcedTokens: sampling.forcedTokens.slice(written),
  };
}

/** What a later run takes until its first token is time between two tokens of the answer. */
function joined(before: SlidingOutcome | undefined, part: SlidingOutcome): SlidingOutcome {
  if (!before) return part;
  return {
    ...before,
    finishReason: part.finishReason,
    droppedTokens: part.droppedTokens,
    completionTokens: before.completionTokens + part.completionTokens,
    decodeMs: before.decodeMs + part.prefillMs + part.decodeMs,
    decodedTokens: before.decodedTokens + part.decodedTokens + (part.firstTokenMs > 0 ? 1 : 0),
    ...(before.speculation && part.speculation && { speculation: sum(before.speculation, part.speculation) }),
  };
}

const sum = (a: Speculation, b: Speculation): Speculation => ({
  drafted: a.drafted + b.drafted,
  accepted: a.accepted + b.accepted,
  verifications: a.verifications + b.verifications,
});
