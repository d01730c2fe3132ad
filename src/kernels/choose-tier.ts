/**
 * Which tier this device runs fastest: each candidate multiplies the same matrix a few times. Features decide who is a
 * candidate, timing decides among them; an adapter's name decides nothing. A fallback adapter is a CPU by definition, and
 * slow to compile what only the timing would use, so it takes the tier for CPUs at once.
 */
import { BufferArena } from "../gpu/buffers";
import type { GpuDevice } from "../gpu/device";
import { pipelinesOf, replay } from "../gpu/pipelines";
import type { Tier } from "../gpu/tier";
import { RECORD_BYTES } from "./kernel";
import { gemv } from "./matmul";

const ROWS = 512;
const COLUMNS = 512;
const DISPATCHES = 8;
const ROUNDS = 3;
/** A later candidate must beat an earlier one by this factor: timings are noisy, and one device should keep one tier. */
const MARGIN = 0.8;

export async function chooseTier(gpu: GpuDevice): Promise<Tier> {
  const [first, ...others] = gpu.tiers as [Tier, ...Tier[]]; // there is always "workgroup" and "cpu"
  if (gpu.isFallback) return first;
  const arena = new BufferArena(gpu.device, "tier timing");
  try {
    let best = { tier: first, ms: await timeTier(gpu.device, arena, first) };
    for (const tier of others) {
      const ms = await timeTier(gpu.device, arena, tier);
      if (ms < best.ms * MARGIN) best = { tier, ms };
    }
    return best.tier;
  } finally {
    arena.destroy();
  }
}

/** Milliseconds of the fastest round. */
async function timeTier(device: GPUDevice, arena: BufferArena, tier: Tier): Promise<number> {
  const words = (ROWS * COLUMNS) / 4;
  const dispatch = await gemv(
    { pipelines: pipelinesOf(device), tier },
    {
      label: "tier timing",
      sequences: arena.storage("record", RECORD_BYTES),
      matrix: {
        format: "q8",
        rows: ROWS,
        columns: COLUMNS,
        firstRow: 0,
        weights: arena.storage("weights", words * 4),
        scales: arena.storage("scales", ((ROWS * COLUMNS) / 32 / 2) * 4),
      },
      norm: undefined,
      bias: undefined,
      epilogue: { kind: "store" },
      outputs: ROWS,
      x: arena.storage("x", COLUMNS * 4),
      y: arena.storage("y", ROWS * 4),
    },
  );
  const list = Array.from({ length: DISPATCHES }, () => dispatch);
  let fastest = Infinity;
  // The first round also compiles and fills caches; it is run and not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const began = performance.now();
    const encoder = device.createCommandEncoder({ label: "tier timing" });
    const pass = encoder.beginComputePass({ label: "tier timing" });
    replay(pass, list);
    pass.end();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    if (round > 0) fastest = Math.min(fastest, performance.now() - began);
  }
  return fastest;
}
