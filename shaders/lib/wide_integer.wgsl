// lib/wide_integer: 64-bit unsigned sums in two words (x low, y high). Integers add up to the same in any order, which
// floats do not: a cut-off found from them is the same in every run and on every device.

fn wide_add(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn wide_subtract(a: vec2u, b: vec2u) -> vec2u { return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x)); }
fn wide_at_least(a: vec2u, b: vec2u) -> bool { return a.y > b.y || (a.y == b.y && a.x >= b.x); }

/// The upper word of the 64-bit product.
fn multiply_high(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu; let a1 = a >> 16u;
  let b0 = b & 0xffffu; let b1 = b >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  let carry = (middle & 0xffffu) + a0 * b1;
  return a1 * b1 + (middle >> 16u) + (carry >> 16u);
}

/// a · fraction / 2^32, rounded down.
fn wide_fraction(a: vec2u, fraction: u32) -> vec2u {
  return wide_add(vec2u(multiply_high(a.x, fraction), 0u), vec2u(a.y * fraction, multiply_high(a.y, fraction)));
}
