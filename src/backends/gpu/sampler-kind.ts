/** Which way to sample a request asks for: each way has pipelines of its own. */
import type { SamplerKind } from "../../kernels/sampling";
import type { BeginOptions } from "../backend";
import { hasPenalty, looksBack } from "./history";

export const PLAIN: SamplerKind = {
  ...{
    adjusted: false,
    lookback: false,
    processed: false,
    masked: false,
    shaped: false,
    statistics: false,
    top: false,
  },
};

export function kindOf({
  sampling,
  processLogits,
  allowedTokens,
}: Pick<BeginOptions, "sampling" | "processLogits" | "allowedTokens">): SamplerKind {
  const { logitBias, repetitionPenalty, frequencyPenalty, presencePenalty } = sampling;
  const isDraw = sampling.temperature > 0;
  return {
    adjusted: logitBias.size > 0 || repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0,
    // Appended tokens are in the history, and not in the counts that the sampler keeps without one.
    lookback: looksBack(sampling) || (allowedTokens !== undefined && hasPenalty(sampling)),
    processed: processLogits !== undefined,
    masked: allowedTokens !== undefined,
    shaped: isDraw && (sampling.topNSigma > 0 || sampling.typicalP < 1 || sampling.xtcProbability > 0),
    statistics: sampling.tokenStatistics,
    top: sampling.topLogprobs > 0,
  };
}

/** "adjusted top"; "" for the plain one. */
export function nameOf(kind: SamplerKind): string {
  return Object.entries(kind)
    .flatMap(([name, isWanted]) => (isWanted ? [name] : []))
    .join(" ");
}
