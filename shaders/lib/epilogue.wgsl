// lib/epilogue: what happens to a finished matrix product before it is stored.
//
//   EPILOGUE == store        y[t, r]  = v
//   EPILOGUE == residual     y[t, r] += v
//   EPILOGUE == activation   y[t, r]  = activate(v)
//   EPILOGUE == gated        y[t, r]  = activate(gate) · up;   the matrix holds all gate rows, then all up rows
// with v = product + bias[r] where BIAS is defined; but for the gated, v = SCALE · that where SCALED is defined, and then
// softcapped where SOFTCAP is.
//
// Needs from the includer:  N (outputs), Y_STRIDE (row of y), Y_OFFSET (first output within y's row), BIAS_ROWS
//                           (rows of the whole gate part, where `up`'s biases begin)
// Binding 5: bias (with BIAS). Binding 6: y.

#if BIAS
@group(0) @binding(5) var<storage, read> bias: array<f32>;
#endif
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

#if EPILOGUE == gated
#include "lib/activation.wgsl"
fn finish_gated(t: u32, r: u32, gate_product: f32, up_product: f32) {
  var gate = gate_product;
  var up = up_product;
#if BIAS
  gate += bias[Y_OFFSET + r];
  up += bias[BIAS_ROWS + Y_OFFSET + r];
#endif
  y[t * Y_STRIDE + Y_OFFSET + r] = activate(gate) * up;
}
#else
#if EPILOGUE == activation
#include "lib/activation.wgsl"
#endif
#if SOFTCAP
#include "lib/softcap.wgsl"
#endif
fn finish(t: u32, r: u32, product: f32) {
  var value = product;
#if BIAS
  value += bias[Y_OFFSET + r];
#endif
#if SCALED
  value *= SCALE;
#endif
#if SOFTCAP
  value = softcapped(value);
#endif
  let index = t * Y_STRIDE + Y_OFFSET + r;
#if EPILOGUE == residual
  y[index] += value;
#else
#if EPILOGUE == activation
  y[index] = activate(value);
#else
  y[index] = value;
#endif
#endif
}
#endif
