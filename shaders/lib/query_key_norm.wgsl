// lib/query_key_norm: the norm of q and of k before they are rotated, each head on its own or all heads as one.
//
//   rms    weight[i] · x[i] / sqrt( mean(x²) + eps )
//   layer  weight[i] · (x[i] − mean(x)) / sqrt( variance(x) + eps ) + shift[i]
//
// Needs from the includer:  QUERY_KEY_NORM (rms or layer), NORM_EPS, QUERY_WIDTH and KEY_WIDTH (numbers that are
//                           normalized together), qkv: array<f32>
// Binding 5: q's weight and shift [QUERY_WIDTH] each, then k's [KEY_WIDTH]; f32, the shifts unused for rms
// The variance is the mean of squared differences from the mean: the difference of means cancels for large means.

@group(0) @binding(5) var<storage, read> query_key_norm: array<f32>;

struct HeadStatistics {
  mean: f32,
  inverse: f32,
}

/// Of `width` numbers of qkv; by the whole workgroup, in uniform control flow.
fn group_head_statistics(first: u32, width: u32, at: Invocation) -> HeadStatistics {
  var mean = 0.0;
#if QUERY_KEY_NORM == layer
  var sum = 0.0;
  for (var i = at.local; i < width; i += WORKGROUP_SIZE) { sum += qkv[first + i]; }
  mean = group_sum(vec4f(sum, 0.0, 0.0, 0.0), at).x / f32(width);
#endif
  var squares = 0.0;
  for (var i = at.local; i < width; i += WORKGROUP_SIZE) {
    let difference = qkv[first + i] - mean;
    squares += difference * difference;
  }
  let total = group_sum(vec4f(squares, 0.0, 0.0, 0.0), at).x;
  return HeadStatistics(mean, inverseSqrt(total / f32(width) + NORM_EPS));
}

/// Number i of q's (or k's) that are normalized together.
fn head_normalized(value: f32, i: u32, is_key: bool, statistics: HeadStatistics) -> f32 {
  let weight = i + select(0u, 2u * QUERY_WIDTH, is_key);
#if QUERY_KEY_NORM == layer
  let shift = weight + select(QUERY_WIDTH, KEY_WIDTH, is_key);
  return (value - statistics.mean) * statistics.inverse * query_key_norm[weight] + query_key_norm[shift];
#else
  return value * statistics.inverse * query_key_norm[weight];
#endif
}
