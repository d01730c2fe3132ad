// norm: each row to unit root mean square (NORM == rms) or to zero mean and unit variance (NORM == layer), then weighted.
//
//   rms    y[t, i] = weight[i] · x[t, i] / sqrt( mean(x[t]²) + eps )
//   layer  y[t, i] = weight[i] · (x[t, i] − mean(x[t])) / sqrt( variance(x[t]) + eps ) + shift[i]
//   with ADD, for a norm after a block: y[t, i] += ADD_SCALE · that
//
//   x        [T, STRIDE]  f32, zero beyond column K
//   weight   [STRIDE] then, for layer, shift [STRIDE]  f32, zero beyond K
//   y        [T, STRIDE]  f32; must not alias x
//
// Grid:      one workgroup per row t.
// Accuracy:  f32 sums; max relative error 1e-5 against the reference backend.
// Source:    Zhang & Sennrich 2019, eq. 4; Ba, Kiros & Hinton 2016, eq. 4.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_$STEP.wgsl"
@group(0) @binding(3) var<storage, read> x: array<vec4f>;
@group(0) @binding(4) var<storage, read> norm: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;
#include "lib/norm_statistics.wgsl"

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let t = workgroup.x;
  if (step_is_over(t)) { return; }
  let first = t * (STRIDE / 4u);
  let statistics = group_norm_statistics(first, at);
  for (var i = at.local; i < STRIDE / 4u; i += WORKGROUP_SIZE) {
#if ADD
    y[first + i] += ADD_SCALE * normalized(x[first + i], i, statistics);
#else
    y[first + i] = normalized(x[first + i], i, statistics);
#endif
  }
}
