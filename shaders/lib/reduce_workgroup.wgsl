// lib/reduce_workgroup: the whole workgroup shares one block of rows, through workgroup memory.
//
// Needs from the includer:  WORKGROUP_SIZE, a power of two
// Uses workgroup memory:    16 · WORKGROUP_SIZE bytes
// Contract: every invocation calls, in uniform control flow; all get the result.

/// The workgroup's own id is not in here: as a member it would no longer count as uniform.
struct Invocation {
  @builtin(local_invocation_index) local: u32,
}

/// Blocks of rows are dealt out: first, first + stride, …
fn first_block(at: Invocation) -> u32 { return 0u; }
fn block_stride(at: Invocation) -> u32 { return 1u; }
/// Who shares a block: lane l of n.
fn lane(at: Invocation) -> u32 { return at.local; }
fn lane_count(at: Invocation) -> u32 { return WORKGROUP_SIZE; }
fn lanes_sum(value: vec4f, at: Invocation) -> vec4f { return group_sum(value, at); }

var<workgroup> group_partials: array<vec4f, WORKGROUP_SIZE>;

fn group_sum(value: vec4f, at: Invocation) -> vec4f {
  group_partials[at.local] = value;
  workgroupBarrier();
  for (var half = WORKGROUP_SIZE / 2u; half > 0u; half /= 2u) {
    if (at.local < half) { group_partials[at.local] += group_partials[at.local + half]; }
    workgroupBarrier();
  }
  let total = group_partials[0];
  workgroupBarrier();
  return total;
}

fn group_max(value: f32, at: Invocation) -> f32 {
  group_partials[at.local].x = value;
  workgroupBarrier();
  for (var half = WORKGROUP_SIZE / 2u; half > 0u; half /= 2u) {
    if (at.local < half) {
      group_partials[at.local].x = max(group_partials[at.local].x, group_partials[at.local + half].x);
    }
    workgroupBarrier();
  }
  let total = group_partials[0].x;
  workgroupBarrier();
  return total;
}
