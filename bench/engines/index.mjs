// The rows. Each names an adapter file of this folder and its options. `group` is the width of the weights it computes
// with: ratios and ids are compared within a group. `judges`: whose ids the group's other rows must give.

// ONNX Runtime's subgroup FlashAttention (prefill of 32 tokens and more) is wrong on adapters whose subgroups are
// narrower than 16 lanes, as both software adapters' are; without the features it takes another shader, which is right.
// The "-sg" rows leave the features on.
const hideFeatures = ["subgroups", "subgroup-size-control"];

const inPage = (id, engine, backend, group, options, more = {}) => ({
  id,
  engine,
  host: "page",
  backend,
  group,
  options,
  ...more,
});
const wordloom = (name, group, options) => inPage(`wordloom-${name}`, "wordloom", "webgpu", group, options);
/** With the kernels that real GPUs get, whatever the adapter. */
const wordloomTier = (name, group, tier, options) =>
  inPage(`wordloom-${name}-${tier.replace("+", "-")}`, "wordloom", "webgpu", group, { ...options, tier });
const transformers = (name, group, options, more) =>
  inPage(`tjs-${name}`, "transformersjs", options.device, group, options, more);
const wllama = (name, group, options) =>
  inPage(`wllama-${name}`, "wllama", options.gpu ? "webgpu" : "wasm", group, options);
const llamaCpp = (name, group, options) => ({
  id: `llamacpp-cpu-${name}`,
  engine: "node-llama-cpp",
  host: "node",
  backend: "cpu",
  group,
  judges: group,
  options: { threads: 2, ...options },
});

const F32 = { dtype: "f32" };
const Q8 = { file: "model-Q8_0.gguf", dtype: "auto" };
const Q4 = { file: "model-Q4_0.gguf", dtype: "auto" };

export const ROWS = [
  // llama.cpp on the CPU says which ids are right.
  llamaCpp("f32", "full", { file: "model-F32.gguf", kv: "F32" }),
  llamaCpp("q8_0", "q8", { file: "model-Q8_0.gguf" }),
  llamaCpp("q4_0", "q4", { file: "model-Q4_0.gguf" }),

  // WebGPU, in Chromium.
  wordloom("f32", "full", F32),
  wordloom("q8_0", "q8", Q8),
  wordloom("q4_0", "q4", Q4),
  transformers("webgpu-fp32", "full", { device: "webgpu", dtype: "fp32" }, { hideFeatures }),
  transformers("webgpu-q4", "q4", { device: "webgpu", dtype: "q4" }, { hideFeatures }),
  wllama("webgpu-f32", "full", { file: "model-F32.gguf", gpu: true }),
  wllama("webgpu-q8_0", "q8", { file: "model-Q8_0.gguf", gpu: true }),
  wllama("webgpu-q4_0", "q4", { file: "model-Q4_0.gguf", gpu: true }),
];

/** Not part of "all": asked for by name. */
export const MORE_ROWS = [
  ...["workgroup", "subgroups", "workgroup+f16", "subgroups+f16"].flatMap((tier) => [
    wordloomTier("f32", "full", tier, F32),
    wordloomTier("q8_0", "q8", tier, Q8),
    wordloomTier("q4_0", "q4", tier, Q4),
  ]),
  transformers("webgpu-fp32-sg", "full", { device: "webgpu", dtype: "fp32" }),
  transformers("webgpu-q4-sg", "q4", { device: "webgpu", dtype: "q4" }),
  transformers("wasm-fp32", "full", { device: "wasm", dtype: "fp32", threads: 2 }),
  transformers("wasm-q4", "q4", { device: "wasm", dtype: "q4", threads: 2 }),
  wllama("wasm-q8_0", "q8", { file: "model-Q8_0.gguf", gpu: false, threads: 2 }),
  wllama("wasm-q4_0", "q4", { file: "model-Q4_0.gguf", gpu: false, threads: 2 }),
];
