// Checkpoint shapes. Everything downstream (weights, files, prompts) derives from these.
export const SHAPES = {
  tiny: {
    hidden: 256,
    layers: 8,
    heads: 8,
    kvHeads: 4,
    ffn: 704,
    vocab: 4096,
    ropeTheta: 10000,
    eps: 1e-5,
    maxPos: 2048,
    dtype: "f32",
    std: 0.05,
    seed: 4,
  },
  smollm135: {
    hidden: 576,
    layers: 30,
    heads: 9,
    kvHeads: 3,
    ffn: 1536,
    vocab: 49152,
    ropeTheta: 100000,
    eps: 1e-5,
    maxPos: 2048,
    dtype: "bf16",
    std: 0.04,
    seed: 20261130,
    prompts: [0, 6, 9, 10, 16], // prompt numbers whose first 24 greedy tokens have no near ties
  },
};

export function shapeOf(name, over = {}) {
  const base = SHAPES[name];
  if (!base) throw new Error(`unknown shape ${name}; have ${Object.keys(SHAPES).join(", ")}`);
  const s = { name, ...base, ...over };
  s.headDim = s.hidden / s.heads;
  return s;
}
