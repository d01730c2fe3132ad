// attention_prefill: causal attention of a chunk's rows over everything in the cache up to each row's own position.
//
//   y[t, h] = Σ_j softmax_j( scale · rotate(q[t, h]) · k_j ) v_j   over positions j ≤ start + t
//
//   qkv  [T, QKV_STRIDE]             f32: q heads first, not rotated
//   y    [T, Y_STRIDE]               f32, [HEADS, HEAD_DIM] in a row
//   keys and values of the chunk itself are in the cache already (kv_write)
//
// Where the layer has them: only the last WINDOW positions count, and scores are softcapped (SOFTCAP).
//
// A workgroup is one head and WORKGROUP_SIZE neighbouring rows; each invocation keeps its row's query and sum in registers
// and walks the keys in tiles of 8, which neighbours read at the same time; online softmax in f32, one rescaling a tile.
//
// Grid:      x = head, y = ceil(T / WORKGROUP_SIZE).
// Accuracy:  relative error 1e-5 against the reference (f16 cache: of the rounded keys and values).
// Source:    Dao et al. 2022, "FlashAttention", algorithm 1 (forward).

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_prefill.wgsl"
#include "lib/kv_cache.wgsl"
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
fn raw(index: u32) -> f32 { return qkv[index]; }
#include "lib/rope.wgsl"
#if WINDOW
#include "lib/window.wgsl"
#endif
#if SOFTCAP
#include "lib/softcap.wgsl"
#endif
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;

const TILE = 8u;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let head = workgroup.x;
  let t = workgroup.y * WORKGROUP_SIZE + at.local;
  if (step_is_over(t)) { return; }
  let position = position_of(t);
  var query: array<vec4f, HEAD_VECS>;
  for (var v = 0u; v < HEAD_VECS; v++) {
    query[v] = SCALE * rotated4(t * QKV_STRIDE + head * HEAD_DIM, 4u * v, position);
  }
  let cached = cache_index(head / (HEADS / KV_HEADS), 0u);

  var largest = -1.0e30;
  var sum = 0.0;
  var total: array<vec4f, HEAD_VECS>;
#if WINDOW
  // All rows start where the workgroup's first one does, so that neighbours go on reading the same keys.
  let first = first_visible(position);
  let start = first_visible(position_of(workgroup.y * WORKGROUP_SIZE));
  for (var tile = start; tile <= position; tile += TILE) {
#else
  for (var tile = 0u; tile <= position; tile += TILE) {
#endif
    let count = min(TILE, position + 1u - tile);
    var scores: array<f32, TILE>;
    var new_largest = largest;
    for (var j = 0u; j < count; j++) {
#if WINDOW
      if (tile + j < first) { continue; }
#endif
      var score = 0.0;
      let key = cached + (tile + j) * HEAD_VECS;
      for (var v = 0u; v < HEAD_VECS; v++) { score += dot(query[v], load_key4(key + v)); }
#if SOFTCAP
      score = softcapped(score);
#endif
      scores[j] = score;
      new_largest = max(new_largest, score);
    }
    let correction = exp(largest - new_largest);
    largest = new_largest;
    sum *= correction;
    for (var v = 0u; v < HEAD_VECS; v++) { total[v] *= correction; }
    for (var j = 0u; j < count; j++) {
#if WINDOW
      if (tile + j < first) { continue; }
#endif
      let weight = exp(scores[j] - largest);
      sum += weight;
      let value = cached + (tile + j) * HEAD_VECS;
      for (var v = 0u; v < HEAD_VECS; v++) { total[v] += weight * load_value4(value + v); }
    }
  }
  for (var v = 0u; v < HEAD_VECS; v++) { y[t * (Y_STRIDE / 4u) + head * HEAD_VECS + v] = total[v] / sum; }
}
