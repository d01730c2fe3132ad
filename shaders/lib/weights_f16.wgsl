// lib/weights_f16: a matrix of half floats, two per word, rows padded to a multiple of 4.
//
// Needs from the includer:  K (columns)
// Binding 1: the rows. Binding 2: not used.

#include "lib/half.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<vec2u>;

/// Columns that one step reads, the vectors of 4 they make, and steps in a row.
const STEP_VECS = 1u;
const STEPS = (K + 3u) / 4u;

/// The weights of columns 4·STEP_VECS·step …, to be multiplied by weight_scale.
fn weight_step(row: u32, step: u32) -> array<vec4f, STEP_VECS> {
  let words = weights[row * STEPS + step];
  return array(vec4f(unpack_half2(words.x), unpack_half2(words.y)));
}
fn weight_scale(row: u32, step: u32) -> f32 { return 1.0; }
