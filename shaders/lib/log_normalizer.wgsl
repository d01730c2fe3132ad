// lib/log_normalizer: ln Σ exp(logit) over the vocabulary, from the slices' summaries.
//
// Needs from the includer:  SLICES, summaries

#rows summaries[ -> summaries[row * SLICES +
fn log_normalizer() -> f32 {
  var largest = summaries[0].logit_max;
  for (var i = 1u; i < SLICES; i++) { largest = max(largest, summaries[i].logit_max); }
  var sum = 0.0;
  for (var i = 0u; i < SLICES; i++) { sum += summaries[i].logit_sum * exp(summaries[i].logit_max - largest); }
  return largest + log(sum);
}
