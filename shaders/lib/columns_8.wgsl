// lib/columns_8: the 32 columns that one weight step covers. A struct and not an array, since members named by
// the program stay in registers, while compilers for CPUs put what is indexed into memory.
//
// Needs from the includer (with READS_X):  x_at(index) -> vec4f, the other factor; with QUADS, called by whole quads

const STEP_VECS = 8u;
struct Columns {
  a: vec4f,
  b: vec4f,
  c: vec4f,
  d: vec4f,
  e: vec4f,
  f: vec4f,
  g: vec4f,
  h: vec4f,
}

#if READS_X
#if QUADS
fn read_columns(first: u32, at: Invocation) -> Columns {
  let own = x_at(first + quad_lane(at));
  let later = x_at(first + 4u + quad_lane(at));
  return Columns(
    quadBroadcast(own, 0u), quadBroadcast(own, 1u), quadBroadcast(own, 2u), quadBroadcast(own, 3u),
    quadBroadcast(later, 0u), quadBroadcast(later, 1u), quadBroadcast(later, 2u), quadBroadcast(later, 3u));
}
#else
fn read_columns(first: u32, at: Invocation) -> Columns {
  return Columns(x_at(first), x_at(first + 1u), x_at(first + 2u), x_at(first + 3u),
    x_at(first + 4u), x_at(first + 5u), x_at(first + 6u), x_at(first + 7u));
}
#endif
#endif
/// Four partial sums of the products; their sum is the dot product.
fn products(w: Columns, x: Columns) -> vec4f {
  return w.a * x.a + w.b * x.b + w.c * x.c + w.d * x.d
    + w.e * x.e + w.f * x.f + w.g * x.g + w.h * x.h;
}
fn scaled(columns: Columns, scale: f32) -> Columns {
  return Columns(scale * columns.a, scale * columns.b, scale * columns.c, scale * columns.d,
    scale * columns.e, scale * columns.f, scale * columns.g, scale * columns.h);
}
fn column_of(columns: Columns, v: u32) -> vec4f {
  switch v {
    case 0u: { return columns.a; }
    case 1u: { return columns.b; }
    case 2u: { return columns.c; }
    case 3u: { return columns.d; }
    case 4u: { return columns.e; }
    case 5u: { return columns.f; }
    case 6u: { return columns.g; }
    default: { return columns.h; }
  }
}
