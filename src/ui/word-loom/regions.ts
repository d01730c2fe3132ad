/** The parts of the element that only show what they are given: failure, progress, status. */
import { html, nothing, type TemplateResult } from "lit";
import type { WordloomError } from "../../errors";
import type { AnyInfo, GeneratorInfo, LoadProgress } from "../generator";
import * as words from "../words/element";
import { orWithoutGpu } from "../words/element-failures";
import { headline, OFFER_LABELS, remedyOf, type Offer } from "./failure";
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
        <p class="remedy">${remedyOf(error)} ${offer === "without-gpu" ? orWithoutGpu() : ""}</p>
        ${
          offer
            ? html`<button part="button primary-button" class="primary" type="button" @click=${() => accept(offer)}>
                ${OFFER_LABELS[offer]()}
              </button>`
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

const PHASES: Record<LoadProgress["phase"], () => string> = {
  config: words.readsSettings,
  device: words.makesRoom,
  tokenizer: words.readsVocabulary,
  weights: words.loadsWeights,
  warmup: words.getsReady,
};

/** Bytes, rate and remaining time while there are bytes; else what is being done. */
export function progressTemplate(
  model: ModelSource,
  { progress, bytesPerSecond }: Pick<ModelOpening, "progress" | "bytesPerSecond">,
): TemplateResult {
  const doing = progress ? PHASES[progress.phase]() : words.opens(modelName(model));
  const total = progress?.totalBytes;
  if (progress?.phase !== "weights" || !total)
    return html`
      <div part="progress">
        <progress aria-label=${words.loading(modelName(model))}></progress>
        <span>${doing} …</span>
      </div>
    `;
  const remainingMs = bytesPerSecond ? ((total - progress.loadedBytes) / bytesPerSecond) * 1000 : 0;
  const numbers = [
    formatBytesOf(progress.loadedBytes, total),
    bytesPerSecond === undefined ? "" : `${formatBytes(bytesPerSecond)}/s`,
    remainingMs < 500 ? "" : words.timeLeft(formatRemaining(remainingMs)),
  ].filter((text) => text !== "");
  return html`
    <div part="progress">
      <progress aria-label=${words.loading(modelName(model))} max=${total} value=${progress.loadedBytes}></progress>
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
    return html`<div part="status">
      <span part="fact" class="fact">${server ? words.writtenAt(server) : modelName(model)}</span>
    </div>`;
  if (info.backend === "remote") return remoteStatusTemplate(info, written);
  const contextUsed = written ? written.contextUsed : 0;
  const { weights, kvCache, activations } = info.bytes;
  const memory = {
    weights: formatBytes(weights),
    kvCache: formatBytes(kvCache),
    perToken: formatBytes(kvCache / info.contextLength),
    activations: formatBytes(activations),
  };
  return html`
    <div part="status">
      ${fact(
        "model",
        html`${modelName(model)} · ${info.dtype}`,
        words.aboutModel(formatCount(info.parameterCount), info.layerCount, info.dtype, computedBy(info)),
      )}
      ${speedFact(written, (first, prefill) => words.aboutSpeed(first, prefill))}
      ${fact(
        "context",
        contextUsed === undefined
          ? words.tokensWritten(written?.completionTokens ?? 0)
          : words.positionsUsed(contextUsed, info.contextLength),
        words.aboutContext(info.contextLength),
      )}
      ${fact("memory", formatBytes(weights + kvCache + activations), words.aboutMemory(memory))}
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
        html`${words.writtenAt(host)} · ${modelName(info.model)}`,
        words.aboutServer(host, info.backendReason),
      )}
      ${speedFact(written, (first) => words.aboutSpeedThere(first))}
    </div>
  `;
}

/** A server has taken over, since the device could not; said before anything is sent there. */
export function takeoverTemplate({ endpoint }: Exclude<AnyInfo, GeneratorInfo>): TemplateResult {
  return html`<p part="notice" role="status">${words.takenOver(new URL(endpoint).host)}</p>`;
}

/** Others write with the same model; said where the numbers stand otherwise. @param ahead how many come before */
export function waitingTemplate(ahead: number): TemplateResult {
  return html`
    <div part="status">
      <span part="fact" class="fact" role="status">${ahead === 1 ? words.waitsForOne() : words.waitsFor(ahead)}</span>
    </div>
  `;
}

function speedFact(
  written: Written | undefined,
  about: (first: string, prefill: string) => string,
): TemplateResult | typeof nothing {
  const speed = written?.tokensPerSecond;
  const timings = written?.end?.timings;
  if (speed === undefined || !Number.isFinite(speed) || speed <= 0) return nothing;
  const explanation = timings
    ? about(formatDuration(timings.firstTokenMs), formatDuration(timings.prefillMs))
    : words.aboutSpeedNow();
  return fact("speed", formatTokensPerSecond(speed), explanation);
}

function fact(name: string, text: unknown, explanation: string): TemplateResult {
  return html`
    <button part="fact" type="button" class="fact" aria-describedby="about-${name}" @keydown=${dismissOnEscape}>
      ${text}</button
    ><span id="about-${name}" part="explanation" class="explanation" role="tooltip">${explanation}</span>
  `;
}

function dismissOnEscape(event: KeyboardEvent): void {
  if (event.key === "Escape") (event.currentTarget as HTMLElement).blur(); // the listener is on the button
}
