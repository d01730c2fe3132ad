// lib/slots: where the KV cache holds a position of one of several sequences (with ROWS): what they have in common lies
// there once.
//
// Needs from the includer:  CAPACITY (positions of the cache)
// Binding 7: slots [ROWS, CAPACITY] u32

@group(0) @binding(7) var<storage, read> slots: array<u32>;

fn slot_of(sequence: u32, position: u32) -> u32 { return slots[sequence * CAPACITY + position]; }
