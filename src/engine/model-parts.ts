/** What a model's files say, whichever format they have: the model itself, its tokenizer, where its weights are. */
import { keptAs } from "../formats/ggml-kept";
import type { BackendFacts } from "../backends/backend";
import { DECODED_TYPES } from "../formats/ggml-types";
import { isKFormat } from "../formats/k-quants";
import type { TensorName } from "../models/decoder-spec";
import type { HeldDtype } from "../formats/quantization";
import { describeQuantization } from "../models/quantization-config";
import type { ModelConfig } from "../models/registry";
import type { Tokenizer } from "../tokenizer/tokenizer";
import type { Checkpoint } from "./checkpoint-plan";

export interface ModelParts extends ModelConfig {
  /** The file that holds the tokenizer. */
  tokenizerFile: string;
  readTokenizer(): Promise<Tokenizer>;
  /** Undefined: safetensors, whose headers are read when they are planned. */
  checkpoint: Checkpoint | undefined;
  /** How the file holds its weights, in words: "Q4_0 (142 tensors), F32 (65 tensors)"; undefined for safetensors. */
  fileTypes?: string;
  /** How the file holds the decoder's matrices, where that is a format that can be held; undefined for safetensors. */
  fileFormats?: ReadonlyMap<TensorName, HeldDtype>;
}

/** Why the weights are held as they are, with what the file holds and what becomes of it. */
export function withFileTypes(
  { dtype, formats = [dtype], reason }: Pick<BackendFacts, "dtype" | "formats" | "reason">,
  { fileTypes, quantization }: Pick<ModelParts, "fileTypes" | "quantization">,
): string {
  if (quantization !== undefined) {
    return `${reason}; the checkpoint holds ${describeQuantization(quantization)}, decoded and held as ${dtype}`;
  }
  if (fileTypes === undefined) return reason;
  const kept = DECODED_TYPES.filter((type) => {
    const held = keptAs(type);
    return held !== undefined && formats.includes(held) && new RegExp(`\\b${type} `).test(fileTypes);
  });
  // What no format of the file's own holds is packed again: see backends/gpu/held-formats.
  const others = `matrices of other types become ${isKFormat(dtype) ? "q8" : dtype}`;
  const are = kept.length === 1 ? "is kept as it is" : "are kept as they are";
  return `${reason}; the file has ${fileTypes}; ${kept.length === 0 ? others : `${kept.join(", ")} ${are}, ${others}`}`;
}
