// lib/random: one uniform number per (seed, position), the same whatever the order of steps.
//
// The hash is PCG3D. Source: Jarzynski & Olano 2020, "Hash Functions for GPU Rendering", listing in sec. 4.

fn pcg3d(input: vec3u) -> vec3u {
  var v = input * 1664525u + 1013904223u;
  v.x += v.y * v.z; v.y += v.z * v.x; v.z += v.x * v.y;
  v ^= v >> vec3u(16u);
  v.x += v.y * v.z; v.y += v.z * v.x; v.z += v.x * v.y;
  return v;
}

/// In [0, 1), a multiple of 2^-24: f32 holds each exactly, and none rounds to 1.
fn uniform_at(seed_low: u32, seed_high: u32, position: u32) -> f32 {
  return f32(pcg3d(vec3u(seed_low, seed_high, position)).x >> 8u) * (1.0 / 16777216.0);
}

/// As uniform_at, and independent of it.
fn second_uniform_at(seed_low: u32, seed_high: u32, position: u32) -> f32 {
  return f32(pcg3d(vec3u(seed_low, seed_high, position)).y >> 8u) * (1.0 / 16777216.0);
}
