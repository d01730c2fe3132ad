// lib/activation: the nonlinearity of the MLP, chosen by ACTIVATION.
//
//   silu(x)       x / (1 + e^−x)
//   gelu(x)       x/2 · (1 + erf(x/√2)); erf by Abramowitz & Stegun 7.1.26, absolute error ≤ 1.5e-7
//   gelu_tanh(x)  x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)));  the argument is clamped, some drivers' tanh is NaN beyond ~45

fn activate(x: f32) -> f32 {
#if ACTIVATION == silu
  return x / (1.0 + exp(-x));
#endif
#if ACTIVATION == gelu
  let z = abs(x) * 0.70710678118654752;
  let t = 1.0 / (1.0 + 0.3275911 * z);
  let tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * exp(-z * z);
  return 0.5 * x * (1.0 + sign(x) * (1.0 - tail));
#endif
#if ACTIVATION == gelu_tanh
  let inner = clamp(0.79788456080286536 * (x + 0.044715 * x * x * x), -15.0, 15.0);
  return 0.5 * x * (1.0 + tanh(inner));
#endif
}
