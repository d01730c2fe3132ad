// lib/weights_f32: a matrix of f32, rows padded to a multiple of 4.
//
// Needs from the includer:  K (columns)
// Binding 1: the rows. Binding 2: not used.

#include "lib/columns_1.wgsl"
@group(0) @binding(1) var<storage, read> weights: array<vec4f>;

/// Steps in a row; one covers 4 · STEP_VECS columns.
const STEPS = (K + 3u) / 4u;

/// The weights of one step, to be multiplied by weight_scale.
fn weight_columns(row: u32, step: u32) -> Columns { return Columns(weights[row * STEPS + step]); }
fn weight_scale(row: u32, step: u32) -> f32 { return 1.0; }
