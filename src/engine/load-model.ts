/** From a source to an engine: config → spec → backend → tokenizer → weights, the cheap and the decisive ones first. */
import { WordloomError } from "../errors";
import { foreignContent } from "../formats/foreign-content";
import { readBytes, readJson } from "../formats/read-json";
import { countParameters } from "../models/decoder";
import type { DecoderSpec } from "../models/decoder-spec";
import { readModelConfig } from "../models/registry";
import type { ModelFiles } from "../storage/model-files";
import { openSource } from "../storage/open-source";
import { createTokenizer } from "../tokenizer/load-tokenizer";
import type { Tokenizer } from "../tokenizer/tokenizer";
import { BACKEND_MAKERS, chooseBackend, type BackendMakers, type BackendRequest } from "./backends";
import { LocalEngine, type Engine } from "./engine";
import { loadWeights } from "./load-weights";
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
export interface LoadRequest extends Omit<BackendRequest, "device" | "tier"> {
  source: ModelSource;
  headers: Readonly<Record<string, string>>;
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

const MAX_TEMPLATE_BYTES = 4 * 2 ** 20;

/**
 * @throws WordloomError for what cannot be loaded; `signal.reason` if it aborts
 */
export async function loadEngine(request: LoadRequest, context: LoadContext): Promise<Engine> {
  const { signal, onProgress } = context;
  const phase = (name: LoadPhase, file = "") => {
    signal.throwIfAborted();
    onProgress({ phase: name, file, loadedBytes: 0, totalBytes: undefined });
  };
  phase("config", "config.json");
  const files = await openSource(request.source, {
    headers: request.headers,
    signal,
    ...(context.fetch === undefined ? {} : { fetch: context.fetch }),
  });
  const { spec, suggestedSampling, endTokenIds } = await readConfig(files, signal);
  checkContextLength(request.contextLength, spec);

  phase("device");
  // Opening the GPU is mostly waiting: the tokenizer, small beside the weights, is read meanwhile.
  const reading = readTokenizer(files, signal);
  reading.catch(() => undefined); // awaited below; where the device refuses first, that is what is told
  const { backend, reason } = await chooseBackend(
    spec,
    { ...request, device: context.device, tier: request.internal.tier },
    context.makers ?? BACKEND_MAKERS,
  );
  try {
    phase("tokenizer", "tokenizer.json");
    const tokenizer = await reading;
    phase("weights");
    await loadWeights({
      files,
      spec,
      sink: backend.weights,
      onProgress: (progress) => onProgress({ ...progress, phase: "weights" }),
      signal,
    });
    phase("warmup");
    await backend.ready();
    signal.throwIfAborted();
    return new LocalEngine({
      backend,
      tokenizer,
      endTokenIds,
      scheduler: request.internal,
      info: {
        ...backend.facts,
        modelType: spec.modelType,
        worker: context.worker,
        layerCount: spec.layers.length,
        vocabSize: spec.vocabSize,
        parameterCount: countParameters(spec),
        suggestedSampling: suggestedSampling ?? {},
        backendReason: reason,
        workerReason: context.workerReason,
      },
    });
  } catch (error) {
    await backend.dispose();
    throw error;
  }
}

export async function readConfig(files: ModelFiles, signal: AbortSignal) {
  const config = await readJson(files, "config.json", { signal });
  if (config === undefined) {
    throw new WordloomError("model-not-found", `there is no config.json in ${files.description}`);
  }
  return readModelConfig(config, await readJson(files, "generation_config.json", { signal, optional: true }));
}

async function readTokenizer(files: ModelFiles, signal: AbortSignal): Promise<Tokenizer> {
  const tokenizerJson = await readJson(files, "tokenizer.json", { signal });
  if (tokenizerJson === undefined) {
    throw new WordloomError("model-not-found", `there is no tokenizer.json in ${files.description}`);
  }
  const tokenizerConfig = await readJson(files, "tokenizer_config.json", { signal, optional: true });
  const chatTemplate = await readTemplate(files, signal);
  return createTokenizer({ tokenizerJson, tokenizerConfig, ...(chatTemplate === undefined ? {} : { chatTemplate }) });
}

async function readTemplate(files: ModelFiles, signal: AbortSignal): Promise<string | undefined> {
  const file = await files.find("chat_template.jinja", signal);
  if (file === undefined) return undefined;
  const bytes = await readBytes(file, { maxBytes: MAX_TEMPLATE_BYTES, signal });
  // Some servers answer a missing file with their start page.
  return foreignContent(bytes) === "an HTML page" ? undefined : new TextDecoder().decode(bytes);
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
