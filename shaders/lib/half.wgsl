// lib/half: two half floats in one u32, low half first.
//
// HALF == native   by the language's f16 (needs `enable f16`, feature shader-f16)
// HALF == packed   by pack2x16float / unpack2x16float, in every WebGPU
// Both round to nearest; values beyond ±65504 are clamped, since an infinity in a cache would never leave it.

#if HALF == native
fn unpack_half2(word: u32) -> vec2f { return vec2f(bitcast<vec2<f16>>(word)); }
fn pack_half2(value: vec2f) -> u32 { return bitcast<u32>(vec2<f16>(clamp(value, vec2f(-65504.0), vec2f(65504.0)))); }
#else
fn unpack_half2(word: u32) -> vec2f { return unpack2x16float(word); }
fn pack_half2(value: vec2f) -> u32 { return pack2x16float(clamp(value, vec2f(-65504.0), vec2f(65504.0))); }
#endif
