// query_key_norm: q and k of each row normalized in place, before attention rotates them; v is left alone.
//
//   q and k each come in parts: their heads (QUERY_PARTS = heads of QUERY_WIDTH = head size), or all heads as one part
//   (QUERY_PARTS = 1); each part is normalized on its own, see lib/query_key_norm.
//
//   qkv  [T, QKV_STRIDE]  f32: QUERY_PARTS · QUERY_WIDTH of q, then KEY_PARTS · KEY_WIDTH of k, then v
//
// In decode, attention_decode does it for heads; this is for chunks, and for norms over all heads.
//
// Grid:      x = part of q, then of k; y = row t.
// Accuracy:  f32 sums; max relative error 1e-5 against the reference backend.
// Source:    Henry et al. 2020, "Query-Key Normalization"; Dehghani et al. 2023, "Scaling Vision Transformers to 22
//            Billion Parameters", sec. 2.1.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_$STEP.wgsl"
@group(0) @binding(6) var<storage, read_write> qkv: array<f32>;
#include "lib/query_key_norm.wgsl"

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let t = workgroup.y;
  if (step_is_over(t)) { return; }
  let is_key = workgroup.x >= QUERY_PARTS;
  let width = select(QUERY_WIDTH, KEY_WIDTH, is_key);
  let part = select(workgroup.x, workgroup.x - QUERY_PARTS, is_key);
  let first = t * QKV_STRIDE + select(0u, QUERY_PARTS * QUERY_WIDTH, is_key) + part * width;
  let statistics = group_head_statistics(first, width, at);
  for (var i = at.local; i < width; i += WORKGROUP_SIZE) {
    qkv[first + i] = head_normalized(qkv[first + i], i, is_key, statistics);
  }
}
