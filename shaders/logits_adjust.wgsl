// logits_adjust: biases and penalties, the first of the processors.
//
//   s = logit + bias;   used in prompt or answer:  s ← s / repetition (s > 0) or s · repetition (s ≤ 0)
//   used c > 0 times in the answer:                s ← s − presence − frequency · c
//   a score of LOWEST (banned, or a logit of −inf) stays that, whatever is added to it
//   with HISTORY also:
//   L tokens would repeat (DRY):                   s ← s − dry_multiplier · 2^min((L − dry_allowed) · log2 base, 100)
//   an n-gram would repeat; an end token before the sequence's minimum:  s ← LOWEST
//   with MASKED also, before the penalties:  an id without its bit:  s ← LOWEST
//
//   logits, bias, scores  [V]  f32
//   usage                 [V]  u32: bit 31 = in the prompt; the rest = times in the answer
//   allowed               [ceil(V / 32)] u32: bit i of word w for id 32 w + i (with MASKED)
//   matches               [V]  u32, from history_scan (with HISTORY; usage is from there, too, and both are set to zero)
//
// Grid:      one invocation per token id, folded into x and y; z = row, with ROWS.
// Source:    Keskar et al. 2019, "CTRL", sec. 4.1 (repetition, once per id); OpenAI's API reference (frequency, presence).

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_decode.wgsl"
#include "lib/logits.wgsl"
#if ROWS
#include "lib/rows.wgsl"
#endif
#rows step_is_over(0u) -> step_is_over(workgroup.z)
#rows sequences[0] -> sequences[row]
#rows logits[ -> logits[row * V_STRIDE +
#rows usage[ -> usage[row * V_STRIDE +
#rows matches[ -> matches[row * V_STRIDE +
#rows scores[ -> scores[row * V_STRIDE +
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
#if HISTORY
#include "lib/history.wgsl"
@group(0) @binding(3) var<storage, read_write> usage: array<u32>;
@group(0) @binding(4) var<storage, read_write> matches: array<u32>;
@group(0) @binding(5) var<storage, read> history: History;
#else
@group(0) @binding(3) var<storage, read> usage: array<u32>;
#endif
@group(0) @binding(6) var<storage, read_write> scores: array<f32>;
#if MASKED
@group(0) @binding(7) var<storage, read> allowed: array<u32>;
#endif

#if HISTORY
fn by_history(id: u32, score: f32) -> f32 {
  let repeated = matches[id];
  matches[id] = 0u;
  if (repeated == BANNED_BY_HISTORY || is_early_end(id)) { return LOWEST; }
  if (repeated == 0u || score <= LOWEST) { return score; }
  let exponent = min(f32(repeated - history.dry_allowed) * history.dry_base_log2, 100.0);
  return score - history.dry_multiplier * exp2(exponent);
}

fn is_early_end(id: u32) -> bool {
  if (sequences[0].count >= sequences[0].minimum) { return false; }
  for (var i = 0u; i < sequences[0].end_count; i++) {
    if (id == sequences[0].ends[i]) { return true; }
  }
  return false;
}
#endif

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) workgroups: vec3u, at: Invocation) {
#if ROWS
  row = workgroup.z;
#endif
  let id = (workgroup.y * workgroups.x + workgroup.x) * WORKGROUP_SIZE + at.local;
  if (step_is_over(0u) || id >= V) { return; }
  let logit = tame(logits[id]);
  var score = select(tame(logit + bias[id]), LOWEST, logit <= LOWEST);
#if MASKED
  if (((allowed[id >> 5u] >> (id & 31u)) & 1u) == 0u) { score = LOWEST; }
#endif
  let used = usage[id];
  if (used != 0u && score > LOWEST) {
    let repetition = sequences[0].repetition;
    score = select(score * repetition, score / repetition, score > 0.0);
    let times = used & 0x7fffffffu;
    if (times > 0u) { score -= sequences[0].presence + sequences[0].frequency * f32(times); }
  }
#if HISTORY
  usage[id] = 0u;
  score = by_history(id, tame(score));
#endif
  scores[id] = tame(score);
}
