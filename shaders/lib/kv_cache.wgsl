// lib/kv_cache: keys and values of one layer, [KV_HEADS, CAPACITY, HEAD_DIM] each; the only place that knows how they lie.
//
// Needs from the includer:  KV (lib/cache_format), KV_ACCESS (read or read_write), CAPACITY (positions), HEAD_DIM
// Bindings 3 and 4: keys, values.

const HEAD_VECS = HEAD_DIM / 4u;

#include "lib/cache_format.wgsl"
#if KV_ACCESS == read
@group(0) @binding(3) var<storage, read> keys: array<Cached>;
@group(0) @binding(4) var<storage, read> values: array<Cached>;
#else
@group(0) @binding(3) var<storage, read_write> keys: array<Cached>;
@group(0) @binding(4) var<storage, read_write> values: array<Cached>;
#endif

/// Where the vectors of one head at one position begin.
fn cache_index(kv_head: u32, position: u32) -> u32 { return (kv_head * CAPACITY + position) * HEAD_VECS; }
fn load_key4(index: u32) -> vec4f { return from_cache(keys[index]); }
fn load_value4(index: u32) -> vec4f { return from_cache(values[index]); }
#if KV_ACCESS == read_write
fn store_key4(index: u32, value: vec4f) { keys[index] = to_cache(value); }
fn store_value4(index: u32, value: vec4f) { values[index] = to_cache(value); }
#endif
