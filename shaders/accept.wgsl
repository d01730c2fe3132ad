// accept: whether the token just chosen is the draft that the chunk's next row was computed with; else the sequence pauses.
//
//   row  = position − start           of the token chosen last
//   done = PAUSED  where row is in the chunk and tokens[row] ≠ token
//
//   sequences  see lib/sequence; the host ends the pause once the reports are read
//
// Grid:      one invocation.

#include "lib/step_prefill.wgsl"
#include "lib/sequence.wgsl"
@group(0) @binding(1) var<storage, read_write> sequences: array<Sequence>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main() {
  if (sequences[0].done != 0u) { return; }
  let row = sequences[0].position - chunk.start;
  if (!step_is_over(row) && token_of(row) != sequences[0].token) { sequences[0].done = PAUSED; }
}
