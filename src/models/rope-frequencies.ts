/**
 * Rotary position embedding: the angle by which pair i turns at position p is p · inverseFrequencies[i].
 *
 * Source: Su et al. 2021, "RoFormer", sec. 3.4.2; scaling as in transformers' `modeling_rope_utils.py`.
 */
import type { RopeSpec } from "./decoder-spec";

export type RopeScaling =
  /** Positions are compressed by `factor` (Chen et al. 2023, "Extending Context Window … via Positional Interpolation"). */
  | { type: "linear"; factor: number }
  /** Llama 3.1: low frequencies are divided by `factor`, high ones kept, those between blended. */
  | {
      type: "llama3";
      factor: number;
      lowFrequencyFactor: number;
      highFrequencyFactor: number;
      /** Positions of the model before scaling. */
      originalContextLength: number;
    }
  /** Peng et al. 2023, "YaRN", sec. 3.2: as llama3, but blended evenly in pairs, between two counts of turns. */
  | {
      type: "yarn";
      factor: number;
      /** Pairs that turn more often in the original context are kept (β of the paper). */
      fastTurns: number;
      /** Pairs that turn less often are divided by `factor` (α). */
      slowTurns: number;
      originalContextLength: number;
      /** Bounds are whole pairs. */
      truncate: boolean;
    }
  /** Ding et al. 2024, "LongRoPE": each frequency is divided by a factor of its own. */
  | { type: "longrope"; factors: readonly number[] };

/**
 * θ_i = theta^(-2i / rotaryWidth) for i in [0, rotaryWidth / 2), then scaled; float64.
 *
 * llama3, with λ = 2π / θ_i (a wavelength in positions) and c the original context length:
 *   λ < c / high: θ_i;   λ > c / low: θ_i / factor;
 *   between: (1 − s) · θ_i / factor + s · θ_i,  s = (c / λ − low) / (high − low)
 * yarn: the same blend with s = 1 − (i − first) / (last − first), cut to [0, 1], where `first` is the pair that turns
 *   fastTurns times in c positions, and `last` the one that turns slowTurns times.
 */
export function inverseFrequencies(theta: number, rotaryWidth: number, scaling: RopeScaling | undefined): number[] {
  const plain = Array.from({ length: rotaryWidth / 2 }, (_, pair) => theta ** ((-2 * pair) / rotaryWidth));
  switch (scaling?.type) {
    case undefined:
      return plain;
    case "linear":
      return plain.map((frequency) => frequency / scaling.factor);
    case "longrope":
      return plain.map((frequency, pair) => frequency / (scaling.factors[pair] ?? NaN)); // one for each pair
    case "llama3": {
      const { lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength } = scaling;
      return plain.map((frequency) => {
        const turns = (originalContextLength * frequency) / (2 * Math.PI); // c / λ: full turns in the original context
        return blend(frequency, scaling.factor, (turns - low) / (high - low));
      });
    }
    case "yarn": {
      const { first, last } = yarnBounds(theta, rotaryWidth, scaling);
      return plain.map((frequency, pair) => blend(frequency, scaling.factor, 1 - (pair - first) / (last - first)));
    }
  }
}

/** `kept` of the frequency itself, the rest of the frequency divided by `factor`; `kept` is cut to [0, 1]. */
function blend(frequency: number, factor: number, kept: number): number {
  if (kept >= 1) return frequency;
  return kept <= 0 ? frequency / factor : ((1 - kept) * frequency) / factor + kept * frequency;
}

function yarnBounds(
  theta: number,
  rotaryWidth: number,
  { fastTurns, slowTurns, originalContextLength, truncate }: Extract<RopeScaling, { type: "yarn" }>,
): { first: number; last: number } {
  const pairTurning = (turns: number) =>
    (rotaryWidth * Math.log(originalContextLength / (turns * 2 * Math.PI))) / (2 * Math.log(theta));
  const [low, high] = [pairTurning(fastTurns), pairTurning(slowTurns)];
  const first = Math.max(truncate ? Math.floor(low) : low, 0);
  const last = Math.min(truncate ? Math.ceil(high) : high, rotaryWidth - 1);
  return { first, last: last === first ? first + 0.001 : last }; // as transformers, where both are one pair
}

/** YaRN's factor on cos and sin, eq. 22: 0.1 · weight · ln(factor) + 1. */
export function yarnMagnitude(factor: number, weight = 1): number {
  return factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1;
}

/** LongRoPE's: sqrt(1 + ln(factor) / ln(originalContextLength)). */
export function longropeMagnitude(factor: number, originalContextLength: number): number {
  return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalContextLength));
}

/** A rope's inverse frequencies in a KV cache that holds `contextLength` positions. */
export function frequenciesFor({ inverseFrequencies, long }: RopeSpec, contextLength: number): readonly number[] {
  return long !== undefined && contextLength > long.beyond ? long.inverseFrequencies : inverseFrequencies;
}

/**
 * Cosines and sines for positions 0 … positions − 1 of a KV cache that holds these, each [positions, pairs], times the magnitude; computed in float64
 * and rounded once.
 *
 * A table, because WGSL's cos and sin lose accuracy at large angles (1e-4 at 1e5 radians where it was measured).
 */
export function ropeTable(rope: RopeSpec, positions: number): { cos: Float32Array; sin: Float32Array } {
  const { magnitude = 1 } = rope;
  const frequencies = frequenciesFor(rope, positions);
  const pairs = frequencies.length;
  const cos = new Float32Array(positions * pairs);
  const sin = new Float32Array(positions * pairs);
  for (let position = 0; position < positions; position++) {
    frequencies.forEach((frequency, pair) => {
      cos[position * pairs + pair] = magnitude * Math.cos(position * frequency);
      sin[position * pairs + pair] = magnitude * Math.sin(position * frequency);
    });
  }
  return { cos, sin };
}
