// lib/weights_q6_k: ggml's Q6_K, six bits in blocks of 256 along a row; weight = d · scale · (q − 32).
//
// A group of 16 is two words of nibbles as in lib/weights_q4 and one of upper bits: bits 2k and 2k + 1 of byte j are
// weight 4k + j's.
//
// Needs from the includer:  K (columns, a multiple of 256)
// Binding 1: nibbles and upper bits. Binding 2: for each block five words: d, a half float, then 16 signed bytes.

#include "lib/columns_4.wgsl"
#include "lib/half.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<u32>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;

/// Steps in a row; one covers 4 · STEP_VECS columns.
const STEPS = K / 16u;

fn sixes(nibbles: u32, upper: u32) -> vec4f {
  return vec4f(unpack4xU8((nibbles & 0x0f0f0f0fu) | (upper & 0x30303030u))) - 32.0;
}

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns {
  let at = (row * STEPS + step) * 3u;
  let first = weights[at];
  let second = weights[at + 1u];
  let upper = weights[at + 2u];
  return Columns(
    sixes(first, upper << 4u), sixes(first >> 4u, upper << 2u), sixes(second, upper), sixes(second >> 4u, upper >> 2u));
}
fn weight_scale(row: u32, step: u32) -> f32 {
  let at = (row * (STEPS / 16u) + (step >> 4u)) * 5u;
  let group = step & 15u;
  return unpack_half2(scales[at]).x * f32(unpack4xI8(scales[at + 1u + (group >> 2u)])[group & 3u]);
}
