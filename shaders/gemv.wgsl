// gemv: one row of activations times a weight matrix; decode is almost nothing else.
//
//   y[r] = epilogue( Σ_k W[r, k] · prologue(x)[k] )
//
//   W         [N, K]  in a weight format (gated: 2N rows, all gates, then all ups)
//   x         [K]     f32, zero beyond K
//   norm      weight and shift of the norm before the matrix (with NORM; see lib/norm_statistics)
//   epilogue  see lib/epilogue
//
// A block is 4 rows; its lanes share the columns (see lib/reduce_*). x is loaded once for the 4 rows.
// The root mean square is summed in the same loop and applied to the sum at the end; the layer norm, whose mean has to
// come off each element first, costs one more pass over x.
//
// Grid:      ceil(N / ROWS_PER_WORKGROUP) workgroups, folded into x and y.
// Accuracy:  f32 sums; relative error 1e-5 against the reference on the same, dequantized weights.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_decode.wgsl"
#include "lib/weights_$WEIGHTS.wgsl"
#include "lib/epilogue.wgsl"
@group(0) @binding(3) var<storage, read> x: array<vec4f>;
#if NORM
@group(0) @binding(4) var<storage, read> norm: array<vec4f>;
#endif
#if NORM == layer
#include "lib/norm_statistics.wgsl"
#endif

const BLOCKS = ROWS_PER_WORKGROUP / 4u;

fn row_dot(row: u32, step: u32, part: ptr<function, array<vec4f, STEP_VECS>>) -> f32 {
  let row_weights = weight_step(row, step);
  var sum = 0.0;
  for (var v = 0u; v < STEP_VECS; v++) { sum += dot(row_weights[v], (*part)[v]); }
  return sum * weight_scale(row, step);
}

// Row i of a block; rows beyond the last are the last again and are not stored. Gated: 4 gates, then their 4 ups.
#if EPILOGUE == gated
const BLOCK_ROWS = 8u;
fn row_of(first: u32, i: u32) -> u32 { return min(first + i % 4u, N - 1u) + (i / 4u) * N; }
#else
const BLOCK_ROWS = 4u;
fn row_of(first: u32, i: u32) -> u32 { return min(first + i, N - 1u); }
#endif

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) workgroups: vec3u, at: Invocation) {
  if (step_is_over(0u)) { return; }
  let group = workgroup.y * workgroups.x + workgroup.x;
#if NORM == layer
  let statistics = group_norm_statistics(0u, at);
#endif
  for (var block = first_block(at); block < BLOCKS; block += block_stride(at)) {
    let first = group * ROWS_PER_WORKGROUP + block * 4u;
    var sums: array<f32, BLOCK_ROWS>;
#if NORM == rms
    var squares = 0.0;
#endif
    for (var step = lane(at); step < STEPS; step += lane_count(at)) {
      var part: array<vec4f, STEP_VECS>;
      for (var v = 0u; v < STEP_VECS; v++) {
        let column = step * STEP_VECS + v;
#if NORM == layer
        part[v] = normalized(x[column], column, statistics);
#else
#if NORM == rms
        let value = x[column];
        squares += dot(value, value);
        part[v] = value * norm[column];
#else
        part[v] = x[column];
#endif
#endif
      }
      for (var i = 0u; i < BLOCK_ROWS; i++) { sums[i] += row_dot(row_of(first, i), step, &part); }
    }
    var sum = lanes_sum(vec4f(sums[0], sums[1], sums[2], sums[3]), at);
#if EPILOGUE == gated
    var up_sum = lanes_sum(vec4f(sums[4], sums[5], sums[6], sums[7]), at);
#endif
#if NORM == rms
    let inverse = inverseSqrt(lanes_sum(vec4f(squares, 0.0, 0.0, 0.0), at).x / f32(K) + EPS);
    sum *= inverse;
#if EPILOGUE == gated
    up_sum *= inverse;
#endif
#endif
    if (lane(at) == 0u) {
      for (var i = 0u; i < 4u; i++) {
        if (first + i < N) {
#if EPILOGUE == gated
          finish_gated(0u, first + i, sum[i], up_sum[i]);
#else
          finish(0u, first + i, sum[i]);
#endif
        }
      }
    }
  }
}
