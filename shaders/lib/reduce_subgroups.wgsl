// lib/reduce_subgroups: a subgroup shares one block of rows; no size of it is assumed.
//
// Needs from the includer:  WORKGROUP_SIZE
// Uses workgroup memory:    16 · WORKGROUP_SIZE / 4 bytes (subgroups have at least 4 invocations)
// Contract: lanes_* are called by whole subgroups; group_* by every invocation, in uniform control flow.

/// The workgroup's own id is not in here: as a member it would no longer count as uniform.
struct Invocation {
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
  @builtin(subgroup_size) subgroup_width: u32,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(num_subgroups) subgroups: u32,
}

/// Blocks of rows are dealt out: first, first + stride, …
fn first_block(at: Invocation) -> u32 { return at.subgroup; }
fn block_stride(at: Invocation) -> u32 { return at.subgroups; }
/// Who shares a block: lane l of n.
fn lane(at: Invocation) -> u32 { return at.subgroup_lane; }
fn lane_count(at: Invocation) -> u32 { return at.subgroup_width; }
fn lanes_sum(value: vec4f, at: Invocation) -> vec4f { return subgroupAdd(value); }

var<workgroup> group_partials: array<vec4f, (WORKGROUP_SIZE + 3u) / 4u>;

fn group_sum(value: vec4f, at: Invocation) -> vec4f {
  let sum = subgroupAdd(value);
  if (at.subgroup_lane == 0u) { group_partials[at.subgroup] = sum; }
  workgroupBarrier();
  var total = group_partials[0];
  for (var i = 1u; i < at.subgroups; i++) { total += group_partials[i]; }
  workgroupBarrier();
  return total;
}

fn group_max(value: f32, at: Invocation) -> f32 {
  let largest = subgroupMax(value);
  if (at.subgroup_lane == 0u) { group_partials[at.subgroup].x = largest; }
  workgroupBarrier();
  var total = group_partials[0].x;
  for (var i = 1u; i < at.subgroups; i++) { total = max(total, group_partials[i].x); }
  workgroupBarrier();
  return total;
}
