// convolution: a causal convolution over the last TAPS positions, a filter for each column, between two gates.
//
//   s[p, i] = input_gate[t, i] · convolved[t, i]   for row t at position p; into the cache
//   y[t, i] = output_gate[t, i] · ( Σ_j weight[j, i] · s[p − TAPS + 1 + j, i]  (+ bias[i]) ),   s = 0 before position 0
//
//   projections  [T, STRIDE]          f32: the input gates, the output gates, what is convolved; WIDTH numbers each
//   cache        [CAPACITY, WIDTH]    s of every position, as lib/cache_format holds it
//   weight       [TAPS, WIDTH]        f32; the last one is the position's own
//   bias         [WIDTH]              f32 (with BIAS)
//   y            [T, Y_STRIDE]        f32
//
// s of the chunk's own rows is computed anew, rounded as the cache would; only positions before the chunk are read from
// the cache. So nothing that is written here is read here, and one dispatch is enough for any number of rows.
//
// Grid:      x over the WIDTH / 4 vectors of a row, one invocation each; y = row t. With ROWS each row is of a sequence
//            of its own, whose positions lie as lib/slots says.
// Accuracy:  f32 sums; max relative error 1e-5 against the reference (f16 cache: of the rounded s).
// Source:    Liquid AI 2025, "LFM2 Technical Report", sec. 2: gated short convolution blocks.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_$STEP.wgsl"
#include "lib/cache_format.wgsl"
#if ROWS
#include "lib/slots.wgsl"
#endif
#rows position * VECS -> slot_of(t, position) * VECS
#rows (position - back) * VECS -> slot_of(t, position - back) * VECS
#rows back <= t -> false
@group(0) @binding(1) var<storage, read> projections: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> cache: array<Cached>;
@group(0) @binding(4) var<storage, read> weight: array<vec4f>;
#if BIAS
@group(0) @binding(5) var<storage, read> bias: array<vec4f>;
#endif
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;

const VECS = WIDTH / 4u;

fn gated(t: u32, v: u32) -> vec4f {
  let input_gate = t * (STRIDE / 4u) + v;
  return as_cached(projections[input_gate] * projections[input_gate + 2u * VECS]);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let t = workgroup.y;
  let v = workgroup.x * WORKGROUP_SIZE + at.local;
  if (step_is_over(t) || v >= VECS) { return; }
  let position = position_of(t);
  let newest = gated(t, v);
  cache[position * VECS + v] = to_cache(newest);
  var sum = weight[(TAPS - 1u) * VECS + v] * newest;
  for (var back = 1u; back < min(TAPS, position + 1u); back++) {
    var earlier: vec4f;
    if (back <= t) {
      earlier = gated(t - back, v);
    } else {
      earlier = from_cache(cache[(position - back) * VECS + v]);
    }
    sum += weight[(TAPS - 1u - back) * VECS + v] * earlier;
  }
#if BIAS
  sum += bias[v];
#endif
  y[t * (Y_STRIDE / 4u) + v] = projections[t * (STRIDE / 4u) + VECS + v] * sum;
}
