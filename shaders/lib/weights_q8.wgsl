// lib/weights_q8: signed bytes in groups of 32 along a row, each group with one half-float scale; weight = scale · byte.
//
// Needs from the includer:  K (columns)
// Binding 1: bytes, rows padded to a multiple of 32. Binding 2: scales, two per word, an even number per row.

#include "lib/columns_4.wgsl"
#include "lib/half.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;

/// Steps in a row; one covers 4 · STEP_VECS columns.
const GROUPS = (K + 31u) / 32u;
const STEPS = GROUPS * 2u;

#if REDUCE == cpu
/// Without shifts, which drivers for CPUs do lane by lane: each byte where it stands, brought down by a power of two,
/// which is exact. The lower three are taken as byte + 128, so that masking gives a positive number.
fn signed_bytes(word: u32) -> vec4f {
  let parts = vec4i(vec4u(word ^ 0x00808080u) & vec4u(0xffu, 0xff00u, 0xff0000u, 0xff000000u));
  return vec4f(parts) * vec4f(1.0, 0x1p-8, 0x1p-16, 0x1p-24) - vec4f(128.0, 128.0, 128.0, 0.0);
}
#else
fn signed_bytes(word: u32) -> vec4f { return vec4f(unpack4xI8(word)); }
#endif

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns {
  let words = weights[row * STEPS + step];
  return Columns(
    signed_bytes(words.x), signed_bytes(words.y), signed_bytes(words.z), signed_bytes(words.w));
}
fn weight_scale(row: u32, step: u32) -> f32 {
  let group = step >> 1u;
  return unpack_half2(scales[row * ((GROUPS + 1u) / 2u) + (group >> 1u)])[group & 1u];
}
