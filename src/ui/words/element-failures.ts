/** What the element says of a failure: what happened, what to do, and what its button does. */
import { msg } from "@lit/localize";
import type { WordloomErrorCode } from "../../errors";

/** In a sentence. */
export const HEADLINES: Record<WordloomErrorCode, () => string> = {
  "option-invalid": () => msg("One of the settings cannot be used.", { id: "element-option-invalid" }),
  "prompt-too-long": () => msg("The text is longer than the model can see.", { id: "element-prompt-too-long" }),
  "webgpu-unavailable": () =>
    msg("This browser does not let pages use the graphics card.", { id: "element-webgpu-unavailable" }),
  "device-lost": () => msg("The connection to the graphics card was lost.", { id: "element-device-lost" }),
  "device-limit": () => msg("This model does not fit this graphics card.", { id: "element-device-limit" }),
  "out-of-memory": () => msg("There is not enough memory for this model.", { id: "element-out-of-memory" }),
  "kernel-failed": () =>
    msg("The graphics card does not compute this model correctly.", { id: "element-kernel-failed" }),
  "model-not-found": () => msg("There is no model at this address.", { id: "element-model-not-found" }),
  "model-unsupported": () => msg("This kind of model is not supported.", { id: "element-model-unsupported" }),
  "config-invalid": () => msg("The model's config.json is damaged.", { id: "element-config-invalid" }),
  "config-unsupported": () =>
    msg("This model uses a setting that is not supported.", { id: "element-config-unsupported" }),
  "file-invalid": () => msg("A file of the model is damaged.", { id: "element-file-invalid" }),
  "tensor-missing": () => msg("A part of the model's weights is missing.", { id: "element-tensor-missing" }),
  "tensor-mismatch": () => msg("The model's files do not belong together.", { id: "element-tensor-mismatch" }),
  "tokenizer-unsupported": () =>
    msg("This model's tokenizer is not supported.", { id: "element-tokenizer-unsupported" }),
  "template-missing": () => msg("This model is not made for chat.", { id: "element-template-missing" }),
  "template-failed": () => msg("The model's chat template failed.", { id: "element-template-failed" }),
  "tools-unsupported": () => msg("This model is not made for tools.", { id: "element-tools-unsupported" }),
  "constraint-failed": () => msg("The model cannot write what was asked of it.", { id: "element-constraint-failed" }),
  "answer-incomplete": () => msg("The answer was cut before it was whole.", { id: "element-answer-incomplete" }),
  "wasm-refused": () => msg("This page does not allow what structured answers need.", { id: "element-wasm-refused" }),
  "source-unsupported": () => msg("This is not an address of a model.", { id: "element-source-unsupported" }),
  "network-failed": () => msg("The model could not be fetched.", { id: "element-network-failed" }),
  "cors-refused": () => msg("The server does not let this page read the model.", { id: "element-cors-refused" }),
  "rate-limited": () => msg("The server wants fewer requests.", { id: "element-rate-limited" }),
  "server-failed": () => msg("The server failed.", { id: "element-server-failed" }),
  "storage-failed": () => msg("The browser's storage could not be used.", { id: "element-storage-failed" }),
  "conversation-mismatch": () =>
    msg("The conversation was saved with another model.", { id: "element-conversation-mismatch" }),
  "access-denied": () => msg("The server does not give out this model.", { id: "element-access-denied" }),
  "worker-failed": () => msg("The engine stopped.", { id: "element-worker-failed" }),
  disposed: () => msg("The model is no longer loaded.", { id: "element-disposed" }),
  internal: () => msg("Something in Wordloom went wrong.", { id: "element-internal" }),
};

const damaged = () =>
  msg("Load the file again from where it came from: it is cut off, or not what its name says.", {
    id: "element-remedy-damaged",
  });
const another = () => msg("Choose another model.", { id: "element-remedy-another" });
const reload = () =>
  msg("Load the model again. If it happens again, a smaller model or a shorter context may help.", {
    id: "element-remedy-reload",
  });
const smaller = () =>
  msg("Choose q8 or q4, a shorter context, or a smaller model; closing other tabs may help, too.", {
    id: "element-remedy-smaller",
  });
const later = () => msg("Wait a while, then load again.", { id: "element-remedy-later" });
const connection = () =>
  msg("Check the connection and the address, then load again.", { id: "element-remedy-connection" });
const report = () =>
  msg("This is a fault of Wordloom; please report it with this message.", { id: "element-remedy-report" });
const settings = () => msg("Correct the setting that is named here.", { id: "element-remedy-settings" });
const owner = () => msg("Whoever made this page can mend it; the message says how.", { id: "element-remedy-owner" });

/** What the reader of a page can do. */
export const REMEDIES: Record<WordloomErrorCode, () => string> = {
  "option-invalid": settings,
  "prompt-too-long": () =>
    msg("Shorten the beginning, or load the model with a larger context.", { id: "element-remedy-shorten" }),
  "webgpu-unavailable": () =>
    msg("Open the page in Chrome or Edge 123 or later or Safari 26, on https or localhost.", {
      id: "element-remedy-browser",
    }),
  "device-lost": reload,
  "device-limit": smaller,
  "out-of-memory": smaller,
  "kernel-failed": report,
  "model-not-found": () =>
    msg("Check the address: it should be a model's folder or a .gguf file.", { id: "element-remedy-address" }),
  "model-unsupported": another,
  "config-invalid": damaged,
  "config-unsupported": another,
  "file-invalid": damaged,
  "tensor-missing": damaged,
  "tensor-mismatch": damaged,
  "tokenizer-unsupported": another,
  "template-missing": () => msg("Choose a model that is made for chat.", { id: "element-remedy-chat" }),
  "template-failed": another,
  "tools-unsupported": another,
  "constraint-failed": settings,
  "answer-incomplete": () => msg("Allow a longer text.", { id: "element-remedy-longer" }),
  "wasm-refused": owner,
  "source-unsupported": () =>
    msg("Check the address: it should be a model's folder, a .gguf file, or org/name on the hub.", {
      id: "element-remedy-source",
    }),
  "network-failed": connection,
  "cors-refused": () =>
    msg("Whoever runs that server can mend it: it has to send Access-Control-Allow-Origin.", {
      id: "element-remedy-cors",
    }),
  "rate-limited": later,
  "server-failed": later,
  "storage-failed": () =>
    msg("Close other tabs of this site, then try again; or delete the site's data in the browser's settings.", {
      id: "element-remedy-storage",
    }),
  "conversation-mismatch": () => msg("Load the model that it was saved with.", { id: "element-remedy-same-model" }),
  "access-denied": () =>
    msg("Its owner has to let you in first; some models want their terms accepted.", { id: "element-remedy-access" }),
  "worker-failed": reload,
  disposed: reload,
  internal: report,
};

export const offerReload = () => msg("Load again", { id: "element-offer-reload" });
export const offerWithoutGpu = () => msg("Write slowly without the GPU", { id: "element-offer-without-gpu" });
export const offerEdit = () => msg("Change the beginning", { id: "element-offer-edit" });
/** Beside the offer to write without the GPU. */
export const orWithoutGpu = () =>
  msg("Or let the processor write: this model is small enough for that, at a few words a second.", {
    id: "element-or-without-gpu",
  });
