/**
 * What each operation computes, in float64: the specification of the GPU kernels, which are tested against these.
 *
 * Values are row-major, [rows, width] in one array; inputs may be float32 or float64, results are new float64 arrays.
 * Sums run in index order.
 */
import type { Activation, RopeSpec } from "../../models/decoder-spec";

export type Values = Float64Array | Float32Array;

/**
 * y[t, i] = table[tokens[t], i] · scale (+ positions[start + t, i])
 *
 * @param table [V, width]
 * @param positions [P, width] learned positions; undefined for none
 * @param start position of the first token
 * @returns [T, width]
 */
export function embed(
  table: Values,
  positions: Values | undefined,
  tokens: Uint32Array,
  { scale, start, width }: { scale: number; start: number; width: number },
): Float64Array {
  const y = new Float64Array(tokens.length * width);
  tokens.forEach((token, t) => {
    for (let i = 0; i < width; i++) {
      const learned = positions === undefined ? 0 : at(positions, (start + t) * width + i);
      y[t * width + i] = at(table, token * width + i) * scale + learned;
    }
  });
  return y;
}

/**
 * y[t, i] = weight[i] · x[t, i] / sqrt(mean_i(x[t, i]²) + eps)
 *
 * Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", eq. 4; eps inside the root as in Llama.
 *
 * @param x [T, D]
 * @param weight [D]
 * @returns [T, D]
 */
export function rmsNorm(x: Values, weight: Values, eps: number): Float64Array {
  const width = weight.length;
  const y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let squares = 0;
    for (let i = 0; i < width; i++) squares += at(x, row + i) ** 2;
    const factor = 1 / Math.sqrt(squares / width + eps);
    for (let i = 0; i < width; i++) y[row + i] = at(weight, i) * at(x, row + i) * factor;
  }
  return y;
}

/**
 * y[t, i] = weight[i] · (x[t, i] − mean) / sqrt(variance + eps) (+ bias[i]), mean and (biased) variance over i
 *
 * Source: Ba et al. 2016, "Layer Normalization", eq. 4.
 *
 * @param x [T, D]
 * @param weight [D]
 * @param bias [D]
 * @returns [T, D]
 */
export function layerNorm(x: Values, weight: Values, bias: Values | undefined, eps: number): Float64Array {
  const width = weight.length;
  const y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += at(x, row + i);
    const mean = sum / width;
    let squares = 0;
    for (let i = 0; i < width; i++) squares += (at(x, row + i) - mean) ** 2;
    const factor = 1 / Math.sqrt(squares / width + eps);
    for (let i = 0; i < width; i++) {
      const shift = bias === undefined ? 0 : at(bias, i);
      y[row + i] = at(weight, i) * (at(x, row + i) - mean) * factor + shift;
    }
  }
  return y;
}

/**
 * y[t, o] = Σ_i weight[o, i] · x[t, i] (+ bias[o])
 *
 * @param x [T, inputs]
 * @param weight [outputs, inputs]
 * @param bias [outputs]
 * @returns [T, outputs]
 */
export function linear(x: Values, weight: Values, bias: Values | undefined, inputs: number): Float64Array {
  const rows = x.length / inputs;
  const outputs = weight.length / inputs;
  const y = new Float64Array(rows * outputs);
  for (let output = 0; output < outputs; output++) {
    const first = output * inputs;
    const shift = bias === undefined ? 0 : at(bias, output);
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let i = 0; i < inputs; i++) sum += at(weight, first + i) * at(x, row * inputs + i);
      y[row * outputs + output] = sum + shift;
    }
  }
  return y;
}

/**
 * Turns each pair (a, b) of each head by the angle φ = position · inverseFrequencies[pair]:
 *   a' = a cos φ − b sin φ;   b' = b cos φ + a sin φ
 * Pairs are (i, i + pairs) in half-split, (2i, 2i + 1) in interleaved; elements from 2 · pairs on stay as they are.
 * With a magnitude, cos φ and sin φ are multiplied by it.
 *
 * Source: Su et al. 2021, "RoFormer", eq. 34.
 *
 * @param x [T, heads, headDim]
 * @param start position of the first row
 * @returns [T, heads, headDim]
 */
export function rope(x: Values, spec: RopeSpec, { headCount, headDim, start }: RopeShape): Float64Array {
  const { inverseFrequencies, pairing, magnitude = 1 } = spec;
  const pairs = inverseFrequencies.length;
  const y = Float64Array.from(x);
  const rows = x.length / (headCount * headDim);
  for (let row = 0; row < rows; row++) {
    inverseFrequencies.forEach((frequency, pair) => {
      const angle = (start + row) * frequency;
      const [cos, sin] = [magnitude * Math.cos(angle), magnitude * Math.sin(angle)];
      for (let head = 0; head < headCount; head++) {
        const first = (row * headCount + head) * headDim;
        const a = first + (pairing === "half-split" ? pair : 2 * pair);
        const b = first + (pairing === "half-split" ? pair + pairs : 2 * pair + 1);
        y[a] = at(x, a) * cos - at(x, b) * sin;
        y[b] = at(x, b) * cos + at(x, a) * sin;
      }
    });
  }
  return y;
}

export interface RopeShape {
  headCount: number;
  headDim: number;
  start: number;
}

/**
 * Causal attention of T rows over what the cache holds, keys and values of these rows included:
 *   y[t, h] = Σ_p a[p] · values[p, g],   a = softmax over p ≤ start + t of cap(q[t, h] · keys[p, g] · scale)
 * where head h uses key/value head g = floor(h / (headCount / keyValueHeadCount)), and cap(s) = softcap · tanh(s / softcap),
 * or s without a softcap. With a window, only the last `window` of those positions count, the row's own included.
 *
 * Source: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023, "GQA"; window: Beltagy et al. 2020, "Longformer";
 * softcap: Gemma Team 2024, "Gemma 2".
 *
 * @param q [T, headCount, headDim], rotated
 * @param keys [positions ≥ start + T, keyValueHeadCount, headDim], rotated; later positions are not read
 * @param values as keys
 * @param start position of the first row
 * @returns [T, headCount, headDim]
 */
export function attention(q: Values, keys: Values, values: Values, shape: AttentionShape): Float64Array {
  const { headCount, keyValueHeadCount, headDim, scale, window = Infinity, softcap, start } = shape;
  const rows = q.length / (headCount * headDim);
  const stride = keyValueHeadCount * headDim;
  const headsPerGroup = headCount / keyValueHeadCount;
  const y = new Float64Array(q.length);
  const scores = new Float64Array(start + rows);
  for (let row = 0; row < rows; row++) {
    const length = start + row + 1;
    const oldest = Math.max(0, length - window);
    for (let head = 0; head < headCount; head++) {
      const first = (row * headCount + head) * headDim;
      const group = Math.floor(head / headsPerGroup) * headDim;
      for (let p = oldest; p < length; p++) {
        let dot = 0;
        for (let i = 0; i < headDim; i++) dot += at(q, first + i) * at(keys, p * stride + group + i);
        scores[p] = capped(dot * scale, softcap);
      }
      const weights = softmax(scores.subarray(oldest, length));
      for (let p = oldest; p < length; p++) {
        for (let i = 0; i < headDim; i++) {
          y[first + i] = at(y, first + i) + at(weights, p - oldest) * at(values, p * stride + group + i);
        }
      }
    }
  }
  return y;
}

export interface AttentionShape {
  headCount: number;
  keyValueHeadCount: number;
  headDim: number;
  scale: number;
  window?: number | undefined;
  softcap?: number | undefined;
  start: number;
}

function capped(x: number, softcap: number | undefined): number {
  return softcap === undefined ? x : softcap * Math.tanh(x / softcap);
}

/**
 * A causal convolution of T rows, a filter for each column, with what the cache holds, these rows included:
 *   y[t, i] = outputGate[t, i] · (Σ_j weight[j, i] · gated[start + t − taps + 1 + j, i] (+ bias[i]))
 * where gated[p] = inputGate · convolved of the token at p, and zero for p < 0.
 *
 * Source: Liquid AI 2025, "LFM2 Technical Report", sec. 2: gated short convolution blocks.
 *
 * @param outputGate [T, width]
 * @param gated [positions ≥ start + T, width]; later positions are not read
 * @param weight [taps, width]
 * @param bias [width]
 * @param start position of the first row
 * @returns [T, width]
 */
export function convolution(
  outputGate: Values,
  gated: Values,
  weight: Values,
  bias: Values | undefined,
  { width, start }: { width: number; start: number },
): Float64Array {
  const taps = weight.length / width;
  const y = new Float64Array(outputGate.length);
  for (let index = 0; index < y.length; index++) {
    const [row, i] = [Math.floor(index / width), index % width];
    const first = start + row - taps + 1;
    let sum = bias === undefined ? 0 : at(bias, i);
    for (let j = Math.max(0, -first); j < taps; j++)
      sum += at(weight, j * width + i) * at(gated, (first + j) * width + i);
    y[index] = at(outputGate, index) * sum;
  }
  return y;
}

/** y[i] = a[i] · b[i] */
export function multiply(a: Values, b: Values): Float64Array {
  return Float64Array.from(a, (value, i) => value * at(b, i));
}

/** exp(x[i] − max) / Σ exp(x[j] − max); [n] to [n] */
export function softmax(x: Values): Float64Array {
  let max = -Infinity;
  for (const value of x) max = Math.max(max, value);
  const y = new Float64Array(x.length);
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    y[i] = Math.exp(at(x, i) - max);
    sum += at(y, i);
  }
  for (let i = 0; i < x.length; i++) y[i] = at(y, i) / sum;
  return y;
}

/**
 * y[i] = f(gate[i]) · up[i]; without `up`, y[i] = f(gate[i])
 *
 * Source of the gated form: Shazeer 2020, "GLU Variants Improve Transformer".
 */
export function activation(gate: Values, up: Values | undefined, kind: Activation): Float64Array {
  const f = { silu, gelu, gelu_tanh: geluTanh }[kind];
  const y = new Float64Array(gate.length);
  for (let i = 0; i < gate.length; i++) y[i] = f(at(gate, i)) * (up === undefined ? 1 : at(up, i));
  return y;
}

/** y[i] = x[i] + scale · from[i] */
export function add(x: Values, from: Values, scale = 1): Float64Array {
  const y = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) y[i] = at(x, i) + scale * at(from, i);
  return y;
}

/** y[i] = softcap · tanh(scale · x[i] / softcap); without `softcap`, y[i] = scale · x[i] */
export function logits(x: Values, scale: number, softcap: number | undefined): Float64Array {
  return Float64Array.from(x, (value) => capped(scale * value, softcap));
}

/** x / (1 + e^(−x)). Source: Elfwing et al. 2017. */
export function silu(x: number): number {
  return x / (1 + Math.exp(-x));
}

/** x / 2 · (1 + erf(x / √2)). Source: Hendrycks & Gimpel 2016, "GELUs". */
export function gelu(x: number): number {
  return 0.5 * x * (1 + erf(x * Math.SQRT1_2));
}

/** x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))). Source: as `gelu`, sec. 2; GPT-2's form. */
export function geluTanh(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

/**
 * The error function, to 1e-14: erf x = 2/√π · e^(−x²) · Σ_n 2ⁿ x^(2n+1) / (1·3·…·(2n+1)), all terms of one sign.
 *
 * Source: Abramowitz & Stegun, 7.1.6. Beyond 6 it is 1 to the last bit.
 */
export function erf(x: number): number {
  if (Math.abs(x) >= 6) return Math.sign(x);
  if (Number.isNaN(x)) return NaN;
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** An element whose index the callers' shapes guarantee; outside it would be undefined, and spread as NaN. */
function at(values: Values, index: number): number {
  return values[index] as number;
}
