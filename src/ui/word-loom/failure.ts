/** What a failure is called in the page, and which next step a button can take there. */
import type { WordloomErrorCode } from "../../errors";

/** "reload": load again. "without-gpu": load with allowReference. "edit-prompt": go to the prompt. */
export type Offer = "reload" | "without-gpu" | "edit-prompt";

export const OFFER_LABELS: Record<Offer, string> = {
  reload: "Load again",
  "without-gpu": "Write slowly without the GPU",
  "edit-prompt": "Change the beginning",
};

const HEADLINES: Record<WordloomErrorCode, string> = {
  "option-invalid": "One of the settings cannot be used.",
  "prompt-too-long": "The text is longer than the model can see.",
  "webgpu-unavailable": "This browser does not let pages use the graphics card.",
  "device-lost": "The connection to the graphics card was lost.",
  "device-limit": "This model does not fit this graphics card.",
  "out-of-memory": "There is not enough memory for this model.",
  "kernel-failed": "The graphics card does not compute this model correctly.",
  "model-not-found": "There is no model at this address.",
  "model-unsupported": "This kind of model is not supported.",
  "config-invalid": "The model's config.json is damaged.",
  "config-unsupported": "This model uses a setting that is not supported.",
  "file-invalid": "A file of the model is damaged.",
  "tensor-missing": "A part of the model's weights is missing.",
  "tensor-mismatch": "The model's files do not belong together.",
  "tokenizer-unsupported": "This model's tokenizer is not supported.",
  "template-missing": "This model is not made for chat.",
  "template-failed": "The model's chat template failed.",
  "tools-unsupported": "This model is not made for tools.",
  "constraint-failed": "The model cannot write what was asked of it.",
  "answer-incomplete": "The answer was cut before it was whole.",
  "wasm-refused": "This page does not allow what structured answers need.",
  "source-unsupported": "This is not an address of a model.",
  "network-failed": "The model could not be fetched.",
  "cors-refused": "The server does not let this page read the model.",
  "rate-limited": "The server wants fewer requests.",
  "server-failed": "The server failed.",
  "storage-failed": "The browser's storage could not be used.",
  "conversation-mismatch": "The conversation was saved with another model.",
  "access-denied": "The server does not give out this model.",
  "worker-failed": "The engine stopped.",
  disposed: "The model is no longer loaded.",
  internal: "Something in Wordloom went wrong.",
};

export function headline(code: WordloomErrorCode): string {
  return HEADLINES[code];
}

/** Whether the model is of no more use after this failure and has to be loaded again. */
export function losesModel(code: WordloomErrorCode): boolean {
  return LOSES_MODEL.has(code);
}

const LOSES_MODEL: ReadonlySet<WordloomErrorCode> = new Set([
  "device-lost",
  "out-of-memory",
  "kernel-failed",
  "worker-failed",
  "disposed",
  "internal",
]);

const WORTH_RELOADING: ReadonlySet<WordloomErrorCode> = new Set([
  "device-lost",
  "out-of-memory",
  "model-not-found",
  "file-invalid",
  "config-invalid",
  "tensor-missing",
  "network-failed",
  "cors-refused",
  "rate-limited",
  "server-failed",
  "access-denied",
  "worker-failed",
  "disposed",
  "internal",
]);

/** @param smallModel the model can be computed without the GPU in bearable time (the bundled one) */
export function offerFor(code: WordloomErrorCode, smallModel: boolean): Offer | undefined {
  if (code === "prompt-too-long") return "edit-prompt";
  if (code === "webgpu-unavailable" || code === "kernel-failed") return smallModel ? "without-gpu" : undefined;
  return WORTH_RELOADING.has(code) ? "reload" : undefined;
}
