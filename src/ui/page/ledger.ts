/** The numbers at the foot of the page: memory and speed, each with a word on what it is. */
import { html, type TemplateResult } from "lit";
import type { GenerationEnd, GeneratorInfo } from "../generator";
import * as words from "../words/page";
import { computedBy, formatBytes, formatCount, formatDuration, formatTokensPerSecond } from "../word-loom/format";

export function ledgerTemplate(info: GeneratorInfo, end: GenerationEnd | undefined): TemplateResult {
  const { weights, kvCache, activations } = info.bytes;
  const later = words.knownLater();
  return html`
    <section class="ledger" aria-label=${words.memoryAndSpeed()}>
      <dl>
        ${row(words.weights(), formatBytes(weights), words.weightsNote(formatCount(info.parameterCount), info.dtype))}
        ${row(
          words.kvCache(),
          formatBytes(kvCache),
          words.kvCacheNote(formatBytes(kvCache / info.contextLength), info.contextLength, info.kvDtype),
        )}
        ${row(words.activations(), formatBytes(activations), words.activationsNote())}
      </dl>
      <dl>
        ${row(
          words.writing(),
          speed(end?.timings.decodeTokensPerSecond),
          end ? words.tokensIn(end.usage.completionTokens, formatDuration(end.timings.decodeMs)) : later,
        )}
        ${row(words.firstToken(), end ? formatDuration(end.timings.firstTokenMs) : "–", end ? words.afterWrite() : "")}
        ${row(
          words.reading(),
          speed(end?.timings.prefillTokensPerSecond),
          end ? words.tokensIn(end.usage.promptTokens, formatDuration(end.timings.prefillMs)) : "",
        )}
      </dl>
      <p>
        ${words.computedBy(computedBy(info))}${[
          info.adapter,
          info.tier === info.backend ? "" : info.tier,
          info.worker ? words.inWorker() : words.onPageThread(),
        ]
          .filter((text) => text !== "")
          .map((text) => ` · ${text}`)}
      </p>
      <p>${words.modelFiles(info.storeReason)}</p>
    </section>
  `;
}

function speed(tokensPerSecond: number | undefined): string {
  return tokensPerSecond ? formatTokensPerSecond(tokensPerSecond) : "–";
}

function row(name: string, value: string, note: string): TemplateResult {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}<small>${note}</small></dd>
  </div>`;
}
