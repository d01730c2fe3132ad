// lib/weights_q4_k: ggml's Q4_K, four bits in blocks of 256 along a row; weight = d · scale · nibble − m · minimum.
//
// Nibbles lie as in lib/weights_q4. What weight_columns gives is what ggml's own decoding gives, bit for bit: both
// products are exact in f32, and their difference is rounded once.
//
// Needs from the includer:  K (columns, a multiple of 256)
// Binding 1: nibbles. Binding 2: see lib/k_scales.

#include "lib/columns_8.wgsl"
#include "lib/k_scales.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<vec4u>;

/// Steps in a row; one covers 4 · STEP_VECS columns.
const STEPS = K / 32u;

fn low_nibbles(word: u32, scale: vec2f) -> vec4f { return scale.x * vec4f(unpack4xU8(word & 0x0f0f0f0fu)) - scale.y; }
fn high_nibbles(word: u32, scale: vec2f) -> vec4f { return low_nibbles(word >> 4u, scale); }

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns {
  let words = weights[row * STEPS + step];
  let scale = group_scale(row * (STEPS / 8u) + (step >> 3u), step & 7u);
  return Columns(
    low_nibbles(words.x, scale), high_nibbles(words.x, scale), low_nibbles(words.y, scale), high_nibbles(words.y, scale),
    low_nibbles(words.z, scale), high_nibbles(words.z, scale), low_nibbles(words.w, scale), high_nibbles(words.w, scale));
}
fn weight_scale(row: u32, step: u32) -> f32 { return 1.0; }
