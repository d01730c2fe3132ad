// lib/shaped_draw: the cuts that go by the distribution's shape (top-n-sigma, typical-p, XTC), with top-k and top-p in
// their order. For sample, which has these where one of them is wanted.
//
// Needs from the includer:  Choice, Cut, select_first, in_play, kept_weight, and what they need
// Contract: called by every invocation, in uniform control flow.

/// Differences from the largest score beyond this count as this much: their squares fit f32.
const LARGEST_GAP = 1e15;

fn comes_before(key: u32, id: u32, cut: Cut) -> bool { return key > cut.key || (key == cut.key && id < cut.last_id); }

fn exponent_of(score: f32, choice: Choice) -> f32 {
  return max((score - choice.best) * choice.inverse_temperature, -1e5);
}

/// Larger key = nearer to the mean.
fn distance_key(score: f32, choice: Choice) -> u32 { return key_of(-abs(exponent_of(score, choice) - choice.mean)); }

/// What top-n-sigma, top-k, typical-p and top-p leave; min_p becomes a weight, and XTC's part is in `spared`.
fn shaped_cut(choice: ptr<function, Choice>, at: Invocation) -> Cut {
  var cut = Cut(0u, V);
  if ((*choice).top_n_sigma > 0.0) {
    let floor_score = (*choice).best - (*choice).top_n_sigma * deviation(*choice, at);
    cut = Cut(key_of(max(floor_score, LOWEST)), V);
  }
  // Round 0 is top-k, round 1 typical-p, round 2 top-p: one loop, so that the search is compiled once.
  for (var round = 0u; round < 3u; round++) {
    let by_count = round == 0u;
    let count = select(0u, (*choice).top_k, by_count);
    let share = select((*choice).top_p, (*choice).typical_p, round == 1u);
    (*choice).by_distance = select(0u, 1u, round == 1u);
    if (select((share < 1.0), (count > 0u && count < V), by_count)) {
      if (round == 1u) {
        (*choice).mean = mean_exponent(cut, *choice, at);
        *choice = agreed(*choice, at);
      }
      let found = select_first(count, u32(share * 4294967296.0), cut, *choice, at);
      if (round == 1u) {
        (*choice).near = found;
        *choice = agreed(*choice, at);
      } else if (comes_before(found.key, found.last_id, cut)) {  // top-k may want more than there are
        cut = found;
      }
    }
  }
  (*choice).by_distance = 0u;
  if ((*choice).min_p > 0.0) {
    (*choice).min_p *= largest_weight(cut, *choice, at);
    *choice = agreed(*choice, at);
  }
  if ((*choice).xtc_threshold > 0.0) { (*choice).spared = last_likely(cut, *choice, at); }
  return cut;
}

/// The same, in the language's eyes, too: what was found through workgroup memory does not count as uniform.
fn agreed(choice: Choice, at: Invocation) -> Choice {
  if (at.local == 0u) { shared_choice = choice; }
  return workgroupUniformLoad(&shared_choice);
}

/// Standard deviation of all scores that are not banned.
fn deviation(choice: Choice, at: Invocation) -> f32 {
  var sum = 0.0;
  var count = 0.0;
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    let score = scores_at(id);
    if (score > LOWEST) { sum += min(choice.best - score, LARGEST_GAP); count += 1.0; }
  }
  let totals = group_sum(vec4f(sum, count, 0.0, 0.0), at);
  let mean = totals.x / max(totals.y, 1.0);
  var squares = 0.0;
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    let score = scores_at(id);
    let difference = min(choice.best - score, LARGEST_GAP) - mean;
    if (score > LOWEST) { squares += difference * difference; }
  }
  return sqrt(group_sum(vec4f(squares, 0.0, 0.0, 0.0), at).x / max(totals.y, 1.0));
}

/// Of x, by probability.
fn mean_exponent(cut: Cut, choice: Choice, at: Invocation) -> f32 {
  var sum = vec4f(0.0);
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    let score = scores_at(id);
    if (in_play(score, id, cut, choice)) {
      let weight = weight_of(score, choice);
      sum += vec4f(weight, weight * exponent_of(score, choice), 0.0, 0.0);
    }
  }
  let totals = group_sum(sum, at);
  return totals.y / totals.x;
}

fn largest_weight(cut: Cut, choice: Choice, at: Invocation) -> f32 {
  var largest = 0.0;
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    let score = scores_at(id);
    if (in_play(score, id, cut, choice)) { largest = max(largest, weight_of(score, choice)); }
  }
  return group_max(largest, at);
}

/// The last in order of those that have at least the threshold's part of all weights; before all where there is none.
fn last_likely(cut: Cut, choice: Choice, at: Invocation) -> Cut {
  var sum = 0.0;
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) { sum += kept_weight(id, cut, choice); }
  let least = choice.xtc_threshold * group_sum(vec4f(sum, 0.0, 0.0, 0.0), at).x;
  if (at.local == 0u) {
    atomicStore(&bins_low[0], 0xffffffffu);
    atomicStore(&bins_low[1], 0u);
  }
  workgroupBarrier();
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    if (kept_weight(id, cut, choice) >= least) { atomicMin(&bins_low[0], key_of(scores_at(id))); }
  }
  workgroupBarrier();
  let key = atomicLoad(&bins_low[0]);
  for (var id = at.local; id < V; id += WORKGROUP_SIZE) {
    if (key_of(scores_at(id)) == key && kept_weight(id, cut, choice) >= least) { atomicMax(&bins_low[1], id); }
  }
  workgroupBarrier();
  return Cut(key, atomicLoad(&bins_low[1]));
}
