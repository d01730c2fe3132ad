// lib/step_decode: one token per sequence; which one and where stands in the sequence's record.
//
// Binding 0: sequences, read-only (so that a branch on it is uniform and barriers may follow).

#include "lib/sequence.wgsl"
@group(0) @binding(0) var<storage, read> sequences: array<Sequence>;

fn step_is_over(row: u32) -> bool { return sequences[row].done != 0u; }
fn token_of(row: u32) -> u32 { return sequences[row].token; }
fn position_of(row: u32) -> u32 { return sequences[row].position; }
