/** What a failure is called in the page, and which next step a button can take there. */
import { WordloomError, type WordloomErrorCode } from "../../errors";
import { HEADLINES, REMEDIES, offerEdit, offerReload, offerWithoutGpu } from "../words/element-failures";
import { language } from "../words/localization";

/** "reload": load again. "without-gpu": load with allowReference. "edit-prompt": go to the prompt. */
export type Offer = "reload" | "without-gpu" | "edit-prompt";

export const OFFER_LABELS: Record<Offer, () => string> = {
  reload: offerReload,
  "without-gpu": offerWithoutGpu,
  "edit-prompt": offerEdit,
};

export function headline(code: WordloomErrorCode): string {
  return HEADLINES[code]();
}

/** What the reader can do; in English the error's own words, where it has any beside its code's, are more exact. */
export function remedyOf(error: WordloomError): string {
  const isItsOwn = error.remedy !== new WordloomError(error.code, "").remedy;
  return isItsOwn && language() === "en" ? error.remedy : REMEDIES[error.code]();
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
