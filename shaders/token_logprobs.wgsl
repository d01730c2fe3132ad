// token_logprobs: the log-probability of one given id in each row of logits.
//
//   y[t] = logits[t, target[t]] − ln Σ_i exp(logits[t, i])
//
//   logits   [T, STRIDE]  f32
//   targets  [T]          u32
//   y        [T]          f32
//
// Grid:      one workgroup per row t.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/logits.wgsl"
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let first = workgroup.x * STRIDE;
  var largest = LOWEST;
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) { largest = max(largest, tame(logits[first + id])); }
  largest = group_max(largest, at);
  var sum = 0.0;
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) { sum += exp(tame(logits[first + id]) - largest); }
  sum = group_sum(vec4f(sum, 0.0, 0.0, 0.0), at).x;
  if (at.local == 0u) { y[workgroup.x] = tame(logits[first + targets[workgroup.x]]) - largest - log(sum); }
}
