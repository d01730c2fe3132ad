/** The sampler's dispatches on buffers that a test writes: one choice, from given logits and tokens. */
import type { BeginOptions, SamplingSettings, StepResult } from "../backends/backend";
import { encodeBreakers, encodeHistory, historyBytes } from "../backends/gpu/history";
import { decodeReport, encodeRecord, REPORT_BYTES, TOP_BYTES } from "../backends/gpu/sequence-record";
import { keptSet, uniform } from "../backends/reference/sampling";
import type { Dispatch } from "../gpu/pipelines";
import type { Reduction } from "../gpu/tier";
import { RECORD_BYTES } from "../kernels/kernel";
import { sampleDispatches, SUMMARY_BYTES, type SamplerBuffers, type SamplerKind } from "../kernels/sampling";
import type { GpuHarness } from "./gpu-harness";
import { samplingSettings } from "./sampling-settings";

export interface Run {
  logits: Float32Array;
  sampling?: Partial<SamplingSettings>;
  promptTokens?: readonly number[];
  answerTokens?: readonly number[];
  endTokenIds?: readonly number[];
  maxNewTokens?: number;
  /** Of the last token there is; the next one is chosen for the position after it. */
  position?: number;
  capacity?: number;
}

/** Positions of the history in tests. */
const PLACES = 1000;

export class Sampler {
  constructor(
    readonly gpu: GpuHarness,
    readonly buffers: SamplerBuffers,
    readonly list: readonly Dispatch[],
    readonly kind: SamplerKind,
  ) {}

  /** Writes what one choice depends on; with a history the position follows from it. */
  begin(run: Run): void {
    const { logits, promptTokens = [], answerTokens = [], capacity = 1e9 } = run;
    const { gpu } = this;
    const { sequences, usage, bias, lookback, vocabSize } = this.buffers;
    const sampling = samplingSettings(run.sampling);
    const options: BeginOptions = {
      sampling,
      promptTokens: Uint32Array.from(promptTokens),
      endTokenIds: run.endTokenIds ?? [],
      maxNewTokens: run.maxNewTokens ?? 1e9,
    };
    const record = new Uint32Array(encodeRecord(options, capacity));
    record[0] = run.position ?? 0;
    gpu.write(this.buffers.logits, logits);
    const used = new Uint32Array(vocabSize);
    if (lookback) {
      record[0] = promptTokens.length + answerTokens.length - 1;
      record[2] = answerTokens.length;
      const history = new Uint32Array(encodeHistory(options, PLACES));
      history.set(answerTokens, 8 + promptTokens.length);
      gpu.write(lookback.history, history);
      gpu.write(lookback.breakers, encodeBreakers(sampling, vocabSize));
    } else {
      for (const id of promptTokens) used[id] = 0x80000000;
      for (const id of answerTokens) used[id] = (used[id] ?? 0) + 1;
    }
    gpu.write(sequences, record);
    gpu.write(usage, used);
    const biases = new Float32Array(vocabSize);
    for (const [id, value] of sampling.logitBias) biases[id] = value;
    gpu.write(bias, biases);
  }

  async step(topCount = 0): Promise<StepResult> {
    this.gpu.run(this.list);
    const report = await this.gpu.words(this.buffers.sequences, 8);
    const bytes = new Uint32Array((REPORT_BYTES + TOP_BYTES) / 4);
    bytes.set(report);
    if (topCount > 0) bytes.set((await this.gpu.words(this.buffers.top)).subarray(0, TOP_BYTES / 4), report.length);
    return decodeReport(bytes.buffer, topCount, this.kind.statistics);
  }

  choose(run: Run): Promise<StepResult> {
    this.begin(run);
    return this.step(run.sampling?.topLogprobs);
  }

  /** Everything that a step may write. */
  async state(): Promise<Uint32Array[]> {
    const { sequences, usage, scores, summaries, top, lookback } = this.buffers;
    const all = [];
    for (const buffer of [sequences, usage, scores, summaries, top]) all.push(await this.gpu.words(buffer));
    if (lookback) all.push(await this.gpu.words(lookback.history), await this.gpu.words(lookback.matches));
    return all;
  }
}

export async function makeSampler(
  gpu: GpuHarness,
  tier: Reduction,
  vocabSize: number,
  { kept, ...wanted }: Partial<SamplerKind> & { kept?: GPUBuffer } = {},
): Promise<Sampler> {
  const context = gpu.context(tier);
  const perId = () => gpu.empty(vocabSize * 4);
  const buffers: SamplerBuffers = {
    sequences: gpu.empty(RECORD_BYTES),
    logits: perId(),
    scores: perId(),
    bias: perId(),
    usage: perId(),
    summaries: gpu.empty(context.tier.logitSlices * SUMMARY_BYTES),
    top: gpu.empty(TOP_BYTES),
    processed: perId(),
    lookback: wanted.lookback
      ? {
          history: gpu.empty(historyBytes(PLACES)),
          breakers: gpu.empty(Math.ceil(vocabSize / 32) * 4),
          matches: perId(),
        }
      : undefined,
    vocabSize,
  };
  const kind = { ...NOTHING, ...wanted };
  return new Sampler(gpu, buffers, await sampleDispatches(context, buffers, kind, kept), kind);
}

const NOTHING = {} as SamplerKind; // what is not named is not wanted

/**
 * The id must be the reference's draw, or one whose share of [0, 1) is within rounding of the same uniform number:
 * running sums of weights are f32 on the GPU.
 *
 * @throws with both numbers
 */
export function expectDraw(
  id: number,
  scores: Float32Array,
  settings: SamplingSettings,
  position: number,
  chance?: number,
): void {
  const { ids, weights } = keptSet(scores, settings, chance);
  const total = weights.reduce((a, b) => a + b);
  const u = uniform(settings.seed[0], settings.seed[1], position);
  const index = ids.indexOf(id);
  const before = weights.subarray(0, index).reduce((a, b) => a + b, 0) / total;
  const after = before + (weights[index] ?? NaN) / total;
  const rounding = 1e-6 + 1e-9 * scores.length;
  if (u >= before - rounding && u <= after + rounding) return;
  throw new Error(`${id} is drawn by ${before} … ${after}, not ${u}`);
}
