// lib/weights_q4: four bits in groups of 32 along a row, each group with one half-float scale; weight = scale · (nibble − 8).
//
// A group is four words; word i holds its weights 8i … 8i+7: the low nibbles of the bytes are 8i … 8i+3, the high ones
// 8i+4 … 8i+7, so that each of the two, masked, lines up with one vec4 of the other factor.
//
// Needs from the includer:  K (columns)
// Binding 1: nibbles, rows padded to a multiple of 32. Binding 2: scales, two per word, an even number per row.

#include "lib/columns_8.wgsl"
#include "lib/half.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;

/// Steps in a row; one covers 4 · STEP_VECS columns.
const STEPS = (K + 31u) / 32u;

#if REDUCE == cpu
/// Without shifts, which drivers for CPUs do lane by lane: each nibble where it stands, brought down by a power of two,
/// which is exact. The topmost would be the sign: with its own highest bit flipped it is nibble − 8 already.
fn low_nibbles(word: u32) -> vec4f {
  let parts = vec4i(vec4u(word) & vec4u(0xfu, 0xf00u, 0xf0000u, 0xf000000u));
  return vec4f(parts) * vec4f(1.0, 0x1p-8, 0x1p-16, 0x1p-24) - 8.0;
}
fn high_nibbles(word: u32) -> vec4f {
  let parts = vec4i(vec4u(word ^ 0x80000000u) & vec4u(0xf0u, 0xf000u, 0xf00000u, 0xf0000000u));
  return vec4f(parts) * vec4f(0x1p-4, 0x1p-12, 0x1p-20, 0x1p-28) - vec4f(8.0, 8.0, 8.0, 0.0);
}
#else
fn low_nibbles(word: u32) -> vec4f { return vec4f(unpack4xU8(word & 0x0f0f0f0fu)) - 8.0; }
fn high_nibbles(word: u32) -> vec4f { return vec4f(unpack4xU8((word >> 4u) & 0x0f0f0f0fu)) - 8.0; }
#endif

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns {
  let words = weights[row * STEPS + step];
  return Columns(
    low_nibbles(words.x), high_nibbles(words.x), low_nibbles(words.y), high_nibbles(words.y),
    low_nibbles(words.z), high_nibbles(words.z), low_nibbles(words.w), high_nibbles(words.w));
}
fn weight_scale(row: u32, step: u32) -> f32 {
  return unpack_half2(scales[row * ((STEPS + 1u) / 2u) + (step >> 1u)])[step & 1u];
}
