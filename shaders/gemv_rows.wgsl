// gemv_rows: gemv for several sequences at once, one row of activations each: every weight is read once for all of them.
//
//   y[t, r] = epilogue( Σ_k W[r, k] · prologue(x[t])[k] )      for t < ROWS; a row whose sequence is over is left alone
//
//   W         [N, K]          in a weight format (gated: 2N rows, all gates, then all ups)
//   x         [ROWS, STRIDE]  f32, zero beyond K
//   norm, epilogue            as in gemv
//
// Two rows of W at a time (gated: a gate and its up) are unpacked and then multiplied with every row of x. What a row
// adds up, and in which order, is what gemv adds up for it.
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
#if EPILOGUE == gated
const PAIRS = 4u;
#else
const PAIRS = 2u;
#endif

/// Where the row of x begins that x_at reads.
var<private> x_first: u32;

/// The prologue.
fn x_at(column: u32) -> vec4f {
  let value = x[x_first + column];
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

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) workgroups: vec3u, at: Invocation) {
  var all_over = true;
#each r ROWS
  let over$r = step_is_over(u32($r));
  all_over = all_over && over$r;
#endeach
  if (all_over) { return; }
  let group = workgroup.y * workgroups.x + workgroup.x;
#if NORM == layer
#each r ROWS
  let statistics$r = group_norm_statistics(u32($r) * (STRIDE / 4u), at);
#endeach
#endif
  let one = vec4f(1.0);
  for (var block = first_block(at); block < BLOCKS; block += block_stride(at)) {
    for (var pair = 0u; pair < PAIRS; pair++) {
      // Rows beyond the last are the last again; they are not stored.
      let first = group * ROWS_PER_WORKGROUP + block * 4u + pair * (4u / PAIRS);
      let a_at = min(first, N - 1u);
#if EPILOGUE == gated
      let b_at = a_at + N;
#else
      let b_at = min(first + 1u, N - 1u);
#endif
      // Named one by one: an array of them would go through memory on a CPU.
#each r ROWS
      var a$r = vec4f(0.0);
      var b$r = vec4f(0.0);
#if NORM == rms
      var squares$r = vec4f(0.0);
#endif
#endeach
      for (var step = lane(at); step < STEPS; step += lane_count(at)) {
        let a_weights = weight_columns(a_at, step);
        let b_weights = weight_columns(b_at, step);
        let a_scale = weight_scale(a_at, step);
        let b_scale = weight_scale(b_at, step);
#each r ROWS
        if (!over$r) {
          x_first = u32($r) * (STRIDE / 4u);
#if NORM == layer
          statistics = statistics$r;
#endif
#if NORM == rms
          squares = squares$r;
#endif
          let columns = read_columns(step * STEP_VECS, at);
          a$r += a_scale * products(a_weights, columns);
          b$r += b_scale * products(b_weights, columns);
#if NORM == rms
          squares$r = squares;
#endif
        }
#endeach
      }
#each r ROWS
      if (!over$r) {
#if NORM == rms
        let own$r = dot(squares$r, one);
        var sum$r = lanes_sum(vec4f(dot(a$r, one), dot(b$r, one), own$r, 0.0), at);
#if QUADS
        let total$r = quad_sum(own$r);
#else
        let total$r = sum$r.z;
#endif
        sum$r *= inverseSqrt(total$r / f32(K) + EPS);
#else
        let sum$r = lanes_sum(vec4f(dot(a$r, one), dot(b$r, one), 0.0, 0.0), at);
#endif
        if (lane(at) == 0u) {
#if EPILOGUE == gated
          if (first < N) { finish_gated(u32($r), first, sum$r.x, sum$r.y); }
#else
          if (first < N) { finish(u32($r), first, sum$r.x); }
          if (first + 1u < N) { finish(u32($r), first + 1u, sum$r.y); }
#endif
        }
      }
#endeach
    }
  }
}
