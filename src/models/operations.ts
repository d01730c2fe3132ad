/**
 * The list of operations a decoder emits: the one language between models and backends.
 *
 * Values are named row matrices [T, width] of float32 (T = tokens of the step: 1 in decode, a chunk in prefill).
 * `reference` interprets the list literally and is its definition; `gpu` fuses neighbours, compiles and replays it.
 */
import type { Activation, AttentionSpec, NormSpec, TensorName } from "./decoder-spec";

/** Name of an intermediate; written once per step, except `x`, the residual stream, which `add` updates in place. */
export type ValueName = string;

export type Operation =
  /** to[t] = table[token[t]] * scale (+ positions[position[t]]) */
  | { op: "embed"; table: TensorName; positions: TensorName | undefined; scale: number; to: ValueName; width: number }
  /** to[t] = norm(from[t]) */
  | {
      op: "norm";
      from: ValueName;
      to: ValueName;
      spec: NormSpec;
      weight: TensorName;
      bias: TensorName | undefined;
      width: number;
    }
  /** to[t] = weight · from[t] (+ bias);  weight [outputs, inputs] */
  | {
      op: "linear";
      from: ValueName;
      to: ValueName;
      weight: TensorName;
      bias: TensorName | undefined;
      inputs: number;
      outputs: number;
    }
  /**
   * Rotates q and k (spec.rope), appends k and v to layer `layer`'s KV cache at each token's position, and
   * to[t] = softmax over positions ≤ position[t], and > position[t] − window, of cap(q·k * scale) · v;
   * q [T, H·d], k and v [T, KV·d], to [T, H·d]
   */
  | { op: "attention"; layer: number; q: ValueName; k: ValueName; v: ValueName; to: ValueName; spec: AttentionSpec }
  /**
   * Appends s = inputGate · convolved to layer `layer`'s cache at each token's position p, and
   * to[t] = outputGate[t] · (Σ_j weight[j] · s[p − taps + 1 + j] (+ bias)), where s is zero before position 0;
   * all [T, width], number by number;  weight [taps, width], bias [width]
   */
  | {
      op: "convolution";
      layer: number;
      inputGate: ValueName;
      outputGate: ValueName;
      convolved: ValueName;
      to: ValueName;
      weight: TensorName;
      bias: TensorName | undefined;
      taps: number;
      width: number;
    }
  /** to[t] = activation(gate[t]) * up[t];  without `up`: activation(gate[t]) */
  | {
      op: "activation";
      gate: ValueName;
      up: ValueName | undefined;
      to: ValueName;
      activation: Activation;
      width: number;
    }
  /** to[t] = norm of each head of from[t] on its own; weight [headDim] */
  | {
      op: "head_norm";
      from: ValueName;
      to: ValueName;
      spec: NormSpec;
      weight: TensorName;
      bias: TensorName | undefined;
      headCount: number;
      headDim: number;
    }
  /** to[t] += scale · from[t] */
  | { op: "add"; from: ValueName; to: ValueName; width: number; scale: number }
  /** to[t] = softcap · tanh(scale · from[t] / softcap);  without `softcap`: scale · from[t] */
  | { op: "logits"; from: ValueName; to: ValueName; width: number; scale: number; softcap: number | undefined };

/** What a decoder does for each token, and then, for rows whose next token is wanted, to get logits. */
export interface DecoderProgram {
  /** embed … last residual: run for every token. */
  body: readonly Operation[];
  /** final norm and head linear, from "x" to "logits": run where logits are wanted. */
  head: readonly Operation[];
}
