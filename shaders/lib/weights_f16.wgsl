// lib/weights_f16: a matrix of half floats, two per word, rows padded to a multiple of 4.
//
// Needs from the includer:  K (columns)
// Binding 1: the rows. Binding 2: not used.

#include "lib/columns_1.wgsl"
#include "lib/half.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<vec2u>;

/// Steps in a row; one covers 4 · STEP_VECS columns.
const STEPS = (K + 3u) / 4u;

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns {
  let words = weights[row * STEPS + step];
  return Columns(vec4f(unpack_half2(words.x), unpack_half2(words.y)));
}
fn weight_scale(row: u32, step: u32) -> f32 { return 1.0; }
