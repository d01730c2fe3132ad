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

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns {
  let words = weights[row * STEPS + step];
  return Columns(
    vec4f(unpack4xI8(words.x)), vec4f(unpack4xI8(words.y)), vec4f(unpack4xI8(words.z)), vec4f(unpack4xI8(words.w)));
}
fn weight_scale(row: u32, step: u32) -> f32 {
  let group = step / 2u;
  return unpack_half2(scales[row * ((GROUPS + 1u) / 2u) + group / 2u])[group % 2u];
}
