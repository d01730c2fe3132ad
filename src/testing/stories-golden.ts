/** The float32 values of stories260k's golden.json, and the check against them. Runs in Node and in browsers. */
import { expect } from "vitest";
import type { Backend } from "../backends/backend";
import { greedyRun } from "./golden-run";

/** Part of golden.json, as its provenance describes it. */
export interface StoriesGolden {
  files: {
    F32: {
      greedy: { prompt: string; prompt_ids: number[]; ids: number[]; ids_f64?: number[]; min_margin_f64: number }[];
      distributions: { ids: number[]; top20_f64: [id: number, logprob: number][] }[];
    };
  };
}

/** @param tolerance in nats, of the twenty likeliest; where a path is closer than twice that, its ids prove nothing */
export async function expectStories(backend: Backend, golden: StoriesGolden, tolerance: number): Promise<void> {
  const { greedy, distributions } = golden.files.F32;
  expect(greedy).toHaveLength(8);
  expect(distributions).toHaveLength(14);
  for (const { ids, top20_f64 } of distributions) {
    const { logprobs } = await greedyRun(backend, ids, 1);
    for (const [id, logprob] of top20_f64) {
      const difference = Math.abs((logprobs[id] ?? NaN) - logprob);
      expect(difference, `token ${id} after ${ids.length} ids`).toBeLessThan(tolerance);
    }
  }
  let compared = 0;
  for (const { prompt_ids, ids, ids_f64, min_margin_f64 } of greedy) {
    if (min_margin_f64 < 2 * tolerance) continue;
    const wanted = ids_f64 ?? ids;
    expect((await greedyRun(backend, prompt_ids, wanted.length)).ids, `after ${prompt_ids.join()}`).toEqual(wanted);
    compared++;
  }
  expect(compared, "paths whose margin allows a comparison").toBeGreaterThan(0);
}
