// lib/reduce_cpu: each invocation has rows of its own, so sums over a row need no other invocation.
// For adapters that are a CPU, where a barrier costs more than the work it would share.
//
// Needs from the includer:  WORKGROUP_SIZE (4: one SIMD register of the software driver)
// Uses workgroup memory:    16 · WORKGROUP_SIZE bytes, only if group_* are called
// Contract: group_* are called by every invocation, in uniform control flow; all get the result.

/// The workgroup's own id is not in here: as a member it would no longer count as uniform.
struct Invocation {
  @builtin(local_invocation_index) local: u32,
#if QUADS
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
#endif
}

/// Blocks of rows are dealt out: first, first + stride, …
fn first_block(at: Invocation) -> u32 { return at.local; }
fn block_stride(at: Invocation) -> u32 { return WORKGROUP_SIZE; }
/// Who shares a block: lane l of n.
fn lane(at: Invocation) -> u32 { return 0u; }
fn lane_count(at: Invocation) -> u32 { return 1u; }
fn lanes_sum(value: vec4f, at: Invocation) -> vec4f { return value; }

// With QUADS the four invocations of a quad, always four in a row, read for each other: a driver for CPUs loads a
// vector lane by lane even where all lanes want the same. They must all be there, in uniform control flow.
#if QUADS
fn quad_lane(at: Invocation) -> u32 { return at.subgroup_lane & 3u; }
fn quad_sum(value: f32) -> f32 {
  let pair = value + quadSwapX(value);
  return pair + quadSwapY(pair);
}
#endif

var<workgroup> group_partials: array<vec4f, WORKGROUP_SIZE>;

fn group_sum(value: vec4f, at: Invocation) -> vec4f {
  group_partials[at.local] = value;
  workgroupBarrier();
  var total = group_partials[0];
  for (var i = 1u; i < WORKGROUP_SIZE; i++) { total += group_partials[i]; }
  workgroupBarrier();
  return total;
}

fn group_max(value: f32, at: Invocation) -> f32 {
  group_partials[at.local].x = value;
  workgroupBarrier();
  var total = group_partials[0].x;
  for (var i = 1u; i < WORKGROUP_SIZE; i++) { total = max(total, group_partials[i].x); }
  workgroupBarrier();
  return total;
}
