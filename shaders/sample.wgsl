// sample: chooses the next token and moves the sequence on; the last kernel of every step, and the only one that writes
// the record.
//
//   weight_i = exp(x_i), x_i = (score_i − max) / temperature
//   top-nσ   (with SHAPED) scores ≥ max − n · their standard deviation
//   top-k    the k largest scores; of equal ones the lower ids
//   typical  (with SHAPED) the fewest, by ascending |x − mean x|, whose weights reach p of their sum, and equally near ones
//   top-p    then the fewest of those, largest first, whose weights reach p of their sum
//   min-p    then those with weight ≥ min_p · the largest of theirs
//   XTC      (with SHAPED) of those with weight ≥ threshold · sum only the last in order, where a second uniform number
//            is below the sequence's probability
//   draw     the first id, counting upward, whose cumulative weight exceeds u · sum, u uniform by (seed, position)
//   greedy   (inverse_temperature 0) the largest score, of equal ones the lowest id
//   forced   (with HISTORY) what stands in the history at this place already, before all else
//
//   scores     [V]       f32, after biases and penalties; or the logits themselves
//   logits     [V]       f32 (with ADJUSTED; otherwise the scores are the logits)
//   summaries  [SLICES]  from logits_reduce
//   usage      [V]       u32, counts the choice (with ADJUSTED, but for HISTORY, where history_scan counts)
//   history              see lib/history, takes the choice (with HISTORY)
//   kept       [V]       f32, the weights the draw is made from, 0 for ids that are cut off (with KEPT, for tests)
//
// Nothing is sorted. What the k-th or the p-th is at is found by radix selection on an order-preserving integer of the
// score: rounds of a histogram over RADIX_BITS of it, highest first, of counts (top-k) or of weights as 64-bit
// fixed-point sums (top-p). Integers
// make the cut the same in any order of additions. Weights below 2^-31 of the largest count as 0 for top-p only.
// STATISTICS adds rank and entropy of the choice by the model's own logits: one more pass over them.
//
// Grid:      one workgroup; z = row, with ROWS.
// Accuracy:  the kept set equals the reference's but for weights that f32 rounding moves across p.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/sequence.wgsl"
#include "lib/logits.wgsl"
#include "lib/random.wgsl"
#include "lib/wide_integer.wgsl"
#if ROWS
#include "lib/rows.wgsl"
#endif
#rows fn main(at: -> fn main(@builtin(workgroup_id) workgroup: vec3u, at:
#rows sequences[0] -> sequences[row]
#rows scores[ -> scores[row * V_STRIDE +
#rows logits[ -> logits[row * V_STRIDE +
#rows usage[ -> usage[row * V_STRIDE +
#rows history.tokens[ -> history.tokens[row * HISTORY_STRIDE +
#rows summaries[ -> summaries[row * SLICES +
@group(0) @binding(0) var<storage, read_write> sequences: array<Sequence>;
@group(0) @binding(1) var<storage, read> scores: array<f32>;
#if ADJUSTED
@group(0) @binding(2) var<storage, read> logits: array<f32>;
#if HISTORY
#include "lib/history.wgsl"
@group(0) @binding(3) var<storage, read_write> history: History;
#else
@group(0) @binding(3) var<storage, read_write> usage: array<u32>;
#endif
#endif
@group(0) @binding(4) var<storage, read> summaries: array<SliceSummary>;
#if KEPT
@group(0) @binding(6) var<storage, read_write> kept: array<f32>;
#endif
#include "lib/log_normalizer.wgsl"

const CHUNK = (V + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;  // neighbouring ids that one invocation walks in order

/// The ids still in play: key above `key`, or equal to it and id at most `last_id`.
struct Cut {
  key: u32,
  last_id: u32,
}

/// What the record says about choosing, and the largest score: read once, so that branches on it are uniform.
struct Choice {
  done: u32,
  top_k: u32,
  top_p: f32,
  min_p: f32,
  inverse_temperature: f32,
  best: f32,
  best_id: u32,
#if HISTORY
  forced_id: u32,        // V: none
#endif
#if SHAPED
  top_n_sigma: f32,
  typical_p: f32,
  xtc_threshold: f32,    // 0: not this time
  // Not from the record, but found on the way:
  mean: f32,             // of x
  by_distance: u32,      // 1: the search goes by distance from the mean, the nearest first
  near: Cut,             // by that distance: what typical-p has left
  spared: Cut,           // XTC takes out what comes before it
#endif
}
var<workgroup> shared_choice: Choice;
// Few bins where workgroup memory is dear: some drivers for CPUs compile a store for each word of it that is zeroed.
const BINS = 1u << RADIX_BITS;
const DIGITS = 32u / RADIX_BITS;
var<workgroup> bins_low: array<atomic<u32>, BINS>;
var<workgroup> bins_high: array<atomic<u32>, BINS>;
var<workgroup> prefix: u32;                 // leading digits of the key searched for
var<workgroup> missing: vec2u;              // what must still come from keys with this prefix
var<workgroup> found_id: u32;
var<workgroup> chunk_counts: array<u32, WORKGROUP_SIZE>;
var<workgroup> chunk_weights: array<f32, WORKGROUP_SIZE>;

/// Larger key = larger score.
fn key_of(score: f32) -> u32 {
  let bits = select(bitcast<u32>(score), 0u, score == 0.0);  // −0 is 0 (compilers drop an addition of 0)
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

fn is_kept(key: u32, id: u32, cut: Cut) -> bool { return key > cut.key || (key == cut.key && id <= cut.last_id); }

/// What the search goes by.
fn order_key(score: f32, choice: Choice) -> u32 {
#if SHAPED
  if (choice.by_distance != 0u) { return distance_key(score, choice); }
#endif
  return key_of(score);
}

/// Whether the cuts so far have left it.
fn in_play(score: f32, id: u32, cut: Cut, choice: Choice) -> bool {
#if SHAPED
  if (!is_kept(distance_key(score, choice), id, choice.near)) { return false; }
#endif
  return is_kept(key_of(score), id, cut);
}

fn weight_of(score: f32, choice: Choice) -> f32 {
  let exponent = (score - choice.best) * choice.inverse_temperature;
  return select(exp(max(exponent, -87.0)), 0.0, exponent < -87.0 || score <= LOWEST);
}

/// The smallest set that comes first in order within `cut` and reaches the target:
/// `count` members if count > 0, else the share `fraction` / 2^32 of the weights.
fn select_first(count: u32, fraction: u32, cut: Cut, choice: Choice, at: Invocation) -> Cut {
  if (at.local == 0u) { prefix = 0u; missing = vec2u(count, 0u); }
  for (var digit = DIGITS; digit > 0u; digit--) {
    let shift = RADIX_BITS * (digit - 1u);
    for (var i = at.local; i < BINS; i += WORKGROUP_SIZE) {
      atomicStore(&bins_low[i], 0u);
      atomicStore(&bins_high[i], 0u);
    }
    workgroupBarrier();
    let leading = prefix;
    for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
      let score = scores_at(id);
      let key = order_key(score, choice);
      if (in_play(score, id, cut, choice) && (digit == DIGITS || key >> (shift + RADIX_BITS) == leading)) {
        var amount = 1u;
        if (count == 0u) { amount = u32(weight_of(score, choice) * 2147483648.0); }
        let bin = (key >> shift) & (BINS - 1u);
        let before = atomicAdd(&bins_low[bin], amount);
        if (before + amount < before) { atomicAdd(&bins_high[bin], 1u); }
      }
    }
    workgroupBarrier();
    if (at.local == 0u) {
      if (digit == DIGITS && count == 0u) {
        var all = vec2u(0u);
        for (var i = 0u; i < BINS; i++) { all = wide_add(all, bin_at(i)); }
        missing = wide_fraction(all, fraction);
        if (missing.x == 0u && missing.y == 0u) { missing.x = 1u; }
      }
      var bin = BINS - 1u;
      while (bin > 0u && !wide_at_least(bin_at(bin), missing)) {
        missing = wide_subtract(missing, bin_at(bin));
        bin--;
      }
      prefix = (leading << RADIX_BITS) | bin;
    }
    workgroupBarrier();
  }
  let key = prefix;
#if SHAPED
  if (choice.by_distance != 0u) {
    workgroupBarrier();
    return Cut(key, V);
  }
#endif
  // Of the equal scores at the border as many are taken, by id, as are needed.
  var ties = 0u;
  for (var id = at.local * CHUNK; id < min((at.local + 1u) * CHUNK, V); id++) {
    let score = scores_at(id);
    if (key_of(score) == key && in_play(score, id, cut, choice)) { ties++; }
  }
  chunk_counts[at.local] = ties;
  workgroupBarrier();
  if (at.local == 0u) {
    var wanted = missing.x;
    if (count == 0u) {
      let each = floor(weight_of(score_of(key), choice) * 2147483648.0);
      wanted = u32(ceil(min((f32(missing.y) * 4294967296.0 + f32(missing.x)) / max(each, 1.0), f32(V))));
    }
    wanted = max(wanted, 1u);
    var chunk = 0u;
    while (chunk < WORKGROUP_SIZE - 1u && chunk_counts[chunk] < wanted) { wanted -= chunk_counts[chunk]; chunk++; }
    found_id = V;
    for (var id = chunk * CHUNK; id < min((chunk + 1u) * CHUNK, V) && wanted > 0u; id++) {
      let score = scores_at(id);
      if (key_of(score) == key && in_play(score, id, cut, choice)) { found_id = id; wanted--; }
    }
  }
  workgroupBarrier();
  return Cut(key, found_id);
}

fn bin_at(i: u32) -> vec2u { return vec2u(atomicLoad(&bins_low[i]), atomicLoad(&bins_high[i])); }
fn scores_at(id: u32) -> f32 { return tame(scores[id]); }
fn score_of(key: u32) -> f32 { return bitcast<f32>(select(~key, key & 0x7fffffffu, (key & 0x80000000u) != 0u)); }

#if SHAPED
#include "lib/shaped_draw.wgsl"
#endif

fn draw(drawn: Choice, at: Invocation) -> u32 {
#if SHAPED
  var choice = drawn;
  let cut = shaped_cut(&choice, at);
#else
  let choice = drawn;
  var cut = Cut(0u, V);
  // Round 0 is top-k, round 1 top-p: one loop, so that the search is compiled once.
  for (var round = 0u; round < 2u; round++) {
    let count = select(0u, choice.top_k, round == 0u);
    let wanted = select((choice.top_p < 1.0), (count > 0u && count < V), round == 0u);
    if (wanted) { cut = select_first(count, u32(choice.top_p * 4294967296.0), cut, choice, at); }
  }
#endif
#if KEPT
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) { kept[id] = kept_weight(id, cut, choice); }
#endif
  var sum = 0.0;
  for (var id = at.local * CHUNK; id < min((at.local + 1u) * CHUNK, V); id++) { sum += kept_weight(id, cut, choice); }
  chunk_weights[at.local] = sum;
  workgroupBarrier();
  if (at.local == 0u) {
    var total = 0.0;
    for (var i = 0u; i < WORKGROUP_SIZE; i++) { total += chunk_weights[i]; }
    let uniform_number = uniform_at(sequences[0].seed_low, sequences[0].seed_high, sequences[0].position + 1u);
    let target_weight = uniform_number * total;
    // Rounding may leave the target a hair beyond the end: the last chunk and the last id with any weight catch it.
    var last_chunk = WORKGROUP_SIZE - 1u;
    while (last_chunk > 0u && chunk_weights[last_chunk] == 0.0) { last_chunk--; }
    var reached = 0.0;
    var chunk = 0u;
    while (chunk < last_chunk && reached + chunk_weights[chunk] <= target_weight) { reached += chunk_weights[chunk]; chunk++; }
    found_id = choice.best_id;
    for (var id = chunk * CHUNK; id < min((chunk + 1u) * CHUNK, V); id++) {
      let weight = kept_weight(id, cut, choice);
      if (weight > 0.0) {
        found_id = id;
        reached += weight;
        if (reached > target_weight) { break; }
      }
    }
  }
  workgroupBarrier();
  return found_id;
}

fn kept_weight(id: u32, cut: Cut, choice: Choice) -> f32 {
  let score = scores_at(id);
  if (!in_play(score, id, cut, choice)) { return 0.0; }
#if SHAPED
  if (comes_before(key_of(score), id, choice.spared)) { return 0.0; }
#endif
  let weight = weight_of(score, choice);
  return select(weight, 0.0, weight < choice.min_p);
}

/// By the model itself.
fn own_logit(id: u32) -> f32 {
#if ADJUSTED
  return tame(logits[id]);
#else
  return scores_at(id);
#endif
}

#if STATISTICS
fn report_statistics(id: u32, at: Invocation) {
  let own = own_logit(id);
  let normalizer = log_normalizer();
  var before = 0.0;                         // ids below 2^24: counts are exact
  var entropy = 0.0;
  for (var other = at.local; other < V; other += WORKGROUP_SIZE) {
    let logit = own_logit(other);
    if (logit > own || (logit == own && other < id)) { before += 1.0; }
    let logprob = max(logit - normalizer, -87.0);
    if (logit > LOWEST) { entropy -= exp(logprob) * logprob; }
  }
  let sums = group_sum(vec4f(before, entropy, 0.0, 0.0), at);
  if (at.local == 0u) {
    sequences[0].rank = 1u + u32(sums.x);
    sequences[0].entropy = sums.y;
  }
}
#endif

fn commit(id: u32) {
  var nans = 0u;
  var finites = 0u;
  for (var i = 0u; i < SLICES; i++) { nans += summaries[i].nan_count; finites += summaries[i].finite_count; }
  let invalid = nans > 0u || finites == 0u;
  let position = sequences[0].position + 1u;
#if HISTORY
  history.tokens[position] = id;
#else
#if ADJUSTED
  usage[id] += 1u;
#endif
#endif
  let count = sequences[0].count + 1u;
  var done = invalid || count >= sequences[0].limit || position >= sequences[0].capacity;
  for (var i = 0u; i < sequences[0].end_count; i++) { done = done || id == sequences[0].ends[i]; }
  sequences[0].token = id;
  sequences[0].position = position;
  sequences[0].count = count;
  sequences[0].logprob = own_logit(id) - log_normalizer();
  sequences[0].invalid = select(0u, 1u, invalid);
  sequences[0].done = select(0u, 1u, done);
}

fn read_choice() -> Choice {
  var best = LOWEST;
  var best_id = V;
  for (var i = 0u; i < SLICES; i++) {
    let score = summaries[i].score_max;
    let id = summaries[i].score_argmax;
    if (id < V && (best_id == V || score > best)) { best = score; best_id = id; }
  }
  var choice: Choice;
  choice.done = sequences[0].done;
  choice.top_k = sequences[0].top_k;
  choice.top_p = sequences[0].top_p;
  choice.min_p = sequences[0].min_p;
  choice.inverse_temperature = sequences[0].inverse_temperature;
  choice.best = best;
  choice.best_id = select(best_id, 0u, best_id == V);
#if HISTORY
  choice.forced_id = V;
  if (sequences[0].count < sequences[0].forced_count) { choice.forced_id = history.tokens[sequences[0].position + 1u]; }
#endif
#if SHAPED
  choice.top_n_sigma = sequences[0].top_n_sigma;
  choice.typical_p = sequences[0].typical_p;
  let chance = second_uniform_at(sequences[0].seed_low, sequences[0].seed_high, sequences[0].position + 1u);
  choice.xtc_threshold = select(0.0, sequences[0].xtc_threshold, chance < sequences[0].xtc_probability);
  choice.near = Cut(0u, V);
  choice.spared = Cut(0xffffffffu, 0u);
#endif
  return choice;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(at: Invocation) {
#if ROWS
  row = workgroup.z;
#endif
  if (at.local == 0u) { shared_choice = read_choice(); }
  let choice = workgroupUniformLoad(&shared_choice);
  if (choice.done != 0u) { return; }
  var id = choice.best_id;
#if HISTORY
  if (choice.forced_id < V) { id = choice.forced_id; } else if (choice.inverse_temperature > 0.0) { id = draw(choice, at); }
#else
  if (choice.inverse_temperature > 0.0) { id = draw(choice, at); }
#endif
#if STATISTICS
  report_statistics(id, at);
#endif
  if (at.local == 0u) { commit(id); }
}
