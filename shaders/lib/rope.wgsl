// lib/rope: rotary position embedding of one element, from a table of cosines and sines made in float64 by the host
// (in-shader sin and cos of large angles are off by 1e-4 on some drivers).
//
//   pair (a, b) at angle θ = position · frequency:   a' = a cos θ − b sin θ,   b' = b cos θ + a sin θ
//   PAIRING == half-split    (i, i + PAIRS)          PAIRING == interleaved    (2i, 2i + 1)
// Elements from 2·PAIRS on pass through.
//
// Needs from the includer:  PAIRS (0: no rotation); a function `raw(index) -> f32` that reads the unrotated vectors
// Binding 2 (PAIRS > 0): table [positions, PAIRS] of (cos, sin)
// Source: Su et al. 2021, "RoFormer", eq. 34.

#if ROPE
@group(0) @binding(2) var<storage, read> rope_table: array<vec2f>;
#endif

/// Element d of the head that begins at `base`, rotated to `position`.
fn rotated(base: u32, d: u32, position: u32) -> f32 {
  let value = raw(base + d);
#if ROPE
  if (d >= 2u * PAIRS) { return value; }
#if PAIRING == half-split
  let pair = d % PAIRS;
  let is_first = d < PAIRS;
  let other = raw(base + select(pair, pair + PAIRS, is_first));
#else
  let pair = d / 2u;
  let is_first = d % 2u == 0u;
  let other = raw(base + (d ^ 1u));
#endif
  let turn = rope_table[position * PAIRS + pair];
  return value * turn.x + select(other, -other, is_first) * turn.y;
#else
  return value;
#endif
}

/// Elements d … d + 3. A loop, so that it is compiled once: drivers for CPUs take their time over each copy.
fn rotated4(base: u32, d: u32, position: u32) -> vec4f {
  var value: vec4f;
  for (var i = 0u; i < 4u; i++) { value[i] = rotated(base, d + i, position); }
  return value;
}
