/** Before a model is fetched from another server: whose it is, and, if asked, what it would take of this device. */
import { html, nothing, type TemplateResult } from "lit";
import type { TextGenerator } from "../../api/text-generator";
import type { WordloomError } from "../../errors";
import { headline } from "../word-loom/failure";
import { formatBytes, formatCount, modelName } from "../word-loom/format";
import type { ModelSource } from "../word-loom/options";

type Plan = Awaited<ReturnType<typeof TextGenerator.plan>>;
type Suggestion = Plan["suggestions"][number];

/** What is known of the plan. */
export type Planning =
  { kind: "unasked" } | { kind: "asking" } | { kind: "known"; plan: Plan } | { kind: "failed"; error: WordloomError };

export interface ConsentActions {
  /** Reads the model's config and headers, from its server. */
  ask: () => void;
  /** Fetches the model; with a suggestion, held that way. */
  agree: (suggestion?: Suggestion) => void;
}

export function consentTemplate(
  { model, host, planning, run }: { model: ModelSource; host: string | undefined; planning: Planning; run: boolean },
  { ask, agree }: ConsentActions,
): TemplateResult {
  const exceeds = planning.kind === "known" && planning.plan.verdict === "exceeds";
  return html`
    <div class="intro">
      <p>
        This address asks for the model <b>${modelName(model)}</b>, which comes from <b>${host}</b>. It is fetched only
        if you wish; then it stays and runs on this device.
      </p>
      <div class="plan" aria-live="polite">${planTemplate(planning, agree)}</div>
      <p class="choices">
        ${
          exceeds
            ? nothing
            : html`<button type="button" @click=${() => agree()}>${run ? "Load it and write" : "Load it"}</button>`
        }
        ${
          planning.kind === "unasked"
            ? html`<button type="button" class="quiet" @click=${ask}>What would it take?</button>`
            : nothing
        }
      </p>
    </div>
  `;
}

function planTemplate(planning: Planning, agree: ConsentActions["agree"]): TemplateResult | typeof nothing {
  switch (planning.kind) {
    case "unasked":
      return nothing;
    case "asking":
      return html`<p>Reading the model's settings …</p>`;
    case "failed":
      return html`<p><b>${headline(planning.error.code)}</b> ${planning.error.message}. ${planning.error.remedy}</p>`;
    case "known":
      return knownTemplate(planning.plan, agree);
  }
}

function knownTemplate(plan: Plan, agree: ConsentActions["agree"]): TemplateResult {
  const { bytes, contextLength, dtype, downloadBytes, kvBytesPerToken, parameterCount, reasons, suggestions } = plan;
  return html`
    <p>
      ${formatCount(parameterCount)} weights, ${formatBytes(downloadBytes)} to download. On this device, as ${dtype}
      with ${contextLength} positions: <b>${formatBytes(bytes.total)}</b>, of which weights
      ${formatBytes(bytes.weights)}, KV cache ${formatBytes(bytes.kvCache)} (${formatBytes(kvBytesPerToken)} a token),
      scratch paper ${formatBytes(bytes.activations)}.
    </p>
    ${
      plan.verdict === "fits"
        ? html`<p>It fits.</p>`
        : html`
            <p><b>It does not fit:</b> ${reasons[0]}.</p>
            ${suggestions.map(
              (each) => html`
                <button type="button" @click=${() => agree(each)}>
                  Load it as ${each.dtype === "auto" ? dtype : each.dtype} with ${each.contextLength} positions,
                  ${formatBytes(each.totalBytes)}
                </button>
              `,
            )}
            ${suggestions.length === 0 ? html`<p>Choose a smaller model.</p>` : nothing}
          `
    }
  `;
}
