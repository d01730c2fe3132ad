// lib/kv_cache: keys and values of one layer, [KV_HEADS, CAPACITY, HEAD_DIM] each; the only place that knows how they lie.
//
//   KV == f32   four floats        KV == f16   four half floats in two words
//
// Needs from the includer:  KV_ACCESS (read or read_write), CAPACITY (positions), HEAD_VECS = HEAD_DIM / 4
// Bindings 3 and 4: keys, values.

const HEAD_VECS = HEAD_DIM / 4u;

#if KV == f16
#include "lib/half.wgsl"
#if KV_ACCESS == read
@group(0) @binding(3) var<storage, read> keys: array<vec2u>;
@group(0) @binding(4) var<storage, read> values: array<vec2u>;
#else
@group(0) @binding(3) var<storage, read_write> keys: array<vec2u>;
@group(0) @binding(4) var<storage, read_write> values: array<vec2u>;
#endif
fn from_cache(words: vec2u) -> vec4f { return vec4f(unpack_half2(words.x), unpack_half2(words.y)); }
fn to_cache(value: vec4f) -> vec2u { return vec2u(pack_half2(value.xy), pack_half2(value.zw)); }
#else
#if KV_ACCESS == read
@group(0) @binding(3) var<storage, read> keys: array<vec4f>;
@group(0) @binding(4) var<storage, read> values: array<vec4f>;
#else
@group(0) @binding(3) var<storage, read_write> keys: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> values: array<vec4f>;
#endif
fn from_cache(value: vec4f) -> vec4f { return value; }
fn to_cache(value: vec4f) -> vec4f { return value; }
#endif

/// Where the vectors of one head at one position begin.
fn cache_index(kv_head: u32, position: u32) -> u32 { return (kv_head * CAPACITY + position) * HEAD_VECS; }
fn load_key4(index: u32) -> vec4f { return from_cache(keys[index]); }
fn load_value4(index: u32) -> vec4f { return from_cache(values[index]); }
#if KV_ACCESS == read_write
fn store_key4(index: u32, value: vec4f) { keys[index] = to_cache(value); }
fn store_value4(index: u32, value: vec4f) { values[index] = to_cache(value); }
/// What a later step will read of this value: attention to the newest position must not differ from that.
fn as_cached(value: vec4f) -> vec4f { return from_cache(to_cache(value)); }
#endif
