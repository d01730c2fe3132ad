// attention_decode: RoPE, KV write and attention of one new token, each head split over the context.
//
//   q, k    = rotate(q_raw), rotate(k_raw) to the token's position p;  k, v are appended to the cache at p
//   s_j     = scale · q · k_j                        for positions j ≤ p of this split
//   partial = Σ_j exp(s_j − m) v_j,  m = max_j s_j,  l = Σ_j exp(s_j − m)
//
//   qkv       [HEADS + 2 · KV_HEADS, HEAD_DIM]  f32, not rotated
//   partials  [HEADS, SPLITS, HEAD_DIM + 4]     f32: partial, then m, l;  an empty split has m = −1e30, l = 0
//   with SPLITS == 1 instead: y [HEADS, HEAD_DIM] = partial / l
//
// Where the layer has them: q_raw and k_raw are normalized before they are rotated (QUERY_KEY_NORM, over each head),
// only the last WINDOW positions count, and scores are softcapped (SOFTCAP).
//
// Split s takes ceil(n / SPLITS) of the n positions that count, from s times that on, so the grid never depends on p.
// The newest key and value are taken from qkv, never from the cache, which another workgroup may be writing just then.
//
// Grid:      x = head, y = split; z = row, with ROWS (qkv and y have a row for each; positions lie as lib/slots says).
// Accuracy:  f32 softmax; relative error 1e-5 against the reference (f16 cache: of the rounded keys and values).
// Source:    Milakov & Gimelshein 2018, "Online normalizer calculation for softmax"; Dao et al. 2023, "Flash-Decoding".

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_decode.wgsl"
#include "lib/kv_cache.wgsl"
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
#if ROWS
#include "lib/rows.wgsl"
#include "lib/slots.wgsl"
#endif
#rows step_is_over(0u) -> step_is_over(workgroup.z)
#rows position_of(0u) -> position_of(workgroup.z)
#rows qkv[ -> qkv[row * QKV_STRIDE +
#rows group_head_statistics( -> group_head_statistics(row * QKV_STRIDE +
#rows cache_index(kv_head, position) -> cache_index(kv_head, slot_of(row, position))
#rows (tile + j) * HEAD_VECS -> slot_of(row, tile + j) * HEAD_VECS
#rows y[ -> y[row * Y_VECS +
#if QUERY_KEY_NORM
const QUERY_WIDTH = HEAD_DIM;
const KEY_WIDTH = HEAD_DIM;
#include "lib/query_key_norm.wgsl"
var<private> query_statistics: HeadStatistics;
var<private> key_statistics: HeadStatistics;
fn raw(index: u32) -> f32 {
  let i = index % HEAD_DIM;
  if (index < HEADS * HEAD_DIM) { return head_normalized(qkv[index], i, false, query_statistics); }
  return head_normalized(qkv[index], i, true, key_statistics);
}
#else
fn raw(index: u32) -> f32 { return qkv[index]; }
#endif
#include "lib/rope.wgsl"
#if WINDOW
#include "lib/window.wgsl"
#endif
#if SOFTCAP
#include "lib/softcap.wgsl"
#endif
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;

const EMPTY: f32 = -1.0e30;
// The values of one tile are added up by KEY_SUBSETS groups of LANES invocations, each with VECS_PER_LANE vectors of 4.
const LANES = min(WORKGROUP_SIZE, HEAD_VECS);
const KEY_SUBSETS = WORKGROUP_SIZE / LANES;
const VECS_PER_LANE = (HEAD_VECS + LANES - 1u) / LANES;

var<workgroup> query: array<vec4f, HEAD_VECS>;      // rotated and scaled
var<workgroup> newest_key: array<vec4f, HEAD_VECS>; // rotated
var<workgroup> scores: array<f32, TILE>;
var<workgroup> subset_sums: array<vec4f, KEY_SUBSETS * HEAD_VECS>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
#if ROWS
  row = workgroup.z;
#endif
  if (step_is_over(0u)) { return; }
  let head = workgroup.x;
  let split = workgroup.y;
  let kv_head = head / (HEADS / KV_HEADS);
  let position = position_of(0u);
  let cached = cache_index(kv_head, 0u);
#if WINDOW
  let first = first_visible(position);
  let span = (position - first + SPLITS) / SPLITS;
  let begin = first + split * span;
#else
  let span = (position + SPLITS) / SPLITS;           // ceil((position + 1) / SPLITS)
  let begin = split * span;
#endif
  let end = min(begin + span, position + 1u);

  let key_base = (HEADS + kv_head) * HEAD_DIM;
  let value_base = key_base + KV_HEADS * HEAD_DIM;
#if QUERY_KEY_NORM
  query_statistics = group_head_statistics(head * HEAD_DIM, HEAD_DIM, at);
  key_statistics = group_head_statistics(key_base, HEAD_DIM, at);
#endif
  let stores = head % (HEADS / KV_HEADS) == 0u && begin <= position && position < end;
  for (var v = at.local; v < HEAD_VECS; v += WORKGROUP_SIZE) {
    query[v] = SCALE * rotated4(head * HEAD_DIM, 4u * v, position);
    let key = rotated4(key_base, 4u * v, position);
    newest_key[v] = as_cached(key);
    if (stores) {
      store_key4(cache_index(kv_head, position) + v, key);
      store_value4(cache_index(kv_head, position) + v, raw_value4(value_base, v));
    }
  }
  workgroupBarrier();

  var largest = EMPTY;
  var sum = 0.0;                                     // of this invocation's own keys
  var total: array<vec4f, VECS_PER_LANE>;            // of this invocation's vectors over its subset of keys
  let lane_in_subset = at.local % LANES;
  let subset = at.local / LANES;
  for (var tile = begin; tile < end; tile += TILE) {
    var tile_max = EMPTY;
    for (var j = at.local; j < TILE; j += WORKGROUP_SIZE) {
      var score = EMPTY;
      if (tile + j < end) {
        score = 0.0;
        if (tile + j == position) {
          for (var v = 0u; v < HEAD_VECS; v++) { score += dot(query[v], newest_key[v]); }
        } else {
          let key = cached + (tile + j) * HEAD_VECS;
          for (var v = 0u; v < HEAD_VECS; v++) { score += dot(query[v], load_key4(key + v)); }
        }
#if SOFTCAP
        score = softcapped(score);
#endif
      }
      scores[j] = score;
      tile_max = max(tile_max, score);
    }
    let new_largest = max(largest, group_max(tile_max, at));
    let correction = exp(largest - new_largest);
    largest = new_largest;
    sum *= correction;
    for (var j = at.local; j < TILE; j += WORKGROUP_SIZE) {
      let weight = select(exp(scores[j] - largest), 0.0, tile + j >= end);
      scores[j] = weight;
      sum += weight;
    }
    workgroupBarrier();
    if (subset < KEY_SUBSETS) {
      for (var i = 0u; i < VECS_PER_LANE; i++) {
        let v = lane_in_subset + i * LANES;
        if (v < HEAD_VECS) {
          var value = total[i] * correction;
          for (var j = subset; j < min(TILE, end - tile); j += KEY_SUBSETS) {
            if (tile + j == position) {
              value += scores[j] * as_cached(raw_value4(value_base, v));
            } else {
              value += scores[j] * load_value4(cached + (tile + j) * HEAD_VECS + v);
            }
          }
          total[i] = value;
        }
      }
    }
    workgroupBarrier();
  }

  let weights = group_sum(vec4f(sum, 0.0, 0.0, 0.0), at).x;
  if (subset < KEY_SUBSETS) {
    for (var i = 0u; i < VECS_PER_LANE; i++) {
      let v = lane_in_subset + i * LANES;
      if (v < HEAD_VECS) { subset_sums[subset * HEAD_VECS + v] = total[i]; }
    }
  }
  workgroupBarrier();
  for (var v = at.local; v < HEAD_VECS; v += WORKGROUP_SIZE) {
    var value = subset_sums[v];
    for (var s = 1u; s < KEY_SUBSETS; s++) { value += subset_sums[s * HEAD_VECS + v]; }
#if SPLIT
    y[(head * SPLITS + split) * (HEAD_VECS + 1u) + v] = value;
#else
    y[head * HEAD_VECS + v] = value / weights;
#endif
  }
#if SPLIT
  if (at.local == 0u) { y[(head * SPLITS + split) * (HEAD_VECS + 1u) + HEAD_VECS] = vec4f(largest, weights, 0.0, 0.0); }
#endif
}

fn raw_value4(base: u32, v: u32) -> vec4f {
  let i = base + 4u * v;
  return vec4f(qkv[i], qkv[i + 1u], qkv[i + 2u], qkv[i + 3u]);
}
