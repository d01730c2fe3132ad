// lib/step_prefill: a chunk of a prompt; row t is token t of the chunk, at position start + t.
//
// Binding 0: the chunk, read-only; written by the host before each prefill submit.

struct Chunk {
  start: u32,
  rows: u32,
  reserved_0: u32,
  reserved_1: u32,
  tokens: array<u32>,
}
@group(0) @binding(0) var<storage, read> chunk: Chunk;

fn step_is_over(row: u32) -> bool { return row >= chunk.rows; }
fn token_of(row: u32) -> u32 { return chunk.tokens[row]; }
fn position_of(row: u32) -> u32 { return chunk.start + row; }
