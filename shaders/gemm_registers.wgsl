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

fn x_at(index: u32) -> vec4f { return x[index]; }

const TILE_T = 16u;

fn step_columns(row: u32, last_row: u32, step: u32) -> Columns {
  let at = min(row, last_row);
  return scaled(weight_columns(at, step), weight_scale(at, step));
}

fn product(tile: u32, first_row: u32, last_row: u32, at: Invocation) -> array<vec4f, TILE_T> {
  var sums: array<vec4f, TILE_T>;
  let rows = min(TILE_T, chunk.rows - tile);
  for (var step = 0u; step < STEPS; step++) {
    let a = step_columns(first_row, last_row, step);
    let b = step_columns(first_row + 1u, last_row, step);
    let c = step_columns(first_row + 2u, last_row, step);
    let d = step_columns(first_row + 3u, last_row, step);
    let one = vec4f(1.0);
    for (var i = 0u; i < rows; i++) {
      let part = read_columns((tile + i) * (X_STRIDE / 4u) + step * STEP_VECS, at);
      sums[i] += vec4f(
        dot(products(a, part), one), dot(products(b, part), one), dot(products(c, part), one), dot(products(d, part), one));
    }
  }
  return sums;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let tile = workgroup.y * TILE_T;
  let first_row = (workgroup.x * WORKGROUP_SIZE + at.local) * 4u;
  if (step_is_over(tile)) { return; } // rows beyond the last are the last again; they are not stored
#if EPILOGUE == gated
  // Gates, then ups: a loop, so that the product is compiled once.
  var both: array<array<vec4f, TILE_T>, 2>;
  for (var part = 0u; part < 2u; part++) {
    both[part] = product(tile, first_row + part * N, (part + 1u) * N - 1u, at);
  }
#else
  let sums = product(tile, first_row, N - 1u, at);
#endif
  for (var i = 0u; i < TILE_T; i++) {
    if (step_is_over(tile + i)) { return; }
    for (var r = 0u; r < 4u; r++) {
      if (first_row + r < N) {
#if EPILOGUE == gated
        finish_gated(tile + i, first_row + r, both[0][i][r], both[1][i][r]);
#else
        finish(tile + i, first_row + r, sums[i][r]);
#endif
      }
    }
  }
}
