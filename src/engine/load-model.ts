/** From a source to an engine: config → spec → backend → tokenizer → weights, the cheap and the decisive ones first. */
import type { Backend } from "../backends/backend";
import { WordloomError } from "../errors";
import { ownModule } from "../own-module";
import { countParameters } from "../models/decoder";
import type { DecoderSpec } from "../models/decoder-spec";
import type { OpenedModel } from "../storage/open-model";
import type { Tokenizer } from "../tokenizer/tokenizer";
import { BACKEND_MAKERS, chooseBackend, type BackendMakers, type BackendRequest } from "./backends";
import { openCheckpoint, planCheckpoint, type Checkpoint } from "./checkpoint-plan";
import type { DraftModelInfo } from "./draft-model";
import { LocalEngine, type Engine, type EngineInfo } from "./engine";
import { kvShapeOf } from "./kv-shape";
import { loadWeights } from "./load-weights";
import { openRequest, outcomeOf, type SourceRequest } from "./open-request";
import { ModelFingerprint } from "./model-fingerprint";
import { withFileTypes, type ModelParts } from "./model-parts";
import { readModelParts } from "./read-model";
import { isLoss, recover, RecoveryBudget, type Recover, type Recovery } from "./recovery";
import type { SchedulerOptions } from "./scheduler";
import type { DraftModel } from "./speculation";

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
  /** Guesses for the model; see draft-model.ts. */
  draftModel?: ModelSource | undefined;
  internal: InternalOptions;
}

/** What cannot be posted. */
export interface LoadContext {
  device?: GPUDevice | undefined;
  fetch?: typeof fetch | undefined;
  onProgress: (progress: LoadProgress) => void;
  /** Told of a lost device that is being replaced, as long as the engine lives. */
  onRecovery?: ((recovery: Recovery) => void) | undefined;
  signal: AbortSignal;
  /** Where the engine runs, for `info`. */
  worker: boolean;
  workerReason: string;
  makers?: BackendMakers;
}

/**
 * A device that is lost on the way, or later, is asked for again, a few times (recovery.ts); not one that was passed.
 *
 * @throws WordloomError for what cannot be loaded; `signal.reason` if it aborts
 */
export async function loadEngine(request: LoadRequest, context: LoadContext): Promise<Engine> {
  const { signal, device, onRecovery: tell = () => undefined } = context;
  const budget = new RecoveryBudget();
  const loadOnce = (onBytes?: Parameters<Parameters<typeof recover>[1]>[0]) => {
    const onProgress = (progress: LoadProgress) => {
      context.onProgress(progress);
      onBytes?.(progress.loadedBytes, progress.totalBytes);
    };
    return loaded(request, { ...context, onProgress });
  };
  let model: LoadedModel;
  try {
    model = await loadOnce();
  } catch (error) {
    if (!isLoss(error) || device !== undefined) throw error;
    model = await recover(error, loadOnce, { budget, tell, signal });
  }
  const { backend, tokenizer, endTokenIds, info, fingerprint, draftModel } = model;
  const known: KnownModel = { tokenizer, info, fingerprint, cacheLayout: JSON.stringify(backend.cacheLayout) };
  const again: Recover = (loss, closing) =>
    recover(
      loss,
      async (onBytes) => (await reloaded(known, request, { ...context, signal: closing }, onBytes)).backend,
      { budget, tell, signal: closing },
    );
  return new LocalEngine({
    backend,
    tokenizer,
    endTokenIds,
    info,
    fingerprint,
    scheduler: request.internal,
    draftModel,
    recover: device === undefined ? again : undefined,
  });
}

/** The same model on another device: held as before, or not at all, since what was said depends on its numbers. */
async function reloaded(
  known: KnownModel,
  request: LoadRequest,
  context: LoadContext,
  onBytes: (loadedBytes: number, totalBytes: number | undefined) => void,
): Promise<LoadedModel> {
  const { tier, kvDtype, contextLength } = known.info;
  const same: LoadRequest = {
    ...request,
    ...{ backend: "webgpu", allowReference: false, kvDtype, contextLength },
    internal: { ...request.internal, tier },
  };
  const onProgress = (progress: LoadProgress) => {
    if (progress.phase === "weights") onBytes(progress.loadedBytes, progress.totalBytes);
  };
  const model = await loaded(same, { ...context, onProgress }, known.tokenizer);
  const { backend, fingerprint } = model;
  const isSame =
    fingerprint === known.fingerprint &&
    backend.facts.dtype === known.info.dtype &&
    JSON.stringify(backend.cacheLayout) === known.cacheLayout;
  if (isSame) return model;
  await model.backend.dispose();
  throw new WordloomError("tensor-mismatch", "the model's files are others than when it was loaded");
}

/** What another device must hold, too. */
interface KnownModel extends Pick<LoadedModel, "tokenizer" | "info" | "fingerprint"> {
  cacheLayout: string;
}

/** @param tokenizer where it has been read before */
async function loaded(request: LoadRequest, context: LoadContext, tokenizer?: Tokenizer): Promise<LoadedModel> {
  const opened = await openRequest(request, context, false);
  try {
    return await loadFrom(opened, request, context, tokenizer);
  } catch (error) {
    await opened.settle(outcomeOf(error)).catch(() => undefined); // the error before is the one to tell
    context.signal.throwIfAborted();
    throw error instanceof RangeError ? noMemory(error) : WordloomError.from(error);
  }
}

/** Everything an engine is made of. */
interface LoadedModel extends Pick<ModelParts, "endTokenIds"> {
  backend: Backend;
  tokenizer: Tokenizer;
  fingerprint: string;
  info: EngineInfo;
  draftModel: DraftModel | undefined;
}

/** What JavaScript throws where an array cannot be made. */
function noMemory(cause: RangeError): WordloomError {
  return new WordloomError("out-of-memory", `an array for the model could not be made: ${cause.message}`, { cause });
}

async function loadFrom(
  { files, settle }: OpenedModel,
  request: LoadRequest,
  context: LoadContext,
  known: Tokenizer | undefined,
): Promise<LoadedModel> {
  const phase = phaseOf(context);
  const model = await readFrom(files, context, (spec) => checkContextLength(request.contextLength, spec));
  const { parts } = model;
  const { spec } = parts;
  const draft =
    request.draftModel === undefined ? undefined : await loadDraft(request.draftModel, request, parts, context);
  try {
    phase("device");
    // Opening the GPU is mostly waiting: the tokenizer, small beside the weights, is read meanwhile.
    const read = known ? Promise.resolve(known) : parts.readTokenizer();
    read.catch(() => undefined); // awaited below; where the device refuses first, that is what is told
    const memoryBudgetBytes = draft ? draft.leaves(request.memoryBudgetBytes) : request.memoryBudgetBytes;
    const { backend, reason, fingerprint, tokenizer } = await hold(
      model,
      { ...request, memoryBudgetBytes },
      context,
      read,
    );
    try {
      const { stored, reason: storeReason } = await settle("loaded");
      context.signal.throwIfAborted();
      return {
        backend,
        tokenizer,
        endTokenIds: parts.endTokenIds,
        fingerprint: fingerprint.hex(backend.facts.contextLength),
        draftModel: draft?.as(spec.vocabSize),
        info: {
          ...backend.facts,
          reason: withFileTypes(backend.facts, parts),
          modelType: spec.modelType,
          worker: context.worker,
          layerCount: spec.layers.length,
          kvShape: kvShapeOf(spec),
          vocabSize: spec.vocabSize,
          parameterCount: countParameters(spec),
          suggestedSampling: parts.suggestedSampling ?? {},
          backendReason: reason,
          workerReason: context.workerReason,
          stored,
          storeReason,
          ...(draft && { draftModel: draft.info }),
        },
      };
    } catch (error) {
      await backend.dispose();
      throw error;
    }
  } catch (error) {
    await draft?.backend.dispose();
    throw error;
  }
}

/** The model that guesses, with its own files; its weights are asked for once it is known to have the same vocabulary. */
interface LoadedDraft {
  backend: Backend;
  info: DraftModelInfo;
  /** Of the bytes that both may take. */
  leaves: (budget: number | undefined) => number | undefined;
  /** @param vocabSize of the model that it guesses for */
  as: (vocabSize: number) => DraftModel;
}

async function loadDraft(
  source: ModelSource,
  request: LoadRequest,
  { readTokenizer }: ModelParts,
  context: LoadContext,
): Promise<LoadedDraft> {
  const { budgetBeside, checkSameVocabulary, draftContext, draftModelInfo, draftRequest } = await ownModule(
    import("./draft-model"),
  );
  const { DraftModel } = await ownModule(import("./speculation"));
  const own = draftRequest(request, source);
  const { files, settle } = await openRequest(own, context, false);
  try {
    const model = await readFrom(files, context);
    const { spec } = model.parts;
    const tokenizer = await model.parts.readTokenizer();
    checkSameVocabulary(await readTokenizer(), tokenizer);
    const contextLength = draftContext(own.contextLength, spec);
    phaseOf(context)("device");
    const { backend } = await hold(model, { ...own, contextLength }, context, Promise.resolve(tokenizer));
    await settle("loaded");
    return {
      backend,
      info: draftModelInfo(spec, backend.facts),
      leaves: (budget) => budgetBeside(budget, backend.facts),
      as: (vocabSize) => new DraftModel(backend, vocabSize),
    };
  } catch (error) {
    await settle(outcomeOf(error)).catch(() => undefined); // the error before is the one to tell
    throw error;
  }
}

function phaseOf({ signal, onProgress }: LoadContext): (name: LoadPhase, file?: string) => void {
  return (name, file = "") => {
    signal.throwIfAborted();
    onProgress({ phase: name, file, loadedBytes: 0, totalBytes: undefined });
  };
}

/** What the files say, before anything is set aside for it. */
interface ReadModel {
  files: OpenedModel["files"];
  parts: ModelParts;
  checkpoint: Checkpoint;
}

async function readFrom(
  files: OpenedModel["files"],
  context: LoadContext,
  check: (spec: DecoderSpec) => void = () => {},
): Promise<ReadModel> {
  const { signal } = context;
  const phase = phaseOf(context);
  const parts = await readModelParts(files, signal, (name) => phase("config", name));
  const { spec } = parts;
  check(spec);
  // Weights that are not those of this config are refused before anything is set aside for them.
  const checkpoint = parts.checkpoint ?? (await openCheckpoint(files, spec, signal, parts.quantization));
  await planCheckpoint(files, spec, signal, checkpoint);
  return { files, parts, checkpoint };
}

/** A backend with the weights in it, ready to run. */
async function hold(
  { files, parts, checkpoint }: ReadModel,
  request: LoadRequest,
  context: LoadContext,
  reading: Promise<Tokenizer>,
) {
  const { signal, onProgress } = context;
  const phase = phaseOf(context);
  const { spec, fileFormats } = parts;
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
    return { backend, reason, fingerprint, tokenizer };
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
