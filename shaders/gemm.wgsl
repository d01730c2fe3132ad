// gemm: many rows of activations times a weight matrix, for GPUs; prefill is mostly this.
//
//   y[t, r] = epilogue( Σ_k W[r, k] · x[t, k] )
//
//   W  [N, K]         in a weight format (gated: 2N rows, all gates, then all ups)
//   x  [T, X_STRIDE]  f32, zero beyond K
//   y  [T, Y_STRIDE]  f32, see lib/epilogue
//
// A workgroup computes a tile of 32 rows of x by 64 rows of W. Both factors go through workgroup memory in slices of 32
// columns, weights unpacked on the way; each invocation keeps 4 × 4 sums in registers. For the gated form the 64 rows are 32
// gates and the 32 ups that belong to them, so that one workgroup has both.
//
// Grid:      x = ceil(N / 64) (gated: ceil(N / 32)), y = ceil(T / 32); 128 invocations.
// Workgroup memory: 4 KiB of x, 8 KiB of W.
// Accuracy:  f32 sums; relative error 1e-5 against the reference on the same, dequantized weights.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_prefill.wgsl"
#include "lib/weights_$WEIGHTS.wgsl"
#include "lib/epilogue.wgsl"
@group(0) @binding(3) var<storage, read> x: array<vec4f>;

const TILE_T = 32u;
const TILE_R = 64u;
const SLICE_VECS = 8u;                      // 32 columns
const SLICES = (K + 31u) / 32u;
const STEPS_PER_SLICE = SLICE_VECS / STEP_VECS;
const ROW_GROUPS = TILE_R / 4u;             // invocations across W; invocation (m, n) has rows n, n + 16, n + 32, n + 48

var<workgroup> x_tile: array<vec4f, TILE_T * SLICE_VECS>;
var<workgroup> w_tile: array<vec4f, TILE_R * SLICE_VECS>;

/// The row of W at place `place` of workgroup `workgroup`'s tile; rows beyond the last are the last again.
fn row_at(workgroup: u32, place: u32) -> u32 {
#if EPILOGUE == gated
  let half = TILE_R / 2u;
  let row = min(workgroup * half + place % half, N - 1u);
  return select(row, row + N, place >= half);
#else
  return min(workgroup * TILE_R + place, N - 1u);
#endif
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let tile = workgroup.y * TILE_T;
  if (step_is_over(tile)) { return; }
  let n = at.local % ROW_GROUPS;
  let m = at.local / ROW_GROUPS;
  var sums: array<vec4f, 4>;                // sums[i]: row tile + m·4 + i of x, by the invocation's 4 rows of W
  for (var slice = 0u; slice < SLICES; slice++) {
    for (var i = at.local; i < TILE_T * SLICE_VECS; i += WORKGROUP_SIZE) {
      let column = slice * SLICE_VECS + i % SLICE_VECS;
      let t = min(tile + i / SLICE_VECS, chunk.rows - 1u);
      x_tile[i] = select(vec4f(0.0), x[t * (X_STRIDE / 4u) + column], column < X_STRIDE / 4u);
    }
    for (var i = at.local; i < TILE_R * STEPS_PER_SLICE; i += WORKGROUP_SIZE) {
      let place = i / STEPS_PER_SLICE;
      let part = i % STEPS_PER_SLICE;
      let step = slice * STEPS_PER_SLICE + part;
      let row = row_at(workgroup.x, place);
      var columns = Columns();
      if (step < STEPS) { columns = scaled(weight_columns(row, step), weight_scale(row, step)); }
      // Column-major in the tile, so that neighbouring invocations read neighbouring rows.
      for (var v = 0u; v < STEP_VECS; v++) { w_tile[(part * STEP_VECS + v) * TILE_R + place] = column_of(columns, v); }
    }
    workgroupBarrier();
    for (var v = 0u; v < SLICE_VECS; v++) {
      let w0 = w_tile[v * TILE_R + n];
      let w1 = w_tile[v * TILE_R + n + ROW_GROUPS];
      let w2 = w_tile[v * TILE_R + n + 2u * ROW_GROUPS];
      let w3 = w_tile[v * TILE_R + n + 3u * ROW_GROUPS];
      for (var i = 0u; i < 4u; i++) {
        let part = x_tile[(m * 4u + i) * SLICE_VECS + v];
        sums[i] += vec4f(dot(w0, part), dot(w1, part), dot(w2, part), dot(w3, part));
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i++) {
    let t = tile + m * 4u + i;
    if (step_is_over(t)) { return; }
#if EPILOGUE == gated
    for (var j = 0u; j < 2u; j++) {
      let r = workgroup.x * (TILE_R / 2u) + n + j * ROW_GROUPS;
      if (r < N) { finish_gated(t, r, sums[i][j], sums[i][j + 2u]); }
    }
#else
    for (var j = 0u; j < 4u; j++) {
      let r = workgroup.x * TILE_R + n + j * ROW_GROUPS;
      if (r < N) { finish(t, r, sums[i][j]); }
    }
#endif
  }
}
