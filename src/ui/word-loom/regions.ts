/** The parts of the element that only show what they are given: failure, progress, status. */
import { html, nothing, type TemplateResult } from "lit";
import type { WordloomError } from "../../errors";
import type { AnyInfo, GeneratorInfo, LoadProgress } from "../generator";
import { headline, OFFER_LABELS, type Offer } from "./failure";
import {
  computedBy,
  formatBytes,
  formatBytesOf,
  formatCount,
  formatDuration,
  formatRemaining,
  formatTokensPerSecond,
  modelName,
} from "./format";
import type { ModelOpening } from "./model-opening";
import type { ModelSource } from "./options";
import type { Written } from "./written";

/** In place of the error's remedy, which speaks to programmers, where a button does what it advises. */
const WITHOUT_GPU =
  "Open the page in Chrome or Edge 123 or later or Safari 26, on https or localhost. Or let the processor write: this " +
  "model is small enough for that, at a few words a second.";

export function failureTemplate(
  error: WordloomError,
  offer: Offer | undefined,
  accept: (offer: Offer) => void,
  /** Nothing else has been written: the failure is all there is to read. */
  isAll: boolean,
): TemplateResult {
  return html`
    <div part="failure ${isAll ? "failure-only" : ""}" role="alert">
      <div class="failure">
        <p class="headline">${headline(error.code)}</p>
        <p>${sentence(error.message)}</p>
        <p class="remedy">${offer === "without-gpu" ? WITHOUT_GPU : error.remedy}</p>
        ${
          offer
            ? html`<button class="primary" type="button" @click=${() => accept(offer)}>${OFFER_LABELS[offer]}</button>`
            : nothing
        }
      </div>
    </div>
  `;
}

/** A message of the engine, which may begin small and end without a full stop; names like lm_head.weight stay. */
function sentence(message: string): string {
  const begun = /^[a-z]+\s/.test(message) ? message.charAt(0).toUpperCase() + message.slice(1) : message;
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

const PHASES: Record<LoadProgress["phase"], string> = {
  config: "Reading the model's settings",
  device: "Making room for the model",
  tokenizer: "Reading the model's vocabulary",
  weights: "Loading the model's weights",
  warmup: "Getting ready to write",
};

/** Bytes, rate and remaining time while there are bytes; else what is being done. */
export function progressTemplate(
  model: ModelSource,
  { progress, bytesPerSecond }: Pick<ModelOpening, "progress" | "bytesPerSecond">,
): TemplateResult {
  const doing = progress ? PHASES[progress.phase] : `Opening ${modelName(model)}`;
  const total = progress?.totalBytes;
  if (progress?.phase !== "weights" || !total)
    return html`
      <div part="progress">
        <progress aria-label="Loading ${modelName(model)}"></progress>
        <span>${doing} …</span>
      </div>
    `;
  const remainingMs = bytesPerSecond ? ((total - progress.loadedBytes) / bytesPerSecond) * 1000 : 0;
  const numbers = [
    formatBytesOf(progress.loadedBytes, total),
    bytesPerSecond === undefined ? "" : `${formatBytes(bytesPerSecond)}/s`,
    remainingMs < 500 ? "" : `about ${formatRemaining(remainingMs)} left`,
  ].filter((text) => text !== "");
  return html`
    <div part="progress">
      <progress aria-label="Loading ${modelName(model)}" max=${total} value=${progress.loadedBytes}></progress>
      <span>${doing} · ${numbers.join(" · ")}</span>
    </div>
  `;
}

/** One line; each number has a sentence that explains it, on hover, focus or tap. */
export function statusTemplate({
  model,
  info,
  written,
  server,
}: {
  model: ModelSource;
  info: AnyInfo | undefined;
  written: Written | undefined;
  /** Host that writes in place of this device, before it is connected, too: the reader is told before anything is sent. */
  server: string | undefined;
}): TemplateResult {
  if (!info)
    return html`<div part="status"><span class="fact">${server ? writtenOn(server) : modelName(model)}</span></div>`;
  if (info.backend === "remote") return remoteStatusTemplate(info, written);
  const contextUsed = written ? written.contextUsed : 0;
  const total = info.bytes.weights + info.bytes.kvCache + info.bytes.activations;
  return html`
    <div part="status">
      ${fact(
        "model",
        html`${modelName(model)} · ${info.dtype}`,
        `The model that writes: ${formatCount(info.parameterCount)} weights in ${info.layerCount} layers, held as
         ${info.dtype}, computed by ${computedBy(info)}.`,
      )}
      ${speedFact(written, (prefillMs) => `; the beginning was read in ${formatDuration(prefillMs)}`)}
      ${fact(
        "context",
        contextUsed === undefined
          ? `${written?.completionTokens ?? 0} tokens written`
          : html`${contextUsed} of ${info.contextLength} positions`,
        `The model sees ${info.contextLength} tokens at once, your words and its own together. When they are used up it
         stops.`,
      )}
      ${fact(
        "memory",
        formatBytes(total),
        `Memory in use: weights ${formatBytes(info.bytes.weights)}, KV cache ${formatBytes(info.bytes.kvCache)} (what
         the model keeps of each token it has read: ${formatBytes(info.bytes.kvCache / info.contextLength)} a token),
         activations ${formatBytes(info.bytes.activations)} (its scratch paper).`,
      )}
    </div>
  `;
}

/** Where the text is made, always in sight, and what that means. */
function remoteStatusTemplate(info: Exclude<AnyInfo, GeneratorInfo>, written: Written | undefined): TemplateResult {
  const { host } = new URL(info.endpoint);
  return html`
    <div part="status">
      ${fact(
        "model",
        html`${writtenOn(host)} · ${modelName(info.model)}`,
        `What you write is sent to ${host}, where the model runs, and what it writes comes back from there; nothing is
         computed on this device: ${info.backendReason}.`,
      )}
      ${speedFact(written, () => ", the way to the server and back included")}
    </div>
  `;
}

/** A server has taken over, since the device could not; said before anything is sent there. */
export function takeoverTemplate({ endpoint }: Exclude<AnyInfo, GeneratorInfo>): TemplateResult {
  const { host } = new URL(endpoint);
  return html`
    <p part="notice" role="status">
      This device cannot run the model, but ${host} can: what you write is then sent there, and the text comes from
      there.
    </p>
  `;
}

function writtenOn(host: string): string {
  return `Written on ${host}`;
}

function speedFact(
  written: Written | undefined,
  first: (prefillMs: number) => string,
): TemplateResult | typeof nothing {
  const speed = written?.tokensPerSecond;
  const timings = written?.end?.timings;
  if (speed === undefined || !Number.isFinite(speed) || speed <= 0) return nothing;
  const came = timings
    ? `The first came after ${formatDuration(timings.firstTokenMs)}${first(timings.prefillMs)}.`
    : "Measured over the last three seconds.";
  return fact("speed", formatTokensPerSecond(speed), `A token is a word or a piece of one. ${came}`);
}

function fact(name: string, text: unknown, explanation: string): TemplateResult {
  return html`
    <button type="button" class="fact" aria-describedby="about-${name}" @keydown=${dismissOnEscape}>${text}</button
    ><span id="about-${name}" class="explanation" role="tooltip">${explanation}</span>
  `;
}

function dismissOnEscape(event: KeyboardEvent): void {
  if (event.key === "Escape") (event.currentTarget as HTMLElement).blur(); // the listener is on the button
}
