// attention_combine: the splits of attention_decode made one, by an online softmax over their maxima.
//
//   M = max_s m_s;   y[h] = Σ_s exp(m_s − M) · partial_s / Σ_s exp(m_s − M) · l_s
//
//   partials  [HEADS, SPLITS, HEAD_DIM + 4]  f32, from attention_decode
//   y         [HEADS, HEAD_DIM]              f32
//
// Grid:      one invocation per vector of 4 of y; z = row, with ROWS.
// Source:    Milakov & Gimelshein 2018, eq. 4.

#include "lib/reduce_$REDUCE.wgsl"
#include "lib/step_decode.wgsl"
#if ROWS
#include "lib/rows.wgsl"
#endif
#rows step_is_over(0u) -> step_is_over(workgroup.z)
#rows partials[ -> partials[row * HEADS * SPLITS * (HEAD_VECS + 1u) +
#rows y[ -> y[row * Y_VECS +
@group(0) @binding(3) var<storage, read> partials: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;

const HEAD_VECS = HEAD_DIM / 4u;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup: vec3u, at: Invocation) {
#if ROWS
  row = workgroup.z;
#endif
  let index = workgroup.x * WORKGROUP_SIZE + at.local;
  if (step_is_over(0u) || index >= HEADS * HEAD_VECS) { return; }
  let first = (index / HEAD_VECS) * SPLITS * (HEAD_VECS + 1u);
  let v = index % HEAD_VECS;
  var largest = partials[first + HEAD_VECS].x;
  for (var s = 1u; s < SPLITS; s++) { largest = max(largest, partials[first + s * (HEAD_VECS + 1u) + HEAD_VECS].x); }
  var value = vec4f(0.0);
  var weights = 0.0;
  for (var s = 0u; s < SPLITS; s++) {
    let split = first + s * (HEAD_VECS + 1u);
    let factor = exp(partials[split + HEAD_VECS].x - largest);
    value += factor * partials[split + v];
    weights += factor * partials[split + HEAD_VECS].y;
  }
  y[index] = value / weights;
}
