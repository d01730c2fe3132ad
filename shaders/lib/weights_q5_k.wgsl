// lib/weights_q5_k: ggml's Q5_K, five bits in blocks of 256 along a row; weight = d · scale · q − m · minimum.
//
// A group of 32 is four words of nibbles as in lib/weights_q4 and one of fifth bits: bit k of byte j is weight 4k + j's.
// As in lib/weights_q4_k, weights are those of ggml's own decoding, bit for bit.
//
// Needs from the includer:  K (columns, a multiple of 256)
// Binding 1: nibbles and fifth bits. Binding 2: see lib/k_scales.

#include "lib/columns_8.wgsl"
#include "lib/k_scales.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<u32>;

/// Steps in a row; one covers 4 · STEP_VECS columns.
const STEPS = K / 32u;

fn fives(nibbles: u32, fifths: u32, scale: vec2f) -> vec4f {
  let q = (nibbles & 0x0f0f0f0fu) | ((fifths & 0x01010101u) << 4u);
  return scale.x * vec4f(unpack4xU8(q)) - scale.y;
}

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns {
  let at = (row * STEPS + step) * 5u;
  let words = vec4u(weights[at], weights[at + 1u], weights[at + 2u], weights[at + 3u]);
  let bits = weights[at + 4u];
  let scale = group_scale(row * (STEPS / 8u) + (step >> 3u), step & 7u);
  return Columns(
    fives(words.x, bits, scale), fives(words.x >> 4u, bits >> 1u, scale),
    fives(words.y, bits >> 2u, scale), fives(words.y >> 4u, bits >> 3u, scale),
    fives(words.z, bits >> 4u, scale), fives(words.z >> 4u, bits >> 5u, scale),
    fives(words.w, bits >> 6u, scale), fives(words.w >> 4u, bits >> 7u, scale));
}
fn weight_scale(row: u32, step: u32) -> f32 { return 1.0; }
