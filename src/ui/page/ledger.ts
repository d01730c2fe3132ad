/** The numbers at the foot of the page: memory and speed, each with a word on what it is. */
import { html, type TemplateResult } from "lit";
import type { GenerationEnd, GeneratorInfo } from "../generator";
import { computedBy, formatBytes, formatCount, formatDuration, formatTokensPerSecond } from "../word-loom/format";

export function ledgerTemplate(info: GeneratorInfo, end: GenerationEnd | undefined): TemplateResult {
  const { weights, kvCache, activations } = info.bytes;
  const later = "known when a text has ended";
  return html`
    <section class="ledger" aria-label="Memory and speed">
      <dl>
        ${row("Weights", formatBytes(weights), `${formatCount(info.parameterCount)} as ${info.dtype}`)}
        ${row(
          "KV cache",
          formatBytes(kvCache),
          `${formatBytes(kvCache / info.contextLength)} a token × ${info.contextLength}, as ${info.kvDtype}`,
        )}
        ${row("Activations", formatBytes(activations), "scratch paper of one step")}
      </dl>
      <dl>
        ${row(
          "Writing",
          speed(end?.timings.decodeTokensPerSecond),
          end ? `${end.usage.completionTokens} tokens in ${formatDuration(end.timings.decodeMs)}` : later,
        )}
        ${row("First token", end ? formatDuration(end.timings.firstTokenMs) : "–", end ? "after “Write”" : "")}
        ${row(
          "Reading",
          speed(end?.timings.prefillTokensPerSecond),
          end ? `${end.usage.promptTokens} tokens in ${formatDuration(end.timings.prefillMs)}` : "",
        )}
      </dl>
      <p>
        Computed by
        ${computedBy(info)}${[
          info.adapter,
          info.tier === info.backend ? "" : info.tier,
          info.worker ? "in a worker" : "on the page's thread",
        ]
          .filter((text) => text !== "")
          .map((text) => ` · ${text}`)}
      </p>
      <p>The model's files: ${info.storeReason}.</p>
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
