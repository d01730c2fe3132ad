// lib/cache_format: how a vector of four numbers is held in the KV cache.
//
//   KV == f32   four floats        KV == f16   four half floats in two words

#if KV == f16
#include "lib/half.wgsl"
alias Cached = vec2u;
fn from_cache(words: Cached) -> vec4f { return vec4f(unpack_half2(words.x), unpack_half2(words.y)); }
fn to_cache(value: vec4f) -> Cached { return vec2u(pack_half2(value.xy), pack_half2(value.zw)); }
#else
alias Cached = vec4f;
fn from_cache(value: Cached) -> vec4f { return value; }
fn to_cache(value: vec4f) -> Cached { return value; }
#endif
/// What a later step will read of this value: what is computed of the newest position must not differ from that.
fn as_cached(value: vec4f) -> vec4f { return from_cache(to_cache(value)); }
