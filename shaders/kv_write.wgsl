// kv_write: the keys (rotated) and values of a chunk into the layer's cache.
//
//   qkv  [T, QKV_STRIDE]  f32: q heads, then k heads, then v heads, not rotated
//
// Grid:      one invocation per vector of 4: x over the KV_HEADS · HEAD_VECS of a row, y = row t.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_prefill.wgsl"
#include "lib/kv_cache.wgsl"
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
fn raw(index: u32) -> f32 { return qkv[index]; }
#include "lib/rope.wgsl"

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let t = workgroup.y;
  let index = workgroup.x * WORKGROUP_SIZE + at.local;
  if (step_is_over(t) || index >= KV_HEADS * HEAD_VECS) { return; }
  let kv_head = index / HEAD_VECS;
  let v = index % HEAD_VECS;
  let position = position_of(t);
  let key_base = t * QKV_STRIDE + (HEADS + kv_head) * HEAD_DIM;
  let value = key_base + KV_HEADS * HEAD_DIM + 4u * v;
  store_key4(cache_index(kv_head, position) + v, rotated4(key_base, 4u * v, position));
  store_value4(cache_index(kv_head, position) + v, vec4f(raw(value), raw(value + 1u), raw(value + 2u), raw(value + 3u)));
}
