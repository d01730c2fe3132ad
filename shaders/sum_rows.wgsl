// sum_rows: the rows of a chunk added up, for the mean of their hidden states.
//
//   y[i] = Σ_t x[t, i]
//
//   x  [T, STRIDE]  f32
//   y  [STRIDE]     f32
//
// Grid:      one invocation per vector of 4 of y.
// Accuracy:  f32 sums, row by row.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_prefill.wgsl"
@group(0) @binding(3) var<storage, read> x: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let column = workgroup.x * WORKGROUP_SIZE + at.local;
  if (column >= STRIDE / 4u) { return; }
  var sum = vec4f(0.0);
  for (var t = 0u; t < chunk.rows; t++) { sum += x[t * (STRIDE / 4u) + column]; }
  y[column] = sum;
}
