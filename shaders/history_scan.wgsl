// history_scan: what prompt and answer say of each token that may come next; logits_adjust uses it and sets it to zero.
//
//   usage[id]    bit 31 = in the prompt, the rest = times in the answer; within the last penalty_last_n tokens
//   matches[id]  L, the most tokens before an earlier place of id that equal the last ones, where L ≥ dry_allowed
//                (counted up to dry_longest, to a breaker, or to where DRY's window begins; breakers have none);
//                or BANNED_BY_HISTORY where ngram_size − 1 are equal: id would complete an n-gram a second time
//
//   history   see lib/history        breakers  [ceil(V / 32)]  bits, in words
//   usage, matches  [V]  u32, zero before
//
// Grid:      as many workgroups as wanted: together their invocations go over all tokens there are, one place each;
//            z = row, with ROWS.
// Source:    p-e-w 2024, "DRY" (text-generation-webui, pull request 5677); transformers' NoRepeatNGramLogitsProcessor.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_decode.wgsl"
#include "lib/history.wgsl"
#if ROWS
#include "lib/rows.wgsl"
#endif
#rows step_is_over(0u) -> step_is_over(workgroup.z)
#rows position_of(0u) -> position_of(row)
#rows history.tokens[ -> history.tokens[row * HISTORY_STRIDE +
#rows usage[ -> usage[row * V_STRIDE +
#rows matches[ -> matches[row * V_STRIDE +
@group(0) @binding(1) var<storage, read> history: History;
@group(0) @binding(2) var<storage, read> breakers: array<u32>;
@group(0) @binding(3) var<storage, read_write> usage: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> matches: array<atomic<u32>>;

fn is_breaker(id: u32) -> bool { return ((breakers[id / 32u] >> (id % 32u)) & 1u) != 0u; }

/// The first of the last `count` tokens of `length`.
fn window_start(length: u32, count: u32) -> u32 { return length - min(length, count); }

/// How many tokens right before `place`, none before `first`, equal the last ones; at most `most`.
fn matched_before(place: u32, first: u32, most: u32, length: u32, breaks: bool) -> u32 {
  var count = 0u;
  while (count < most && place > first + count) {
    let id = history.tokens[place - 1u - count];
    if (id != history.tokens[length - 1u - count] || (breaks && is_breaker(id))) { break; }
    count++;
  }
  return count;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) workgroups: vec3u, at: Invocation) {
#if ROWS
  row = workgroup.z;
#endif
  if (step_is_over(0u)) { return; }
  let length = position_of(0u) + 1u;
  let first_counted = window_start(length, history.penalty_last_n);
  let first_repeated = window_start(length, history.dry_last_n);
  for (var place = workgroup.x * WORKGROUP_SIZE + at.local; place < length; place += workgroups.x * WORKGROUP_SIZE) {
    let id = history.tokens[place];
    if (place >= first_counted) {
      if (place < history.prompt_length) { atomicOr(&usage[id], IN_PROMPT); } else { atomicAdd(&usage[id], 1u); }
    }
    if (history.ngram_size > 0u) {
      let needed = history.ngram_size - 1u;
      if (matched_before(place, 0u, needed, length, false) == needed) { atomicMax(&matches[id], BANNED_BY_HISTORY); }
    }
    if (history.dry_multiplier > 0.0 && place > first_repeated && !is_breaker(id)) {
      let repeated = matched_before(place, first_repeated, history.dry_longest, length, true);
      if (repeated >= history.dry_allowed) { atomicMax(&matches[id], repeated); }
    }
  }
}
