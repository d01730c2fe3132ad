// gemm_registers: many rows of activations times a weight matrix, for adapters that are a CPU.
//
//   y[t, r] = epilogue( Σ_k W[r, k] · x[t, k] )
//
//   W  [N, K]         in a weight format (gated: 2N rows, all gates, then all ups)
//   x  [T, X_STRIDE]  f32, zero beyond K
//   y  [T, Y_STRIDE]  f32, see lib/epilogue
//
// Each invocation computes a tile of 16 rows of x by 4 rows of W in registers: a weight is unpacked once for 16 rows,
// and nothing is shared, so there is no barrier.
//
// Grid:      x = ceil(N / (4 · WORKGROUP_SIZE)), y = ceil(T / 16).
// Accuracy:  f32 sums; relative error 1e-5 against the reference on the same, dequantized weights.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_prefill.wgsl"
#include "lib/weights_$WEIGHTS.wgsl"
#include "lib/epilogue.wgsl"
@group(0) @binding(3) var<storage, read> x: array<vec4f>;

const TILE_T = 16u;

fn product(tile: u32, first_row: u32, last_row: u32) -> array<vec4f, TILE_T> {
  var sums: array<vec4f, TILE_T>;
  let last_t = chunk.rows - 1u;
  for (var step = 0u; step < STEPS; step++) {
    var rows: array<array<vec4f, STEP_VECS>, 4>;
    for (var r = 0u; r < 4u; r++) {
      let row = min(first_row + r, last_row);
      rows[r] = weight_step(row, step);
      let scale = weight_scale(row, step);
      for (var v = 0u; v < STEP_VECS; v++) { rows[r][v] *= scale; }
    }
    for (var i = 0u; i < TILE_T; i++) {
      let at_x = min(tile + i, last_t) * (X_STRIDE / 4u) + step * STEP_VECS;
      for (var v = 0u; v < STEP_VECS; v++) {
        let part = x[at_x + v];
        sums[i] += vec4f(dot(rows[0][v], part), dot(rows[1][v], part), dot(rows[2][v], part), dot(rows[3][v], part));
      }
    }
  }
  return sums;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let tile = workgroup.y * TILE_T;
  let first_row = (workgroup.x * WORKGROUP_SIZE + at.local) * 4u;
  if (step_is_over(tile) || first_row >= N) { return; }
  let sums = product(tile, first_row, N - 1u);
#if EPILOGUE == gated
  let ups = product(tile, first_row + N, 2u * N - 1u);
#endif
  for (var i = 0u; i < TILE_T; i++) {
    if (step_is_over(tile + i)) { return; }
    for (var r = 0u; r < 4u; r++) {
      if (first_row + r < N) {
#if EPILOGUE == gated
        finish_gated(tile + i, first_row + r, sums[i][r], ups[i][r]);
#else
        finish(tile + i, first_row + r, sums[i][r]);
#endif
      }
    }
  }
}
