// lib/norm_statistics: mean and 1/deviation of one row of x, and what they make of an element.
//
// Needs from the includer:  NORM (rms or layer), K (columns), STRIDE (padded), EPS, x, norm (weight, then shift, each STRIDE)
// The variance is the mean of squared differences from the mean: the difference of means cancels for large means.

struct NormStatistics {
  mean: f32,
  inverse: f32,
}

/// By the whole workgroup, in uniform control flow.
fn group_norm_statistics(first: u32, at: Invocation) -> NormStatistics {
  var mean = 0.0;
#if NORM == layer
  var sum = 0.0;
  for (var i = at.local; i < STRIDE / 4u; i += WORKGROUP_SIZE) { sum += dot(x[first + i], vec4f(1.0)); }
  mean = group_sum(vec4f(sum, 0.0, 0.0, 0.0), at).x / f32(K);
#endif
  var squares = 0.0;
  for (var i = at.local; i < STRIDE / 4u; i += WORKGROUP_SIZE) {
    let difference = in_row(x[first + i] - mean, i);
    squares += dot(difference, difference);
  }
  let total = group_sum(vec4f(squares, 0.0, 0.0, 0.0), at).x;
  return NormStatistics(mean, inverseSqrt(total / f32(K) + EPS));
}

/// Zero beyond column K, where x is zero but x − mean is not.
fn in_row(value: vec4f, i: u32) -> vec4f {
#if NORM == layer
  return select(vec4f(0.0), value, vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u) < vec4u(K));
#else
  return value;
#endif
}

fn normalized(value: vec4f, i: u32, statistics: NormStatistics) -> vec4f {
#if NORM == layer
  return (value - statistics.mean) * statistics.inverse * norm[i] + norm[STRIDE / 4u + i];
#else
  return value * statistics.inverse * norm[i];
#endif
}
