// logits_top: the likeliest ids and their log-probabilities, by the model itself (temperature 1, before any processor).
//
//   logits     [V]       f32
//   summaries  [SLICES]  from logits_reduce
//   top        [20] of (id, bits of the log-probability), likeliest first, of equal ones the lower id first;
//              entries from the sequence's top_count on are left alone; a logit of −inf has log-probability −inf
//
// Each round takes the best that comes after the last one taken; at most 20 rounds.
//
// Grid:      one workgroup; z = row, with ROWS.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_decode.wgsl"
#include "lib/logits.wgsl"
#if ROWS
#include "lib/rows.wgsl"
#endif
#rows fn main(at: -> fn main(@builtin(workgroup_id) workgroup: vec3u, at:
#rows step_is_over(0u) -> step_is_over(workgroup.z)
#rows sequences[0] -> sequences[workgroup.z]
#rows logits[ -> logits[row * V_STRIDE +
#rows top[ -> top[row * 20u +
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(4) var<storage, read> summaries: array<SliceSummary>;
@group(0) @binding(6) var<storage, read_write> top: array<vec2u>;
#include "lib/log_normalizer.wgsl"

const MINUS_INFINITY = 0xff800000u;         // its bits: WGSL has no literal for it

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(at: Invocation) {
#if ROWS
  row = workgroup.z;
#endif
  if (step_is_over(0u)) { return; }
  let normalizer = log_normalizer();
  var last = HIGHEST;
  var last_id = -1.0;                       // ids as f32: exact below 2^24
  for (var round = 0u; round < sequences[0].top_count; round++) {
    var best = LOWEST;
    var best_id = LOWEST;                   // negated, so that the larger is the lower id
    for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
      let logit = tame(logits[id]);
      let comes_later = logit < last || (logit == last && f32(id) > last_id);
      if (comes_later && (logit > best || best_id == LOWEST)) { best = logit; best_id = -f32(id); }
    }
    let winner = group_max(best, at);
    let winner_id = group_max(select(LOWEST, best_id, best == winner), at);
    last = winner;
    last_id = -winner_id;
    let logprob = select(bitcast<u32>(winner - normalizer), MINUS_INFINITY, winner <= LOWEST);
    if (at.local == 0u && winner_id != LOWEST) { top[round] = vec2u(u32(last_id), logprob); }
  }
}
