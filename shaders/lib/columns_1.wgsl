// lib/columns_1: the 4 columns that one weight step covers. A struct and not an array, since members named by
// the program stay in registers, while compilers for CPUs put what is indexed into memory.
//
// Needs from the includer (with READS_X):  x_at(index) -> vec4f, the other factor

const STEP_VECS = 1u;
struct Columns {
  a: vec4f,
}

#if READS_X
fn read_columns(first: u32, at: Invocation) -> Columns {
  return Columns(x_at(first));
}
#endif
/// Four partial sums of the products; their sum is the dot product.
fn products(w: Columns, x: Columns) -> vec4f {
  return w.a * x.a;
}
fn scaled(columns: Columns, scale: f32) -> Columns {
  return Columns(scale * columns.a);
}
fn column_of(columns: Columns, v: u32) -> vec4f { return columns.a; }
