// logits_reduce: what the sampler needs to know of each slice of the vocabulary, in parallel.
//
//   logits     [V]       f32, as the head made them
//   scores     [V]       f32, after biases and penalties (with ADJUSTED; otherwise the logits)
//   summaries  [SLICES]  see lib/logits; of equal scores the lowest id is the argmax
//
// Grid:      one workgroup per slice of ceil(V / SLICES) ids; z = row, with ROWS.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_decode.wgsl"
#include "lib/logits.wgsl"
#if ROWS
#include "lib/rows.wgsl"
#endif
#rows step_is_over(0u) -> step_is_over(workgroup.z)
#rows logits[ -> logits[row * V_STRIDE +
#rows scores[ -> scores[row * V_STRIDE +
#rows summaries[ -> summaries[row * SLICES +
@group(0) @binding(1) var<storage, read> logits: array<f32>;
#if ADJUSTED
@group(0) @binding(2) var<storage, read> scores: array<f32>;
#endif
@group(0) @binding(6) var<storage, read_write> summaries: array<SliceSummary>;

const SLICE = (V + SLICES - 1u) / SLICES;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
#if ROWS
  row = workgroup.z;
#endif
  if (step_is_over(0u)) { return; }
  let begin = workgroup.x * SLICE;
  let end = min(begin + SLICE, V);
  var logit_max = LOWEST;
  var score_max = LOWEST;
  var argmax = V;
  var nans = 0.0;
  var finites = 0.0;
  for (var id = begin + at.local; id < end; id += WORKGROUP_SIZE) {
    let raw = logits[id];
    if (is_nan(raw)) { nans += 1.0; }
    if (is_finite(raw)) { finites += 1.0; }
    let logit = tame(raw);
    logit_max = max(logit_max, logit);
#if ADJUSTED
    let score = scores[id];
#else
    let score = logit;
#endif
    if (argmax == V || score > score_max) { score_max = score; argmax = id; }
  }
  let own_max = score_max;
  logit_max = group_max(logit_max, at);
  score_max = group_max(score_max, at);
  // Ids below 2^24 are exact in f32; the lowest among the largest is the largest of the negated.
  let candidate = select(LOWEST, -f32(argmax), argmax != V && own_max == score_max);
  let first = group_max(candidate, at);
  var sum = 0.0;
  for (var id = begin + at.local; id < end; id += WORKGROUP_SIZE) { sum += exp(tame(logits[id]) - logit_max); }
  let sums = group_sum(vec4f(sum, nans, finites, 0.0), at);
  if (at.local == 0u) {
    let winner = select(V, u32(max(-first, 0.0)), first != LOWEST);
    summaries[workgroup.x] = SliceSummary(logit_max, sums.x, score_max, winner, u32(sums.y), u32(sums.z), 0u, 0u);
  }
}
