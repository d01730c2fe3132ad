/** A GGUF file on a backend, the way the engine loads it, without the engine. Runs in Node and in browsers. */
import type { Backend, KvDtype, WeightDtype } from "../backends/backend";
import { createGpuBackend } from "../backends/gpu/gpu-backend";
import { createReferenceBackend } from "../backends/reference/reference-backend";
import { loadWeights } from "../engine/load-weights";
import type { ModelParts } from "../engine/model-parts";
import { readModelParts } from "../engine/read-model";
import { packRows, unpackRows } from "../formats/quantization";
import { emit } from "../models/decoder";
import type { GoldenModel } from "./golden-case";
import { memoryFiles, type MemoryFiles } from "./memory-files";

/** The golden checkpoints that have a GGUF file, whose values llama.cpp computed from it. */
export const GGUF_GOLDEN = [
  ...(["llama", "llama-rope3", "gpt2", "qwen2", "qwen3"] as const),
  ...(["gemma3_text", "phi3", "olmo2", "gpt_neox"] as const),
] satisfies readonly GoldenModel[];

export interface GgufRun {
  parts: ModelParts;
  backend: Backend;
  files: MemoryFiles;
}

/** A folder that holds this file alone, or these. */
export function ggufFiles(bytes: Uint8Array | Readonly<Record<string, Uint8Array>>): MemoryFiles {
  return memoryFiles(bytes instanceof Uint8Array ? { "model.gguf": bytes } : bytes, { chunkBytes: 50_001 });
}

const signal = new AbortController().signal;

export async function openGgufBytes(bytes: Parameters<typeof ggufFiles>[0]): Promise<ModelParts> {
  return readModelParts(ggufFiles(bytes), signal);
}

/** @param device undefined: on the reference */
export async function runGguf(
  bytes: Parameters<typeof ggufFiles>[0],
  { dtype, kvDtype }: { dtype: WeightDtype | "auto"; kvDtype: KvDtype },
  gpu?: { device: GPUDevice; tier: string },
): Promise<GgufRun> {
  const files = ggufFiles(bytes);
  const parts = await readModelParts(files, signal);
  const { spec, checkpoint, fileFormats } = parts;
  const { contextLength } = spec;
  const common = { spec, program: emit(spec), kvDtype, contextLength };
  const backend =
    gpu === undefined
      ? createReferenceBackend({
          ...common,
          dtype: dtype === "auto" ? "f32" : dtype,
          round: (held, values, rows, columns) =>
            unpackRows(held, packRows(held, values, rows, columns), rows, columns),
          unpack: unpackRows,
        })
      : await createGpuBackend({ ...common, ...gpu, dtype, fileFormats, memoryBudgetBytes: undefined });
  await loadWeights({ files, spec, checkpoint, sink: backend.weights, signal });
  await backend.ready();
  return { parts, backend, files };
}
