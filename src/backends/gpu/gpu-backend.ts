/**
 * The GPU backend: a decoder's operations fused, compiled and replayed on WebGPU.
 *
 * A decode step is one compute pass, one submit and one small copy: nothing is made, and nothing is written by the
 * host. What changes from step to step stands in the sequence's record (sequence-record.ts), which the last kernel updates.
 */
import { WordloomError } from "../../errors";
import { onDemand, ownModule } from "../../own-module";
import { BufferArena } from "../../gpu/buffers";
import { countingDevice } from "../../gpu/counting-device";
import { openDevice, requireTier, type GpuDevice } from "../../gpu/device";
import { pipelinesOf, replay, type Dispatch } from "../../gpu/pipelines";
import { ReadbackRing } from "../../gpu/readback-ring";
import type { Tier } from "../../gpu/tier";
import { chooseTier } from "../../kernels/choose-tier";
import { paddedWidth, RECORD_BYTES, type KernelContext } from "../../kernels/kernel";
import {
  HISTORY_HEADER_BYTES,
  sampleDispatches,
  SUMMARY_BYTES,
  type SamplerBuffers,
  type SamplerKind,
} from "../../kernels/sampling";
import type { DecoderSpec, TensorName } from "../../models/decoder-spec";
import type { DecoderProgram } from "../../models/operations";
import {
  MAX_END_TOKENS,
  NOTHING_CHOSEN,
  type Backend,
  type BackendFacts,
  type BeginOptions,
  type BeginRowsOptions,
  type HeldDtype,
  type Pooling,
  type ScoredRows,
  type StepResult,
} from "../backend";
import { cacheLayout, type CacheLayout } from "../cache-layout";
import type { CacheCopier } from "./cache-copier";
import { fuse } from "./fuse";
import { encodeBreakers, encodeHistory, historyBytes } from "./history";
import { publishedFormats, weightBytes } from "./held-formats";
import { makePlan, type Plan, type PlanRequest } from "./plan";
import { headOf, Recorder } from "./recording";
import type { RowBatch, RowBatchOptions } from "./row-batch";
import { kindOf, nameOf, PLAIN } from "./sampler-kind";
import type { Scorer } from "./scorer";
import { decodeReport, encodeRecord, POSITION_OFFSET, REPORT_BYTES, TOP_BYTES } from "./sequence-record";
import type { Verifier } from "./verifier";
import { WeightStore } from "./weight-store";

export interface GpuBackendOptions extends Omit<PlanRequest, "published"> {
  spec: DecoderSpec;
  program: DecoderProgram;
  /** How the file holds matrices, where that is a format that can be held; "auto" takes them so. */
  fileFormats?: ReadonlyMap<TensorName, HeldDtype> | undefined;
  /** Default: one is requested. */
  device?: GPUDevice | undefined;
  powerPreference?: GPUPowerPreference | undefined;
  /** Forces a tier by name (tests, benches); default: the fastest that runs here. */
  tier?: string | undefined;
  /** Pretends that one binding allows no more (tests of splitting). */
  maxBindingBytes?: number | undefined;
}

/** Steps that may be in flight at once, with slots of the ring to spare. */
const MAX_IN_FLIGHT = 6;
const RUN_AHEAD = 2;
/** A chunk's header: start, rows, two reserved words (shaders/lib/step_prefill.wgsl). */
const CHUNK_HEADER_WORDS = 4;

/** @throws webgpu-unavailable, device-limit, out-of-memory, option-invalid */
export async function createGpuBackend(options: GpuBackendOptions): Promise<Backend> {
  const gpu = await openDevice(options);
  try {
    const tier = options.tier === undefined ? await chooseTier(gpu) : requireTier(gpu, options.tier);
    const backend = new GpuBackend(gpu, tier, await reserving(gpu, tier, options));
    // What does not fit this device is known now, before a weight is fetched; compiling goes on meanwhile.
    await backend.allocated();
    return backend;
  } catch (error) {
    // What fails on a device that is just being lost fails for that reason, which follows at once.
    const isRefusal = error instanceof WordloomError && error.code !== "kernel-failed";
    const loss = isRefusal ? undefined : await Promise.race([gpu.lost, graceForLoss()]);
    gpu.close();
    throw loss ?? error;
  }
}

/** The facts of a backend made on a device that only counts (gpu/counting-device.ts). */
export async function measureGpuBackend(gpu: GpuDevice, tier: Tier, options: GpuBackendOptions): Promise<BackendFacts> {
  const backend = new GpuBackend(gpu, tier, await reserving(gpu, tier, options));
  try {
    await backend.allocated();
    return backend.facts;
  } finally {
    await backend.dispose();
  }
}

/** A budget is for everything: what is neither matrices nor KV cache is counted first, with the most positions. */
async function reserving(gpu: GpuDevice, tier: Tier, options: GpuBackendOptions): Promise<GpuBackendOptions> {
  if (options.memoryBudgetBytes === undefined) return options;
  const counting = countingDevice(gpu, { maxBufferSize: Infinity, maxBindingBytes: gpu.maxBindingBytes });
  const backend = new GpuBackend(counting, tier, { ...options, memoryBudgetBytes: undefined });
  await backend.dispose();
  return { ...options, reservedBytes: backend.reservedBytes };
}

/** Recorded lists of one step. */
interface Recording {
  decodeBody: readonly Dispatch[];
  prefillBody: readonly Dispatch[];
  head: readonly Dispatch[];
}

/** What the run under way samples with. */
interface Sampling extends Pick<BeginOptions, "processLogits" | "allowedTokens"> {
  list: readonly Dispatch[];
  topCount: number;
  tokenStatistics: boolean;
  /** Whether the sampler reads the tokens from their history. */
  looksBack: boolean;
  promptLength: number;
  last: StepResult | undefined;
}

class GpuBackend implements Backend {
  readonly runAhead = RUN_AHEAD;
  readonly maxPrefillTokens: number;
  readonly cacheLayout: CacheLayout;
  readonly weights: WeightStore;
  readonly lost: Promise<Error>;
  readonly #gpu: GpuDevice;
  readonly #device: GPUDevice;
  readonly #tier: Tier;
  readonly #plan: Plan;
  /** Bytes of everything that is neither a matrix nor KV cache. */
  readonly reservedBytes: number;
  readonly #arenas: { weights: BufferArena; cache: BufferArena; work: BufferArena };
  readonly #vocabSize: number;
  readonly #sequences: GPUBuffer;
  readonly #chunk: GPUBuffer;
  readonly #logits: GPUBuffer;
  readonly #sampler: SamplerBuffers;
  readonly #x: { decode: GPUBuffer; prefill: GPUBuffer; rowBytes: number };
  readonly #ring: ReadbackRing;
  readonly #recording: Promise<Recording>;
  /** These come with the first run that needs them. */
  readonly #scorer: () => Promise<Scorer>;
  readonly #verifier: () => Promise<Verifier>;
  readonly #cache: () => Promise<CacheCopier>;
  readonly #batchOptions: RowBatchOptions;
  /** Of the number of answers that was asked for last. */
  #batch: RowBatch | undefined;
  /** Rejects everything pending on `dispose` and on a lost device. */
  readonly #ended: Promise<never>;
  #end: (error: WordloomError) => void = () => undefined;
  #failure: WordloomError | undefined;
  #ready: Recording | undefined;
  readonly #kernels: KernelContext;
  #samplers = new Map<string, readonly Dispatch[]>();
  #sampling: Sampling | undefined;
  /** The logits on their way to the caller's own processor; made when one is first used. */
  #logitsStaging: GPUBuffer | undefined;

  constructor(gpu: GpuDevice, tier: Tier, options: GpuBackendOptions) {
    const { spec, program } = options;
    const { device } = gpu;
    const body = fuse(program.body);
    const head = headOf(fuse(program.head));
    const maxBindingBytes = Math.min(gpu.maxBindingBytes, options.maxBindingBytes ?? Infinity);
    const matrices = [
      ...[...body, head].flatMap((operation) => (operation.kind === "matmul" ? [operation.matrix] : [])),
      { weights: [{ name: "token_embedding", rows: spec.vocabSize }], columns: spec.hiddenSize, gated: false },
    ];
    const published = publishedFormats(matrices, options.fileFormats ?? new Map());
    const bytesAs = (dtype: HeldDtype) => weightBytes(matrices, () => dtype);
    this.#plan = makePlan(spec, { ...options, published }, bytesAs, maxBindingBytes);
    this.#gpu = gpu;
    this.#device = device;
    this.#tier = tier;
    this.#vocabSize = spec.vocabSize;
    this.lost = gpu.lost;
    this.#ended = new Promise((_, reject) => {
      this.#end = (error) => {
        this.#failure ??= error;
        reject(error);
      };
    });
    this.#ended.catch(() => undefined); // whoever waits for something is told; nobody waiting is no fault
    gpu.onError = (error) => this.#end(error);
    void gpu.lost.then((error) => this.#end(error));

    const arenas = {
      weights: new BufferArena(device, "weights"),
      cache: new BufferArena(device, "kv cache"),
      work: new BufferArena(device, "work"),
    };
    this.#arenas = arenas;
    const { work } = arenas;
    this.maxPrefillTokens = Math.min(tier.prefillRows, this.#plan.contextLength);
    this.#sequences = work.storage("sequence record", RECORD_BYTES);
    this.#chunk = work.storage("chunk", (CHUNK_HEADER_WORDS + this.maxPrefillTokens) * 4);
    this.#ring = new ReadbackRing(work, MAX_IN_FLIGHT + 2, REPORT_BYTES + TOP_BYTES);
    this.weights = new WeightStore(device, arenas.weights, spec, this.#plan.formatOf, maxBindingBytes);

    const kernels: KernelContext = { pipelines: pipelinesOf(device), tier };
    const recorder = new Recorder(
      {
        kernels,
        device,
        work,
        cache: arenas.cache,
        weights: this.weights,
        kvFormat: this.#plan.kvDtype,
        contextLength: this.#plan.contextLength,
      },
      this.#sequences,
      this.#chunk,
      this.maxPrefillTokens,
    );
    this.#x = {
      decode: recorder.decodeValues.get("x", spec.hiddenSize),
      prefill: recorder.prefillValues.get("x", spec.hiddenSize),
      rowBytes: paddedWidth(spec.hiddenSize) * 4,
    };
    this.#logits = recorder.decodeValues.get(head.to, head.outputs);
    this.cacheLayout = cacheLayout(spec, this.#plan.kvDtype);
    this.#cache = onDemand(async () => {
      const { CacheCopier } = await ownModule(import("./cache-copier"));
      return new CacheCopier(device, recorder, this.cacheLayout, this.#plan.contextLength);
    });
    this.#kernels = kernels;
    this.#sampler = {
      sequences: this.#sequences,
      logits: this.#logits,
      scores: work.storage("scores", spec.vocabSize * 4),
      bias: work.storage("logit bias", spec.vocabSize * 4),
      usage: work.storage("token usage", spec.vocabSize * 4),
      summaries: work.storage("logit summaries", tier.logitSlices * SUMMARY_BYTES),
      top: work.storage("top log-probabilities", TOP_BYTES),
      vocabSize: spec.vocabSize,
    };
    const rowReader = {
      ...{ kernels, device, work, recorder, head, weights: this.weights, chunk: this.#chunk },
      maxRows: this.maxPrefillTokens,
    };
    this.#scorer = onDemand(async () => {
      const { Scorer } = await ownModule(import("./scorer"));
      return new Scorer({ ...rowReader, maxBindingBytes });
    });
    const { sequences, logits, top } = this.#sampler;
    this.#verifier = onDemand(async () => {
      const { Verifier } = await ownModule(import("./verifier"));
      return new Verifier({ ...rowReader, sequences, logits, top });
    });
    this.#batchOptions = {
      ...{ kernels, device, recorder, body, head, maxBindingBytes },
      ...{ hiddenSize: spec.hiddenSize, vocabSize: spec.vocabSize, contextLength: this.#plan.contextLength },
      maxInFlight: MAX_IN_FLIGHT,
      bytesLeft: () =>
        Object.values(arenas).reduce((left, arena) => left - arena.sizeBytes, options.memoryBudgetBytes ?? Infinity),
    };
    // All at once: the browser compiles them in parallel, while the weights stream. Samplers that few use wait for `begin`.
    this.#recording = Promise.all([
      recorder.decode(body),
      recorder.prefill(body),
      recorder.decode([head]),
      this.#samplerList(PLAIN),
    ]).then(([decodeBody, prefillBody, headList]) => ({ decodeBody, prefillBody, head: headList }));
    const { weights: held, work: scratch } = arenas;
    this.reservedBytes = held.sizeBytes - weightBytes(matrices, this.#plan.formatOf) + scratch.sizeBytes;
    this.#recording.catch((error: unknown) => this.#end(WordloomError.from(error, "kernel-failed")));
  }

  get facts(): BackendFacts {
    const { weights, cache, work } = this.#arenas;
    const { dtype, formats, kvDtype, contextLength, reason } = this.#plan;
    return {
      backend: "webgpu",
      adapter: this.#gpu.adapter,
      isFallbackAdapter: this.#gpu.isFallback,
      tier: this.#tier.name,
      dtype,
      formats,
      kvDtype,
      reason,
      contextLength,
      bytes: { weights: weights.sizeBytes, kvCache: cache.sizeBytes, activations: work.sizeBytes },
    };
  }

  /** Every buffer is known to exist. */
  async allocated(): Promise<void> {
    for (const arena of Object.values(this.#arenas)) await this.#guard(arena.settled());
  }

  async ready(): Promise<void> {
    const recording = await this.#guard(this.#recording);
    this.#ready = recording;
    // A step on a finished record: every pipeline runs once and changes nothing.
    const done = new Uint32Array(RECORD_BYTES / 4);
    done[3] = 1;
    this.#device.queue.writeBuffer(this.#sequences, 0, done);
    this.#device.queue.writeBuffer(this.#chunk, 0, new Uint32Array(CHUNK_HEADER_WORDS));
    const encoder = this.#device.createCommandEncoder({ label: "warm-up" });
    const pass = encoder.beginComputePass({ label: "warm-up" });
    replay(pass, recording.prefillBody);
    replay(pass, [...recording.decodeBody, ...recording.head, ...(await this.#samplerList(PLAIN))]);
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
    await this.#guard(this.#device.queue.onSubmittedWorkDone());
  }

  begin(options: BeginOptions): Promise<void> | void {
    this.#recorded();
    assertEndTokens(options);
    const kind = kindOf(options);
    const recorded = this.#samplers.get(nameOf(kind));
    if (recorded !== undefined) return this.#beginWith(recorded, kind, options);
    return this.#guard(this.#samplerList(kind)).then((list) => this.#beginWith(list, kind, options));
  }

  #beginWith(list: readonly Dispatch[], kind: SamplerKind, options: BeginOptions): void {
    const { sampling, promptTokens, answeredTokens = [], processLogits, allowedTokens } = options;
    const { queue } = this.#device;
    queue.writeBuffer(this.#sequences, 0, encodeRecord(options, this.#plan.contextLength));
    if (kind.adjusted || kind.lookback || kind.processed || kind.masked) {
      const bias = new Float32Array(this.#vocabSize);
      for (const [id, value] of sampling.logitBias) bias[id] = value;
      queue.writeBuffer(this.#sampler.bias, 0, bias);
      const usage = new Uint32Array(this.#vocabSize);
      if (!kind.lookback) {
        for (const id of promptTokens) usage[id] = 0x80000000;
        for (const id of answeredTokens) usage[id] = (usage[id] ?? 0) + 1;
      }
      queue.writeBuffer(this.#sampler.usage, 0, usage);
    }
    const { lookback } = this.#sampler;
    if (kind.lookback && lookback) {
      queue.writeBuffer(lookback.history, 0, encodeHistory(options, this.#plan.contextLength));
      queue.writeBuffer(lookback.breakers, 0, encodeBreakers(sampling, this.#vocabSize));
      queue.writeBuffer(lookback.matches, 0, new Uint32Array(this.#vocabSize));
    }
    const { topLogprobs: topCount, tokenStatistics } = sampling;
    const { lookback: looksBack } = kind;
    const promptLength = promptTokens.length;
    this.#sampling = {
      list,
      topCount,
      tokenStatistics,
      processLogits,
      allowedTokens,
      looksBack,
      promptLength,
      last: undefined,
    };
  }

  /** Records it when it is first asked for, with the buffers that only it needs. */
  async #samplerList(kind: SamplerKind): Promise<readonly Dispatch[]> {
    const name = nameOf(kind);
    const known = this.#samplers.get(name);
    if (known) return known;
    if (kind.lookback || kind.processed || kind.masked) await this.#makeRoomFor(kind);
    const list = await sampleDispatches(this.#kernels, this.#sampler, kind);
    this.#samplers.set(name, list);
    return list;
  }

  async #makeRoomFor({ lookback, processed, masked }: SamplerKind): Promise<void> {
    const { work } = this.#arenas;
    if (masked) this.#sampler.allowed ??= work.storage("allowed tokens", Math.ceil(this.#vocabSize / 32) * 4);
    if (lookback) {
      this.#sampler.lookback ??= {
        history: work.storage("token history", historyBytes(this.#plan.contextLength)),
        breakers: work.storage("sequence breakers", Math.ceil(this.#vocabSize / 32) * 4),
        matches: work.storage("repeated tokens", this.#vocabSize * 4),
      };
    }
    if (processed) {
      this.#sampler.processed ??= work.storage("processed logits", this.#vocabSize * 4);
      const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
      this.#logitsStaging ??= work.create("logits readback", this.#vocabSize * 4, usage);
    }
    try {
      await work.settled();
    } catch (error) {
      this.#sampler.lookback = this.#sampler.processed = this.#sampler.allowed = undefined;
      this.#logitsStaging = undefined;
      throw error;
    }
  }

  prefill(tokens: Uint32Array, start: number, sample: false): Promise<void>;
  prefill(tokens: Uint32Array, start: number, sample: true): Promise<StepResult>;
  async prefill(tokens: Uint32Array, start: number, sample: boolean): Promise<StepResult | void> {
    const recording = this.#recorded();
    const { queue } = this.#device;
    this.#writeChunk(tokens, start);
    const encoder = this.#device.createCommandEncoder({ label: "prefill" });
    this.#encodeBody(encoder, recording, tokens.length);
    if (!sample) {
      queue.submit([encoder.finish()]);
      await this.#guard(queue.onSubmittedWorkDone());
      return;
    }
    const last = tokens.length - 1;
    queue.writeBuffer(this.#sequences, POSITION_OFFSET, new Uint32Array([start + last, tokens[last] ?? 0]));
    const pass = encoder.beginComputePass({ label: "first token" });
    replay(pass, recording.head);
    return this.#sample(encoder, pass);
  }

  #writeChunk(tokens: Uint32Array, start: number): void {
    if (
      tokens.length < 1 ||
      tokens.length > this.maxPrefillTokens ||
      start + tokens.length > this.#plan.contextLength
    ) {
      throw new WordloomError(
        "internal",
        `a chunk of ${tokens.length} tokens at ${start}; ${this.maxPrefillTokens} of ${this.#plan.contextLength} are possible`,
      );
    }
    const words = new Uint32Array(CHUNK_HEADER_WORDS + tokens.length);
    words.set([start, tokens.length]);
    words.set(tokens, CHUNK_HEADER_WORDS);
    this.#device.queue.writeBuffer(this.#chunk, 0, words);
  }

  /** The chunk through all layers; its last row is left where decode's head reads it. */
  #encodeBody(encoder: GPUCommandEncoder, { prefillBody }: Recording, rows: number): void {
    const pass = encoder.beginComputePass({ label: "prefill" });
    replay(pass, prefillBody, rows);
    pass.end();
    encoder.copyBufferToBuffer(this.#x.prefill, (rows - 1) * this.#x.rowBytes, this.#x.decode, 0, this.#x.rowBytes);
  }

  step(): Promise<StepResult> {
    const { decodeBody, head } = this.#recorded();
    const encoder = this.#device.createCommandEncoder({ label: "step" });
    const pass = encoder.beginComputePass({ label: "step" });
    replay(pass, decodeBody);
    replay(pass, head);
    return this.#sample(encoder, pass);
  }

  /** Ends a step: chooses the token, copies the report out, submits, and reads it back. */
  async #sample(encoder: GPUCommandEncoder, pass: GPUComputePassEncoder): Promise<StepResult> {
    const sampling = this.#sampling;
    if (sampling === undefined) throw new WordloomError("internal", "a step before begin()");
    const { list, topCount, tokenStatistics, processLogits, allowedTokens } = sampling;
    if (processLogits || allowedTokens) {
      pass.end();
      if (sampling.last?.done) return sampling.last; // the head writes nothing more, so there are no logits to show
      if (processLogits) await this.#processed(encoder, processLogits);
      else this.#device.queue.submit([encoder.finish()]);
      // The GPU is at the logits while the host finds out what may follow.
      const allowed = allowedTokens?.();
      if (allowedTokens && !allowed) return (sampling.last = { ...(sampling.last ?? NOTHING_CHOSEN), done: true });
      if (allowed && this.#sampler.allowed) {
        this.#device.queue.writeBuffer(this.#sampler.allowed, 0, allowed as Uint32Array<ArrayBuffer>); // never shared
      }
      encoder = this.#device.createCommandEncoder({ label: "choice" });
      pass = encoder.beginComputePass({ label: "choice" });
    }
    replay(pass, list);
    pass.end();
    const staging = this.#ring.take();
    if (staging === undefined) throw new WordloomError("internal", `more than ${MAX_IN_FLIGHT} steps in flight`);
    encoder.copyBufferToBuffer(this.#sequences, 0, staging, 0, REPORT_BYTES);
    if (topCount > 0) encoder.copyBufferToBuffer(this.#sampler.top, 0, staging, REPORT_BYTES, TOP_BYTES);
    this.#device.queue.submit([encoder.finish()]);
    const bytes = topCount > 0 ? REPORT_BYTES + TOP_BYTES : REPORT_BYTES;
    const report = await this.#guard(this.#ring.read(staging, bytes));
    return (sampling.last = decodeReport(report, topCount, tokenStatistics));
  }

  /** Submits what makes the logits, shows them to the caller's own processor, and puts its own in their place. */
  async #processed(encoder: GPUCommandEncoder, process: NonNullable<BeginOptions["processLogits"]>): Promise<void> {
    const [staging, processed] = [this.#logitsStaging, this.#sampler.processed];
    if (!staging || !processed) throw new WordloomError("internal", "the processor's buffers were not made");
    encoder.copyBufferToBuffer(this.#logits, 0, staging, 0, this.#vocabSize * 4);
    this.#device.queue.submit([encoder.finish()]);
    await this.#guard(staging.mapAsync(GPUMapMode.READ));
    const logits = new Float32Array(staging.getMappedRange(0, this.#vocabSize * 4).slice(0));
    staging.unmap();
    const changed = await process(logits);
    if (this.#failure !== undefined) throw this.#failure;
    this.#device.queue.writeBuffer(processed, 0, changed as Float32Array<ArrayBuffer>); // never shared: it may be posted
  }

  async append(previous: number, tokens: Uint32Array, start: number): Promise<ScoredRows> {
    const { queue } = this.#device;
    const sampling = this.#sampling;
    const last = tokens.at(-1);
    if (sampling === undefined || last === undefined)
      throw new WordloomError("internal", "append before begin, or of none");
    const scored = this.score(Uint32Array.from([previous, ...tokens.subarray(0, -1)]), start, tokens);
    const count = start + 1 - sampling.promptLength + tokens.length;
    const { lookback } = this.#sampler;
    if (sampling.looksBack && lookback) {
      queue.writeBuffer(lookback.history, HISTORY_HEADER_BYTES + 4 * (start + 1), tokens.slice());
    }
    const rows = await scored;
    // Behind what has been submitted: the record is the sequence's from here on.
    queue.writeBuffer(this.#sequences, POSITION_OFFSET, new Uint32Array([start + tokens.length, last, count]));
    sampling.last = { ...NOTHING_CHOSEN, count, id: last, done: false };
    return rows;
  }

  async verify(previous: number, drafts: Uint32Array, start: number): Promise<readonly StepResult[]> {
    const sampling = this.#sampling;
    if (sampling === undefined || sampling.processLogits || sampling.allowedTokens) {
      throw new WordloomError("internal", "drafts before begin(), or in a run whose host has a say in each token");
    }
    const verifier = await this.#guard(this.#verifier());
    const prepared = await this.#guard(verifier.prepare());
    const encoder = this.#encodeChunk(Uint32Array.from([previous, ...drafts]), start);
    return this.#guard(verifier.verify(prepared, encoder, 1 + drafts.length, sampling));
  }

  async beginRows(options: BeginRowsOptions): Promise<void> {
    this.#recorded();
    assertEndTokens(options);
    const rows = options.seeds.length;
    if (this.#batch?.rows !== rows) {
      this.#batch?.destroy();
      this.#batch = undefined;
      const { RowBatch } = await this.#guard(ownModule(import("./row-batch")));
      this.#batch = await this.#guard(RowBatch.make(this.#batchOptions, rows));
    }
    await this.#guard(this.#batch.begin(options));
  }

  async prefillRows(tokens: Uint32Array, start: number): Promise<readonly StepResult[]> {
    const last = tokens.length - 1;
    const row = { x: this.#x.prefill, offset: last * this.#x.rowBytes };
    const position = { position: start + last, token: tokens[last] ?? 0 }; // a chunk is never empty
    return this.#guard(this.#rowBatch().first(this.#encodeChunk(tokens, start), row, position));
  }

  async stepRows(): Promise<readonly StepResult[]> {
    return this.#guard(this.#rowBatch().step());
  }

  endRow(row: number): void {
    this.#rowBatch().end(row);
  }

  #rowBatch(): RowBatch {
    this.#recorded();
    if (this.#batch === undefined) throw new WordloomError("internal", "a step of several answers before beginRows()");
    return this.#batch;
  }

  async score(tokens: Uint32Array, start: number, targets: Uint32Array): Promise<ScoredRows> {
    const scorer = await this.#guard(this.#scorer());
    const prepared = await this.#guard(scorer.prepare());
    const encoder = this.#encodeChunk(tokens, start);
    return this.#guard(scorer.score(prepared, encoder, targets));
  }

  async hiddenState(tokens: Uint32Array, start: number, pooling: Pooling): Promise<Float32Array> {
    const scorer = await this.#guard(this.#scorer());
    const prepared = await this.#guard(scorer.prepareStates());
    const encoder = this.#encodeChunk(tokens, start);
    return this.#guard(scorer.hiddenState(prepared, encoder, tokens.length, pooling));
  }

  #encodeChunk(tokens: Uint32Array, start: number): GPUCommandEncoder {
    const recording = this.#recorded();
    this.#writeChunk(tokens, start);
    const encoder = this.#device.createCommandEncoder({ label: "chunk" });
    this.#encodeBody(encoder, recording, tokens.length);
    return encoder;
  }

  async readLogits(): Promise<Float32Array> {
    const recording = this.#recorded();
    const size = this.#vocabSize * 4;
    const staging = this.#device.createBuffer({
      label: "logits readback",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    // The record may say that the run is over, and then the head would do nothing: it is put aside for this pass.
    const kept = this.#device.createBuffer({
      label: "kept record",
      size: RECORD_BYTES,
      usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    try {
      const encoder = this.#device.createCommandEncoder({ label: "logits" });
      encoder.copyBufferToBuffer(this.#sequences, 0, kept, 0, RECORD_BYTES);
      encoder.clearBuffer(this.#sequences, 0, RECORD_BYTES);
      const pass = encoder.beginComputePass({ label: "logits" });
      replay(pass, recording.head);
      pass.end();
      encoder.copyBufferToBuffer(kept, 0, this.#sequences, 0, RECORD_BYTES);
      encoder.copyBufferToBuffer(this.#logits, 0, staging, 0, size);
      this.#device.queue.submit([encoder.finish()]);
      await this.#guard(staging.mapAsync(GPUMapMode.READ));
      return new Float32Array(staging.getMappedRange().slice(0));
    } finally {
      staging.destroy();
      kept.destroy();
    }
  }

  async exportCache(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    this.#recorded();
    const cache = await this.#guard(this.#cache());
    return this.#guard(cache.read(start, end));
  }

  async importCache(start: number, bytes: Uint8Array): Promise<void> {
    this.#recorded();
    const cache = await this.#guard(this.#cache());
    cache.write(start, bytes);
    await this.#guard(this.#device.queue.onSubmittedWorkDone());
  }

  async dispose(): Promise<void> {
    this.#end(new WordloomError("disposed", "the generator was disposed of"));
    await this.#recording.catch(() => undefined);
    for (const arena of Object.values(this.#arenas)) arena.destroy();
    this.#batch?.destroy();
    this.#gpu.close();
  }

  #recorded(): Recording {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#ready === undefined) throw new WordloomError("internal", "used before ready()");
    return this.#ready;
  }

  /** Rejects as soon as the device is gone or an error has surfaced, rather than waiting for what never comes. */
  #guard<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([this.#ended, promise]).then(
      (value) => {
        if (this.#failure !== undefined) throw this.#failure;
        return value;
      },
      async (error: unknown) => {
        // A lost device may show first as a call that fails; the loss, which follows at once, is what there is to say.
        if (this.#failure === undefined) await Promise.race([this.#ended.catch(() => undefined), graceForLoss()]);
        throw this.#failure ?? WordloomError.from(error, "kernel-failed");
      },
    );
  }
}

function assertEndTokens({ endTokenIds }: Pick<BeginOptions, "endTokenIds">): void {
  if (endTokenIds.length <= MAX_END_TOKENS) return;
  const message = `${endTokenIds.length} end tokens; at most ${MAX_END_TOKENS} are supported`;
  throw new WordloomError("config-unsupported", message);
}

const GRACE_FOR_LOSS_MS = 50;
const graceForLoss = () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), GRACE_FOR_LOSS_MS));
