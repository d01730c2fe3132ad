/** What a model's files say, whichever format they have: the model itself, its tokenizer, where its weights are. */
import { keptAs } from "../formats/ggml-kept";
import { DECODED_TYPES } from "../formats/ggml-types";
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
  /** The format that holds most of the file's weights as they are; undefined where there is none. */
  fileDtype?: HeldDtype;
}

/** Why the weights are held as they are, with what the file holds and what becomes of it. */
export function withFileTypes(
  { dtype, reason }: { dtype: HeldDtype; reason: string },
  { fileTypes, quantization }: Pick<ModelParts, "fileTypes" | "quantization">,
): string {
  if (quantization !== undefined) {
    return `${reason}; the checkpoint holds ${describeQuantization(quantization)}, decoded and held as ${dtype}`;
  }
  if (fileTypes === undefined) return reason;
  const kept = DECODED_TYPES.find((type) => keptAs(type) === dtype);
  const others = `matrices of other types become ${dtype}`;
  return `${reason}; the file has ${fileTypes}; ${kept === undefined ? others : `${kept} is kept as it is, ${others}`}`;
}
