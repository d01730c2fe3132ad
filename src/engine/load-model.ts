/** From a source to an engine: config → spec → backend → tokenizer → weights, the cheap and the decisive ones first. */
import { WordloomError } from "../errors";
import { countParameters } from "../models/decoder";
import type { DecoderSpec } from "../models/decoder-spec";
import type { OpenedModel } from "../storage/open-model";
import { BACKEND_MAKERS, chooseBackend, type BackendMakers, type BackendRequest } from "./backends";
import { openCheckpoint, planCheckpoint } from "./checkpoint-plan";
import { LocalEngine, type Engine } from "./engine";
import { loadWeights } from "./load-weights";
import { openRequest, outcomeOf, type SourceRequest } from "./open-request";
import { ModelFingerprint } from "./model-fingerprint";
import { withFileTypes } from "./model-parts";
import { readModelParts } from "./read-model";
import type { SchedulerOptions } from "./scheduler";

/** Where a model's files are: an address ("hf:org/name[@revision]", a URL, in Node a path), or the files themselves. */
export type ModelSource = string | readonly File[] | FileSystemDirectoryHandle;

/**
 * config: the model's settings · device: the GPU and its buffers · tokenizer · weights: streamed to the backend ·
 * warmup: pipelines and a first step.
 */
export type LoadPhase = "config" | "device" | "tokenizer" | "weights" | "warmup";

export interface LoadProgress {
  phase: LoadPhase;
  /** The file being read; "" where the phase reads none. */
  file: string;
  /** Of all weight files together in the phase `weights`; 0 in the others. */
  loadedBytes: number;
  /** Bytes of the phase; undefined where it is not known, as at its start and in all phases but `weights`. */
  totalBytes: number | undefined;
}

/** For tests and measurements only: how the loop runs, which no answer depends on. */
export interface InternalOptions extends SchedulerOptions {
  tier?: string;
}

/** Checked options of `load` that can be posted to a worker. */
export interface LoadRequest extends Omit<BackendRequest, "device" | "tier" | "fileFormats">, SourceRequest {
  internal: InternalOptions;
}

/** What cannot be posted. */
export interface LoadContext {
  device?: GPUDevice | undefined;
  fetch?: typeof fetch | undefined;
  onProgress: (progress: LoadProgress) => void;
  signal: AbortSignal;
  /** Where the engine runs, for `info`. */
  worker: boolean;
  workerReason: string;
  makers?: BackendMakers;
}

/**
 * @throws WordloomError for what cannot be loaded; `signal.reason` if it aborts
 */
export async function loadEngine(request: LoadRequest, context: LoadContext): Promise<Engine> {
  const opened = await openRequest(request, context, false);
  try {
    return await loadFrom(opened, request, context);
  } catch (error) {
    await opened.settle(outcomeOf(error)).catch(() => undefined); // the error before is the one to tell
    context.signal.throwIfAborted();
    throw error instanceof RangeError ? noMemory(error) : WordloomError.from(error);
  }
}

/** What JavaScript throws where an array cannot be made. */
function noMemory(cause: RangeError): WordloomError {
  return new WordloomError("out-of-memory", `an array for the model could not be made: ${cause.message}`, { cause });
}

async function loadFrom({ files, settle }: OpenedModel, request: LoadRequest, context: LoadContext): Promise<Engine> {
  const { signal, onProgress } = context;
  const phase = (name: LoadPhase, file = "") => {
    signal.throwIfAborted();
    onProgress({ phase: name, file, loadedBytes: 0, totalBytes: undefined });
  };
  const parts = await readModelParts(files, signal, (name) => phase("config", name));
  const { spec, suggestedSampling, endTokenIds, fileFormats } = parts;
  checkContextLength(request.contextLength, spec);
  // Weights that are not those of this config are refused before anything is set aside for them.
  const checkpoint = parts.checkpoint ?? (await openCheckpoint(files, spec, signal, parts.quantization));
  await planCheckpoint(files, spec, signal, checkpoint);

  phase("device");
  // Opening the GPU is mostly waiting: the tokenizer, small beside the weights, is read meanwhile.
  const reading = parts.readTokenizer();
  reading.catch(() => undefined); // awaited below; where the device refuses first, that is what is told
  const { backend, reason } = await chooseBackend(
    spec,
    { ...request, fileFormats, device: context.device, tier: request.internal.tier },
    context.makers ?? BACKEND_MAKERS,
  );
  try {
    phase("tokenizer", parts.tokenizerFile);
    const tokenizer = await reading;
    phase("weights");
    const fingerprint = new ModelFingerprint(spec);
    await loadWeights({
      files,
      spec,
      checkpoint,
      sink: fingerprint.around(backend.weights),
      onProgress: (progress) => onProgress({ ...progress, phase: "weights" }),
      signal,
    });
    phase("warmup");
    await backend.ready();
    const { stored, reason: storeReason } = await settle("loaded");
    signal.throwIfAborted();
    return new LocalEngine({
      backend,
      tokenizer,
      endTokenIds,
      fingerprint: fingerprint.hex(backend.facts.contextLength),
      scheduler: request.internal,
      info: {
        ...backend.facts,
        reason: withFileTypes(backend.facts, parts),
        modelType: spec.modelType,
        worker: context.worker,
        layerCount: spec.layers.length,
        vocabSize: spec.vocabSize,
        parameterCount: countParameters(spec),
        suggestedSampling: suggestedSampling ?? {},
        backendReason: reason,
        workerReason: context.workerReason,
        stored,
        storeReason,
      },
    });
  } catch (error) {
    await backend.dispose();
    throw error;
  }
}

/** Beyond the positions a model was made for its numbers mean nothing. */
function checkContextLength(contextLength: number | undefined, spec: DecoderSpec): void {
  if (contextLength !== undefined && contextLength > spec.contextLength) {
    throw new WordloomError(
      "option-invalid",
      `contextLength is ${contextLength}; this model was made for ${spec.contextLength} positions at most`,
    );
  }
}
