// lib/softcap: numbers kept within ±SOFTCAP, those near 0 almost as they are.
//
//   softcapped(x) = SOFTCAP · tanh(x / SOFTCAP);  the argument is clamped, some drivers' tanh is NaN beyond ~45
//
// Needs from the includer:  SOFTCAP
// Source: Gemma Team 2024, "Gemma 2", sec. 2.

fn softcapped(x: f32) -> f32 { return SOFTCAP * tanh(clamp(x / SOFTCAP, -15.0, 15.0)); }
