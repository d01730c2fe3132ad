// lib/k_scales: the scales of ggml's Q4_K and Q5_K; weight = d · scale · q − m · minimum.
//
// A block of 256 columns is one vec4: d and m as half floats, then eight 6-bit scales and eight 6-bit minima in 12
// bytes, of which the last four hold the lower bits of the later four of each, and the others the upper ones.
//
// Binding 2: [rows, blocks].

#include "lib/half.wgsl"
@group(0) @binding(2) var<storage, read> scales: array<vec4u>;

/// (d · scale, m · minimum) of a group of 32 columns, both exact.
fn group_scale(block: u32, group: u32) -> vec2f {
  let words = scales[block];
  let bytes = words.yzw >> vec3u(8u * (group & 3u));
  let early = bytes.xy & vec2u(63u);
  let late = (vec2u(bytes.z, bytes.z >> 4u) & vec2u(15u)) | ((bytes.xy >> vec2u(2u)) & vec2u(48u));
  return unpack_half2(words.x) * vec2f(select(late, early, group < 4u));
}
