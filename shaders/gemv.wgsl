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
var<private> statistics: NormStatistics;
#endif
#if NORM == rms
var<private> squares: vec4f;
#endif

const BLOCKS = ROWS_PER_WORKGROUP / 4u;

/// The prologue.
fn x_at(column: u32) -> vec4f {
  let value = x[column];
#if NORM == layer
  return normalized(value, column, statistics);
#else
#if NORM == rms
  squares += value * value;
  return value * norm[column];
#else
  return value;
#endif
#endif
}

/// Rows beyond the last are the last again; they are not stored.
fn row_products(row: u32, last: u32, step: u32, columns: Columns) -> vec4f {
  let at = min(row, last);
  return weight_scale(at, step) * products(weight_columns(at, step), columns);
}

/// Each row's four partial sums made one.
fn row_sums(a: vec4f, b: vec4f, c: vec4f, d: vec4f) -> vec4f {
  let one = vec4f(1.0);
  return vec4f(dot(a, one), dot(b, one), dot(c, one), dot(d, one));
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) workgroups: vec3u, at: Invocation) {
  if (step_is_over(0u)) { return; }
  let group = workgroup.y * workgroups.x + workgroup.x;
#if NORM == layer
  statistics = group_norm_statistics(0u, at);
#endif
  for (var block = first_block(at); block < BLOCKS; block += block_stride(at)) {
    let first = group * ROWS_PER_WORKGROUP + block * 4u;
    // Named one by one: an array or a struct of them would go through memory on a CPU.
    var row0 = vec4f(0.0);
    var row1 = vec4f(0.0);
    var row2 = vec4f(0.0);
    var row3 = vec4f(0.0);
#if EPILOGUE == gated
    var up0 = vec4f(0.0);
    var up1 = vec4f(0.0);
    var up2 = vec4f(0.0);
    var up3 = vec4f(0.0);
#endif
#if NORM == rms
    squares = vec4f(0.0);
#endif
    for (var step = lane(at); step < STEPS; step += lane_count(at)) {
      let columns = read_columns(step * STEP_VECS, at);
      row0 += row_products(first, N - 1u, step, columns);
      row1 += row_products(first + 1u, N - 1u, step, columns);
      row2 += row_products(first + 2u, N - 1u, step, columns);
      row3 += row_products(first + 3u, N - 1u, step, columns);
#if EPILOGUE == gated
      up0 += row_products(first + N, 2u * N - 1u, step, columns);
      up1 += row_products(first + N + 1u, 2u * N - 1u, step, columns);
      up2 += row_products(first + N + 2u, 2u * N - 1u, step, columns);
      up3 += row_products(first + N + 3u, 2u * N - 1u, step, columns);
#endif
    }
    var sum = lanes_sum(row_sums(row0, row1, row2, row3), at);
#if EPILOGUE == gated
    var up_sum = lanes_sum(row_sums(up0, up1, up2, up3), at);
#endif
#if NORM == rms
    let own = dot(squares, vec4f(1.0));
#if QUADS
    let total = quad_sum(own);
#else
    let total = lanes_sum(vec4f(own, 0.0, 0.0, 0.0), at).x;
#endif
    let inverse = inverseSqrt(total / f32(K) + EPS);
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
