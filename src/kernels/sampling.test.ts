import { expect, test } from "vitest";
import type { KernelSource, PipelineCache } from "../gpu/pipelines";
import { makeTier } from "../gpu/tier";
import { sampleDispatches, type SamplerBuffers, type SamplerKind } from "./sampling";

const PLAIN = {} as SamplerKind; // what is not named is not wanted

/** What is recorded, with the defines that are switched on. */
async function recorded(kind: Partial<SamplerKind>): Promise<string[]> {
  const list: string[] = [];
  const pipelines = {
    dispatch: async (label: string, { defines }: KernelSource) => {
      const on = Object.entries(defines).filter(([name, value]) => value === true && name !== "F16");
      list.push([label, ...on.map(([name]) => name)].join(" "));
    },
  } as unknown as PipelineCache; // of the cache only this is asked
  const buffer = { size: 1e6 } as GPUBuffer;
  const all = { sequences: buffer, logits: buffer, scores: buffer, bias: buffer, usage: buffer, summaries: buffer };
  const lookback = { history: buffer, breakers: buffer, matches: buffer };
  const buffers: SamplerBuffers = { ...all, top: buffer, lookback, processed: buffer, vocabSize: 100 };
  await sampleDispatches({ pipelines, tier: makeTier("cpu", false) }, buffers, { ...PLAIN, ...kind });
  return list;
}

test.each<[string, Partial<SamplerKind>, string[]]>([
  ["the plain one", {}, ["logits_reduce", "sample"]],
  [
    "biases and penalties",
    { adjusted: true, top: true },
    ["logits_adjust", "logits_reduce ADJUSTED", "logits_top", "sample ADJUSTED"],
  ],
  ["a cut by shape", { shaped: true }, ["logits_reduce", "sample SHAPED"]],
  ["statistics", { statistics: true }, ["logits_reduce", "sample STATISTICS"]],
  ["processed logits", { processed: true }, ["logits_adjust", "logits_reduce ADJUSTED", "sample ADJUSTED"]],
  [
    "looking back",
    { lookback: true },
    ["history_scan", "logits_adjust HISTORY", "logits_reduce ADJUSTED", "sample ADJUSTED HISTORY"],
  ],
])("%s: what is dispatched for it, and nothing of what others want", async (_, kind, expected) => {
  expect(await recorded(kind)).toEqual(expected);
});
