// lib/logits: numbers that may be anything become numbers that can be compared.
// Drivers may assume that NaN and infinities do not occur, so bits are tested, not values.

const LOWEST: f32 = -3.0e38;
const HIGHEST: f32 = 3.0e38;

/// No logit of a working model: NaN, or +inf, which finite weights give by an overflow only.
fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u || bitcast<u32>(x) == 0x7f800000u;
}
fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }

/// NaN counts as the lowest; infinities become the largest finite numbers.
fn tame(x: f32) -> f32 {
  if (is_finite(x)) { return clamp(x, LOWEST, HIGHEST); }
  return select(LOWEST, HIGHEST, bitcast<u32>(x) == 0x7f800000u);
}

/// Per slice of the vocabulary, from logits_reduce to sample.
struct SliceSummary {
  logit_max: f32,
  logit_sum: f32,   // Σ exp(logit − logit_max)
  score_max: f32,   // scores: logits after biases and penalties
  score_argmax: u32,
  nan_count: u32,
  finite_count: u32,
  reserved_0: u32,
  reserved_1: u32,
}
