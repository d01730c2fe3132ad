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
    };

/**
 * θ_i = theta^(-2i / rotaryWidth) for i in [0, rotaryWidth / 2), then scaled; float64.
 *
 * llama3, with λ = 2π / θ_i (a wavelength in positions) and c the original context length:
 *   λ < c / high: θ_i;   λ > c / low: θ_i / factor;
 *   between: (1 − s) · θ_i / factor + s · θ_i,  s = (c / λ − low) / (high − low)
 */
export function inverseFrequencies(theta: number, rotaryWidth: number, scaling: RopeScaling | undefined): number[] {
  return Array.from({ length: rotaryWidth / 2 }, (_, pair) => {
    const frequency = theta ** ((-2 * pair) / rotaryWidth);
    if (scaling === undefined) return frequency;
    if (scaling.type === "linear") return frequency / scaling.factor;
    const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength } = scaling;
    const turns = (originalContextLength * frequency) / (2 * Math.PI); // c / λ: full turns in the original context
    if (turns > high) return frequency;
    if (turns < low) return frequency / factor;
    const blend = (turns - low) / (high - low);
    return ((1 - blend) * frequency) / factor + blend * frequency;
  });
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
