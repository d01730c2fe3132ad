/** What one decode step asks of WebGPU, by counting; for tests in a browser. */
import { expect } from "vitest";
import type { GenerateOptions, TextGenerator } from "../index";
import { countGpuCalls, countsSince, type GpuCounts } from "./gpu-counts";

const STEPS = 12;
const GREEDY: GenerateOptions = { temperature: 0 };
const SAMPLED: GenerateOptions = {
  temperature: 0.8,
  topP: 0.95,
  topK: 50,
  seed: 3,
  repetitionPenalty: 1.1,
  frequencyPenalty: 0.2,
  topLogprobs: 20,
};

/** The calls of a whole answer. */
async function countAnswer(generator: TextGenerator, options: GenerateOptions): Promise<GpuCounts> {
  const { counts, stop } = countGpuCalls();
  try {
    const run = generator.generate([5, 6, 7], { reusePrefix: false, ignoreEos: true, ...options });
    expect((await run.end).usage.completionTokens).toBe(options.maxNewTokens);
    return counts;
  } finally {
    stop();
  }
}

/**
 * One submit, one pass, one small readback a step; nothing made, nothing written; at most 6 dispatches a layer and 6 more
 * (greedy) or 10 more (everything on).
 *
 * @param generator on this thread
 */
export async function expectLeanSteps(generator: TextGenerator): Promise<void> {
  const { layerCount } = generator.info;
  for (const [options, more] of [
    [GREEDY, 6],
    [SAMPLED, 10],
  ] as const) {
    await countAnswer(generator, { ...options, maxNewTokens: 1 }); // a way to sample may be compiled at its first use
    const short = await countAnswer(generator, { ...options, maxNewTokens: 4 });
    const long = await countAnswer(generator, { ...options, maxNewTokens: 4 + STEPS });
    const steps = countsSince(short, long);
    expect(steps).toMatchObject({ submit: STEPS, mapAsync: STEPS, computePass: STEPS, writeBuffer: 0 });
    expect(steps.mappedBytes / STEPS).toBeLessThanOrEqual(256);
    expect(steps.dispatch % STEPS).toBe(0);
    expect(steps.dispatch / STEPS).toBeLessThanOrEqual(6 * layerCount + more);
    const made = { createBuffer: 0, createBindGroup: 0, createPipeline: 0, createShaderModule: 0 };
    expect(long).toMatchObject(made);
    expect(short).toMatchObject(made);
  }
}
