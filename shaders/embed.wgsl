// embed: the rows of the embedding table that the step's tokens name.
//
//   x[t, i] = scale · table[token[t], i]  (+ positions[position[t], i])
//
//   table      [V, D]  in a weight format; this binding holds rows FIRST_ROW … FIRST_ROW + ROWS − 1 of it
//   positions  [P, D]  f32, learned positions (with POSITIONS)
//   x          [T, X_STRIDE]  f32; rows of tokens outside this binding's rows are left alone
//
// Grid:      y = row t; x = one invocation per weight step (STEP_VECS vectors of 4 columns).
// Accuracy:  exact but for the rounding of the scale's product and of one addition.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_$STEP.wgsl"
#include "lib/weights_$WEIGHTS.wgsl"
#if POSITIONS
@group(0) @binding(3) var<storage, read> positions: array<vec4f>;
#endif
@group(0) @binding(6) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
  let t = workgroup.y;
  let step = workgroup.x * WORKGROUP_SIZE + at.local;
  let token = token_of(t);
  if (step_is_over(t) || step >= STEPS || token < FIRST_ROW || token >= FIRST_ROW + ROWS) { return; }
  let row = token - FIRST_ROW;
  let part = weight_columns(row, step);
  let factor = SCALE * weight_scale(row, step);
  for (var v = 0u; v < STEP_VECS; v++) {
    let column = step * STEP_VECS + v;
    if (column >= X_STRIDE / 4u) { return; }
    var value = factor * column_of(part, v);
#if POSITIONS
    if (column < POSITION_VECS) { value += positions[position_of(t) * POSITION_VECS + column]; } // the padding stays zero
#endif
    x[t * (X_STRIDE / 4u) + column] = value;
  }
}
