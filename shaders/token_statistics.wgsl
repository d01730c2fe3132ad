// token_statistics: what the model says of one given id in each row of logits.
//
//   p          = softmax(logits[t])
//   logprob    = ln p[target[t]]
//   entropy    = −Σ_i p[i] · ln p[i]       in nats
//   rank       = 1 + how many ids are likelier (of equal ones the lower id comes first)
//
//   logits   [T, STRIDE]  f32
//   targets  [T]          u32
//   y        [T]          TokenStatistics
//
// Grid:      one workgroup per row t.
// Accuracy:  f32 sums; relative error 1e-5 of logprob and entropy against the reference.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/logits.wgsl"

struct TokenStatistics {
  logprob: f32,
  entropy: f32,
  rank: u32,
  reserved: u32,
}
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(6) var<storage, read_write> y: array<TokenStatistics>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let first = workgroup.x * STRIDE;
  let target_id = targets[workgroup.x];
  let target_logit = tame(logits[first + target_id]);
  var largest = LOWEST;
  var likelier = 0u;
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    let logit = tame(logits[first + id]);
    largest = max(largest, logit);
    if (logit > target_logit || (logit == target_logit && id < target_id)) { likelier++; }
  }
  largest = group_max(largest, at);
  var weights = 0.0;   // Σ e^d, d = logit − largest
  var weighted = 0.0;  // Σ e^d · d
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    let difference = tame(logits[first + id]) - largest;
    let weight = exp(difference);
    weights += weight;
    if (weight > 0.0) { weighted += weight * difference; }
  }
  // Counts are whole numbers below 2^24: exact in f32.
  let sums = group_sum(vec4f(weights, weighted, f32(likelier), 0.0), at);
  if (at.local == 0u) {
    let log_sum = log(sums.x);
    y[workgroup.x] = TokenStatistics(target_logit - largest - log_sum, log_sum - sums.y / sums.x, u32(sums.z) + 1u, 0u);
  }
}
